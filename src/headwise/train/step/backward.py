"""The forward and the backward pass of a batch: the plain way, and as a recording that a GPU plays back.

A small model's kernels are shorter than the time in which Python asks for them: a GPU waits most of the time. A
CUDA graph holds all kernels of a pass and is asked for once. It needs batches that always have the same shapes.
"""

import dataclasses
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headwise.models.encoder_decoder import EncoderDecoder
from headwise.train.step.loss import TokenLoss

WARM_UP = 3
"""Passes before a recording: libraries set themselves up in the first ones, which must not be recorded."""


class Plain:
    """Adds the gradient of a batch to the weights' own, and returns its loss."""

    def __init__(self, model: nn.Module, objective: Any, autocast: torch.dtype | None) -> None:
        self.model = model
        self.objective = objective
        self.autocast = autocast
        self.device = next(model.parameters()).device

    def __call__(self, batch: Any, count: float) -> TokenLoss:
        """`count`: what the gradient is divided by, that of the whole step."""
        part = self._loss(batch)
        torch.autograd.backward(part.loss / count)
        return TokenLoss(part.loss.detach(), part.nll.detach())

    def forget(self, optimiser: torch.optim.Optimizer) -> None:
        """After a step: gradients start from nothing."""
        optimiser.zero_grad(set_to_none=True)

    def drop_gradients(self) -> None:
        """What was added since the last step, a part of which may be wrong, is gone."""
        for weight in self.model.parameters():
            weight.grad = None

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
    """Where it leaves its result ..."""
    gradients: list[Tensor | None]
    """... and what the batch adds to each weight's gradient; None: the loss does not reach it."""


class Recorded(Plain):
    """The same, played back; one recording for each shape of batch.

    The first batch of a step leaves its gradients where they are, for the optimiser to read: nothing is set to 0 and
    nothing is added up. Once a batch did not fit in memory, the passes are plain ones: recordings hold much of it, and
    parts of batches are of ever new shapes.
    """

    def __init__(self, model: nn.Module, objective: Any, autocast: torch.dtype | None) -> None:
        super().__init__(model, objective, autocast)
        self._fits = True
        self._recordings: dict[tuple[torch.Size, ...], _Recording] = {}
        self._weights = [weight for weight in model.parameters() if weight.requires_grad]

    def __call__(self, batch: Any, count: float) -> TokenLoss:
        if not self._fits:
            return super().__call__(batch, count)
        tensors = tensors_of(batch)
        key = tuple(tensor.shape for tensor in tensors.values())
        if key not in self._recordings:
            self._recordings[key] = self._record(batch)
        recording = self._recordings[key]
        for name, tensor in tensors.items():
            getattr(recording.batch, name).copy_(tensor)
        recording.share.fill_(1 / count)
        before = [weight.grad for weight in self._weights]
        if any(old is not None and old is new for old, new in zip(before, recording.gradients, strict=True)):
            before = [None if old is None else old.clone() for old in before]  # it is about to be written over
        recording.graph.replay()
        sums, more = [], []
        for weight, old, new in zip(self._weights, before, recording.gradients, strict=True):
            if old is None or new is None:
                weight.grad = new if old is None else old
            else:
                weight.grad = old
                sums.append(old)
                more.append(new)
        if sums:
            torch._foreach_add_(sums, more)
        return TokenLoss(recording.loss.loss.clone(), recording.loss.nll.clone())

    def drop_gradients(self) -> None:
        super().drop_gradients()
        self._recordings.clear()
        self._fits = False

    def _record(self, batch: Any) -> _Recording:
        """Leaves gradients and random numbers as they were: what is recorded is not computed yet."""
        before = [weight.grad for weight in self._weights]
        self._forget()
        random_state = torch.cuda.get_rng_state(self.device)
        own = dataclasses.replace(batch, **{name: tensor.clone() for name, tensor in tensors_of(batch).items()})
        share = torch.zeros((), device=self.device)
        aside = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self._forget()
                self._pass(own, share)
        torch.cuda.current_stream(self.device).wait_stream(aside)
        self._forget()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._pass(own, share)
        gradients = [weight.grad for weight in self._weights]
        for weight, gradient in zip(self._weights, before, strict=True):
            weight.grad = gradient
        torch.cuda.set_rng_state(random_state, self.device)
        return _Recording(graph, own, share, loss, gradients)

    def _forget(self) -> None:
        for weight in self._weights:
            weight.grad = None

    def _pass(self, batch: Any, share: Tensor) -> TokenLoss:
        part = self._loss(batch)
        torch.autograd.backward(part.loss * share)
        return TokenLoss(part.loss.detach(), part.nll.detach())


def tensors_of(batch: Any) -> dict[str, Tensor]:
    """The fields of a batch that are tensors, by name."""
    values = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def can_be_recorded(model: nn.Module) -> bool:
    """Whether no part asks for values while it computes, which a recording cannot do."""
    return not any(getattr(module, "asks_for_values", False) for module in model.modules())


def compile_layers(model: nn.Module) -> None:
    """Compile each layer where it stands: names of weights stay, and layers that are alike are compiled once."""
    if isinstance(model, EncoderDecoder):
        model.compile_embedding()
    for module in model.modules():
        if isinstance(module, nn.ModuleList):
            for layer in module:
                layer.compile()
