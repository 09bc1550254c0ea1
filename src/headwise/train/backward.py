"""The forward and the backward pass of a batch: the plain way, and as a recording that a GPU plays back.

A small model's kernels are shorter than the time in which Python asks for them: a GPU waits most of the time. A
CUDA graph holds all kernels of a pass and is asked for once. It needs batches that always have the same shapes.
"""

import dataclasses
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headwise.train.loss import TokenLoss

WARM_UP = 3
"""Passes before a recording: libraries set themselves up in the first ones, which must not be recorded."""


class Plain:
    """Adds the gradient of a batch to the weights' own, and returns its loss."""

    def __init__(self, model: nn.Module, objective: Any, autocast: torch.dtype | None) -> None:
        self.model = model
        self.objective = objective
        self.autocast = autocast
        self.device = next(model.parameters()).device

    def __call__(self, batch: Any, count: int) -> TokenLoss:
        """`count`: what the gradient is divided by, that of the whole step."""
        part = self._loss(batch)
        torch.autograd.backward(part.loss / count)
        return TokenLoss(part.loss.detach(), part.nll.detach())

    def forget(self, optimiser: torch.optim.Optimizer) -> None:
        """After a step: gradients start from nothing."""
        optimiser.zero_grad(set_to_none=True)

    def _loss(self, batch: Any) -> TokenLoss:
        with torch.autocast(self.device.type, self.autocast, enabled=self.autocast is not None):
            loss: TokenLoss = self.objective(self.model, batch)
        return loss


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batch: Any
    """Where the graph reads its input ..."""
    share: Tensor
    """... and one over the count."""
    loss: TokenLoss
    """Where it leaves its result; the gradients it adds to the weights' own."""


class Recorded(Plain):
    """The same, played back; one recording for each shape of batch."""

    def __init__(self, model: nn.Module, objective: Any, autocast: torch.dtype | None) -> None:
        super().__init__(model, objective, autocast)
        self._recordings: dict[tuple[torch.Size, ...], _Recording] = {}

    def __call__(self, batch: Any, count: int) -> TokenLoss:
        tensors = _tensors(batch)
        key = tuple(tensor.shape for tensor in tensors.values())
        if key not in self._recordings:
            self._recordings[key] = self._record(batch)
        recording = self._recordings[key]
        for name, tensor in tensors.items():
            getattr(recording.batch, name).copy_(tensor)
        recording.share.fill_(1 / count)
        recording.graph.replay()
        return TokenLoss(recording.loss.loss.clone(), recording.loss.nll.clone())

    def forget(self, optimiser: torch.optim.Optimizer) -> None:
        optimiser.zero_grad(set_to_none=False)  # the recordings know where they are

    def _record(self, batch: Any) -> _Recording:
        """Leaves gradients and random numbers as they were: what is recorded is not computed yet."""
        weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        gradients = [weight.grad for weight in weights]
        for weight in weights:
            weight.grad = None
        random_state = torch.cuda.get_rng_state(self.device)
        own = dataclasses.replace(batch, **{name: tensor.clone() for name, tensor in _tensors(batch).items()})
        share = torch.zeros((), device=self.device)
        aside = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self._pass(own, share)
        torch.cuda.current_stream(self.device).wait_stream(aside)
        for weight, gradient in zip(weights, gradients, strict=True):
            # A weight that the loss does not reach keeps None, as in a plain pass: with 0 it would still decay.
            weight.grad = torch.zeros_like(weight) if gradient is None and weight.grad is not None else gradient
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._pass(own, share)
        torch.cuda.set_rng_state(random_state, self.device)
        return _Recording(graph, own, share, loss)

    def _pass(self, batch: Any, share: Tensor) -> TokenLoss:
        part = self._loss(batch)
        torch.autograd.backward(part.loss * share)
        return TokenLoss(part.loss.detach(), part.nll.detach())


def _tensors(batch: Any) -> dict[str, Tensor]:
    values = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def can_be_recorded(model: nn.Module) -> bool:
    """Whether no part asks for values while it computes, which a recording cannot do."""
    return not any(getattr(module, "asks_for_values", False) for module in model.modules())


def compile_layers(model: nn.Module) -> None:
    """Compile each layer where it stands: names of weights stay, and layers that are alike are compiled once."""
    for module in model.modules():
        if isinstance(module, nn.ModuleList):
            for layer in module:
                layer.compile()
