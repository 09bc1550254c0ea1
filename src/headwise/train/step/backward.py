"""The forward and backward pass of a batch: plain, or as a CUDA graph that a GPU replays.

Launching the kernels of a small model from Python takes longer than computing them: a GPU would mostly be idle. A CUDA
graph holds all kernels of a pass and is launched in one call. It needs batches that always have the same shapes.
"""

import dataclasses
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from headwise.train.step.loss import TokenLoss

WARM_UP = 3
"""Passes before a graph is captured: in the first ones libraries initialise, which must not be captured."""


class Backward(Protocol):
    """A forward and backward pass, however it is computed."""

    @property
    def device(self) -> torch.device: ...

    def __call__(self, batch: Any, count: float) -> TokenLoss:
        """Add the gradient of the batch's loss to the gradients of the weights, and return the loss without one.

        `count`: what the gradient is divided by, the count of the whole step.
        """

    def clear_gradients(self) -> None:
        """Begin the next step without gradients."""

    def free_memory(self) -> None:
        """Free gradients, which may be incomplete, and other memory of passes, after one that ran out of memory."""


class Plain:
    """The pass as PyTorch's autograd computes it."""

    def __init__(self, model: nn.Module, objective: Any, autocast: torch.dtype | None) -> None:
        self.model = model
        self.objective = objective
        self.autocast = autocast
        self.device = next(model.parameters()).device

    def __call__(self, batch: Any, count: float) -> TokenLoss:
        total = self.loss(batch)
        torch.autograd.backward(total.loss / count)
        return TokenLoss(total.loss.detach(), total.nll.detach())

    def loss(self, batch: Any) -> TokenLoss:
        """The forward pass."""
        with torch.autocast(self.device.type, self.autocast, enabled=self.autocast is not None):
            total: TokenLoss = self.objective(self.model, batch)
        return total

    def clear_gradients(self) -> None:
        for weight in self.model.parameters():
            weight.grad = None

    def free_memory(self) -> None:
        self.clear_gradients()


class _Graph(NamedTuple):
    """A captured pass, with the tensors that it reads and writes."""

    graph: torch.cuda.CUDAGraph
    batch: Any
    """The input."""
    share: Tensor
    """1 / count of the whole step."""
    loss: TokenLoss
    """The output."""
    gradients: list[Tensor | None]
    """The gradient of each weight; None: the loss does not depend on it."""


class Graphed:
    """The plain pass as a CUDA graph, one for each shape of batch.

    The first batch of a step leaves its gradients where the graph writes them, for the optimiser to read: nothing is
    set to 0 and nothing is added. After a batch that did not fit in memory, all passes are plain: graphs hold much
    memory, and parts of batches have many different shapes.
    """

    def __init__(self, model: nn.Module, objective: Any, autocast: torch.dtype | None) -> None:
        self.plain = Plain(model, objective, autocast)
        self.device = self.plain.device
        self._fits = True
        self._graphs: dict[tuple[torch.Size, ...], _Graph] = {}
        self._weights = [weight for weight in model.parameters() if weight.requires_grad]

    def __call__(self, batch: Any, count: float) -> TokenLoss:
        if not self._fits:
            return self.plain(batch, count)
        tensors = tensors_of(batch)
        key = tuple(tensor.shape for tensor in tensors.values())
        if key not in self._graphs:
            self._graphs[key] = self._capture(batch)
        captured = self._graphs[key]
        for name, tensor in tensors.items():
            getattr(captured.batch, name).copy_(tensor)
        captured.share.fill_(1 / count)
        before = [weight.grad for weight in self._weights]
        if any(old is not None and old is new for old, new in zip(before, captured.gradients, strict=True)):
            before = [None if old is None else old.clone() for old in before]  # the graph is about to overwrite it
        captured.graph.replay()
        self._add(before, captured.gradients)
        return TokenLoss(captured.loss.loss.clone(), captured.loss.nll.clone())

    def clear_gradients(self) -> None:
        self.plain.clear_gradients()

    def free_memory(self) -> None:
        self.plain.free_memory()
        self._graphs.clear()
        self._fits = False

    def _add(self, before: list[Tensor | None], gradients: list[Tensor | None]) -> None:
        """Add the gradients of a pass to those that the weights had before it."""
        sums, more = [], []
        for weight, old, new in zip(self._weights, before, gradients, strict=True):
            if old is None or new is None:
                weight.grad = new if old is None else old
            else:
                weight.grad = old
                sums.append(old)
                more.append(new)
        if sums:
            torch._foreach_add_(sums, more)

    def _capture(self, batch: Any) -> _Graph:
        """Capture a graph of the pass. Gradients and the random state are unchanged afterwards."""
        before = [weight.grad for weight in self._weights]
        self.clear_gradients()
        random_state = torch.cuda.get_rng_state(self.device)
        own = dataclasses.replace(batch, **{name: tensor.clone() for name, tensor in tensors_of(batch).items()})
        share = torch.zeros((), device=self.device)
        aside = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self.clear_gradients()
                self._pass(own, share)
        torch.cuda.current_stream(self.device).wait_stream(aside)
        self.clear_gradients()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._pass(own, share)
        gradients = [weight.grad for weight in self._weights]
        for weight, gradient in zip(self._weights, before, strict=True):
            weight.grad = gradient
        torch.cuda.set_rng_state(random_state, self.device)
        return _Graph(graph, own, share, loss, gradients)

    def _pass(self, batch: Any, share: Tensor) -> TokenLoss:
        total = self.plain.loss(batch)
        torch.autograd.backward(total.loss * share)
        return TokenLoss(total.loss.detach(), total.nll.detach())


def tensors_of(batch: Any) -> dict[str, Tensor]:
    """The fields of a batch that are tensors, by name."""
    values = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


@runtime_checkable
class ReadsValues(Protocol):
    """A module that may read values of tensors in its forward pass, for which Python waits for the GPU."""

    @property
    def asks_for_values(self) -> bool: ...


def can_be_graphed(model: nn.Module) -> bool:
    """Whether a CUDA graph can capture the model: no part of it reads values of tensors in its forward pass."""
    return not any(isinstance(module, ReadsValues) and module.asks_for_values for module in model.modules())


@runtime_checkable
class CompilesEmbedding(Protocol):
    """A model that can compile its embedding, which comes before its layers."""

    def compile_embedding(self) -> None: ...


def compile_layers(model: nn.Module) -> None:
    """Compile each layer in place: weights keep their names, and identical layers are compiled once."""
    if isinstance(model, CompilesEmbedding):
        model.compile_embedding()
    for module in model.modules():
        if isinstance(module, nn.ModuleList):
            for layer in module:
                layer.compile()
