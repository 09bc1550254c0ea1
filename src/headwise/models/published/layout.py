"""Reordering of a model from the paper's layout of sinusoidal positions to that of published models."""

from collections.abc import Mapping

import torch
from torch import Tensor

from headwise.config import ModelConfig
from headwise.models.folder.weights import Weights
from headwise.recipe import replaced

WRITERS = ("attention.output.weight", "feed_forward.contract.weight")
"""Matrices whose output is added to the residual path, so that their rows are reordered. All others read from it."""


def in_halves(config: ModelConfig, weights: Mapping[str, Tensor]) -> tuple[ModelConfig, Weights]:
    """Reorder an encoder-decoder so that all sines come before all cosines; the paper alternates them.

    The order of the dimensions of the residual path is arbitrary: if everything that writes to it and everything that
    reads from it is reordered alike, the model computes the same.
    """
    changed: Weights = {}
    for name, tensor in weights.items():
        if name.endswith(WRITERS):
            tensor = tensor[_order(tensor.size(0))]
        elif tensor.dim() > 1:
            tensor = tensor[:, _order(tensor.size(1))]
        elif name.endswith(("attention.output.bias", "feed_forward.contract.bias")) or "norm." in name:
            tensor = tensor[_order(tensor.size(0))]
        changed[name] = tensor.contiguous()
    return replaced(config, {"positions.kind": "sinusoidal_halves"}), changed


def _order(width: int) -> Tensor:
    """The even dimensions, then the odd ones."""
    dimensions = torch.arange(width)
    return torch.cat((dimensions[0::2], dimensions[1::2]))
