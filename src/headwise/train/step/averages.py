"""Averages of weights: over checkpoints, and over steps (exponential moving average)."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from headwise.errors import CheckpointError
from headwise.models.folder.weights import Weights, set_weights, weights_of
from headwise.train.checkpoint.sharded_state import local

DIFFERENT = "the checkpoints are of different models: they cannot be averaged"


def mean_weights(many: Sequence[Mapping[str, Tensor]]) -> Weights:
    """The mean of several sets of weights, summed in float64: the mean of equal sets is exactly that set."""
    first = many[0]
    for other in many[1:]:
        if other.keys() != first.keys() or any(other[name].shape != first[name].shape for name in first):
            raise CheckpointError(DIFFERENT)
    return {
        name: (torch.stack([weights[name].double() for weights in many]).sum(0) / len(many)).to(tensor.dtype)
        for name, tensor in first.items()
    }


class MovingAverage:
    """An exponential moving average (EMA) of the weights, steadier than those of a single step."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights: Weights = {name: tensor.detach().clone() for name, tensor in weights_of(model).items()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int, finite: Tensor) -> None:
        """Add the weights after `step`. Early averages decay faster, so that the first weights do not linger.

        A step that was not `finite` was skipped and does not count; this is decided on the device, without a wait.
        """
        decay = min(self.decay, (1 + step) / (10 + step))
        own, average = weights_of(model), [local(tensor) for tensor in self.weights.values()]
        changes = torch._foreach_sub([local(own[name]) for name in self.weights], average)
        torch._foreach_mul_(changes, (1 - decay) * finite)
        torch._foreach_add_(average, changes)


@contextlib.contextmanager
def swapped(model: nn.Module, weights: Weights | None) -> Iterator[None]:
    """Give the model these weights within the block, and its own again afterwards. None: nothing changes."""
    if weights is None:
        yield
        return
    own = {name: tensor.detach().clone() for name, tensor in weights_of(model).items()}
    set_weights(model, weights, "moving average")
    try:
        yield
    finally:
        set_weights(model, own, "training weights")
