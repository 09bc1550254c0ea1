"""A model that several processes train: each with a copy of its own, or each with a part of every weight.

`replicate` is PyTorch's DistributedDataParallel, `shard` its fully_shard (FSDP2). Both want to see one forward pass
of one module, and objectives use models as they like: so the module is the objective, with the model in it.
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
from headwise.train.processes.group import Group, Idle
from headwise.train.step.backward import Plain
from headwise.train.step.loss import TokenLoss


class _Loss(nn.Module):
    def __init__(self, model: nn.Module, objective: Any) -> None:
        super().__init__()
        self.model = model
        self.objective = objective

    def forward(self, batch: Any) -> TokenLoss:
        loss: TokenLoss = self.objective(self.model, batch)
        return loss


def _call(loss: nn.Module, batch: Any) -> TokenLoss:
    result: TokenLoss = loss(batch)
    return result


class Together(Plain):
    """The forward and the backward pass of this process's part of a step; the last pass of a step leaves the
    gradient of the whole step, in all processes."""

    def __init__(
        self,
        model: nn.Module,
        objective: Any,
        autocast: torch.dtype | None,
        group: Group,
        *,
        passes: int,
        sharded: bool = False,
    ) -> None:
        """`passes`: of this process in a step. `sharded`: the model is one that `sharded_copy` gave."""
        loss = _Loss(model, objective)
        if sharded:
            _fully_shard(loss, group)
        super().__init__(loss, _call, autocast)
        self._group = group
        self._passes = passes
        self._sharded = sharded
        self._done = 0

    def __call__(self, batch: Any, count: float) -> TokenLoss:
        if not self._done and not self._sharded:
            self._replicate(batch.batch if isinstance(batch, Idle) else batch)
        self._done += 1
        last = self._done % self._passes == 0
        waits = isinstance(self.model, DistributedDataParallel) and not last
        with self.model.no_sync() if waits else contextlib.nullcontext():  # type: ignore[operator]
            if isinstance(batch, Idle):
                nothing = torch.zeros_like(super().__call__(batch.batch, math.inf).loss)
                return TokenLoss(nothing, nothing)
            return super().__call__(batch, count / self._group.size)  # both kinds take the mean over processes

    def _replicate(self, batch: Any) -> None:
        """Weights that the loss does not reach would be waited for, unless they are looked for in every pass: so a
        first pass, of which nothing stays, tells whether there are any."""
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            torch.autograd.backward(self._loss(batch).loss)
        learning = [weight for weight in self.model.parameters() if weight.requires_grad]
        unreached = self._group.any(any(weight.grad is None for weight in learning))
        self.drop_gradients()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of a newer name for the first option
            self.model = DistributedDataParallel(
                self.model, broadcast_buffers=False, gradient_as_bucket_view=True, find_unused_parameters=unreached
            )


def sharded_copy(model: nn.Module, group: Group) -> nn.Module:
    """The same model with its weights spread over all processes: this one has some rows of each.

    The model itself stays whole, and in the main memory: in the first process alone, for validation.
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
    """Training has no next step for which keys and values are kept. The engine would hook each of them, and warn: they
    are views, whose hooks are lost where one is changed in place."""
    return LayerOutput(output.hidden, LayerCache(), output.self_weights, output.cross_weights)


def _fully_shard(module: nn.Module, group: Group) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    device = next(module.parameters()).device
    mesh = init_device_mesh(device.type, (group.size,))
    single = {weight for weight in module.parameters() if weight.dim() == 0}  # one number cannot be spread
    fully_shard(module, mesh=mesh, ignored_params=single)
