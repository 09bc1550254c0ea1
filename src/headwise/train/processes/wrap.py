"""Data-parallel training: each process has a copy of the model, or the model is sharded over the processes.

`replicate` is PyTorch's DistributedDataParallel, `shard` its fully_shard (FSDP2). Both wrap the forward pass of one
module, while an objective may call any method of a model: so the module that is wrapped computes the objective.
"""

import contextlib
import copy
import math
import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from headwise.nn.cache import LayerCache
from headwise.nn.stack import LayerOutput, Stack
from headwise.train.processes.batch_share import Dummy
from headwise.train.processes.group import ProcessGroup
from headwise.train.step.backward import Plain
from headwise.train.step.loss import TokenLoss


class _Loss(nn.Module):
    """An objective and its model as one module."""

    def __init__(self, model: nn.Module, objective: Any) -> None:
        super().__init__()
        self.model = model
        self.objective = objective

    def forward(self, batch: Any) -> TokenLoss:
        loss: TokenLoss = self.objective(self.model, batch)
        return loss


class Together:
    """The pass over this process's share of a step. After the last pass of a step, all processes have the gradient of
    the whole step."""

    def __init__(
        self,
        model: nn.Module,
        objective: Any,
        autocast: torch.dtype | None,
        group: ProcessGroup,
        *,
        passes: int,
        sharded: bool = False,
    ) -> None:
        """`passes`: how many this process computes per step. `sharded`: the model comes from `sharded_copy`."""
        loss = _Loss(model, objective)
        if sharded:
            _fully_shard(loss, group)
        self._plain = Plain(loss, lambda module, batch: module(batch), autocast)
        self.device = self._plain.device
        self._group = group
        self._passes = passes
        self._sharded = sharded
        self._done = 0

    def __call__(self, batch: Any, count: float) -> TokenLoss:
        if not self._done and not self._sharded:
            self._replicate(batch.batch if isinstance(batch, Dummy) else batch)
        self._done += 1
        last = self._done % self._passes == 0
        model = self._plain.model
        with contextlib.nullcontext() if last or not isinstance(model, DistributedDataParallel) else model.no_sync():
            if isinstance(batch, Dummy):
                nothing = torch.zeros_like(self._plain(batch.batch, math.inf).loss)
                return TokenLoss(nothing, nothing)
            return self._plain(batch, count / self._group.size)  # both kinds take the mean over processes

    def clear_gradients(self) -> None:
        self._plain.clear_gradients()

    def free_memory(self) -> None:
        self._plain.free_memory()

    def _replicate(self, batch: Any) -> None:
        """Wrap the model in DistributedDataParallel.

        It waits for the gradient of every weight, unless it searches each pass for weights that the loss does not
        depend on. A first pass, whose result is discarded, finds out whether there are any.
        """
        plain = self._plain
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            torch.autograd.backward(plain.loss(batch).loss)
        learning = [weight for weight in plain.model.parameters() if weight.requires_grad]
        unreached = self._group.any(any(weight.grad is None for weight in learning))
        plain.clear_gradients()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # the first option has a newer name
            plain.model = DistributedDataParallel(
                plain.model, broadcast_buffers=False, gradient_as_bucket_view=True, find_unused_parameters=unreached
            )


def sharded_copy(model: nn.Module, group: ProcessGroup) -> nn.Module:
    """A copy of the model whose weights are sharded over all processes (DTensors): each has some rows of each weight.

    The model itself stays whole in the first process only, in main memory, for validation.
    """
    with torch.no_grad():
        for weight in model.parameters():
            dist.broadcast(weight, 0)
    copied = copy.deepcopy(model)
    for stack in list(copied.modules()):
        if isinstance(stack, Stack):
            for layer in stack.layers:
                layer.register_forward_hook(_without_cache)
                _fully_shard(layer, group)
    model.to("cpu" if group.first else "meta")
    return copied


def _without_cache(layer: nn.Module, given: Any, output: LayerOutput) -> LayerOutput:
    """Drop the key/value cache, which training does not use: FSDP would register a hook on each of its tensors, and
    warn because they are views, whose hooks are lost if one is changed in place."""
    return output._replace(cache=LayerCache())


def _fully_shard(module: nn.Module, group: ProcessGroup) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    device = next(module.parameters()).device
    mesh = init_device_mesh(device.type, (group.size,))
    single = {weight for weight in module.parameters() if weight.dim() == 0}  # a single number cannot be sharded
    fully_shard(module, mesh=mesh, ignored_params=single)
