"""Blends of a fine-tuned model with the one it started from: most of the gain, and little of the forgetting.

On the line between the two sets of weights, quality on the new data rises early, and quality elsewhere falls late
(WiSE-FT, Wortsman and others 2022). A run that continues reads the weights of the start again, from `init`.
"""

from dataclasses import dataclass
from functools import cached_property

from torch import nn

from headwise.config import TuneConfig
from headwise.files.digest import tensors_digest
from headwise.models.folder.weights import Weights, weights_of


@dataclass(frozen=True)
class Blend:
    """The blend that a run validates, and ends with."""

    start: Weights
    share: float
    """The share of the trained weights, above 0 and below 1; the rest are those of the start."""

    def __call__(self, weights: Weights) -> Weights:
        """The blend of the starting weights and of these."""
        return {name: self.start[name].lerp(tensor.detach(), self.share) for name, tensor in weights.items()}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the starting weights."""
        return tensors_digest(self.start)


def blend_of(model: nn.Module, config: TuneConfig) -> Blend | None:
    """The blend with a model as it is now, before training; None: training ends with its own weights."""
    if config.blend == 1:
        return None
    return Blend({name: tensor.detach().clone() for name, tensor in weights_of(model).items()}, config.blend)
