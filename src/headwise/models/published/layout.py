"""The paper's position encodings in the layout that published models have."""

from collections.abc import Mapping

import torch
from torch import Tensor

from headwise.config import ModelConfig
from headwise.models.folder.weights import Weights
from headwise.recipe import replaced

WRITERS = ("attention.output.weight", "feed_forward.contract.weight")
"""Matrices whose rows are the model's width: they write into the residual path. All others read from it."""


def in_halves(config: ModelConfig, weights: Mapping[str, Tensor]) -> tuple[ModelConfig, Weights]:
    """Reorder an encoder-decoder so that all sines come before all cosines.

    The paper has them in turn. Which place of the width holds what is a matter of naming: if all that writes and all
    that reads changes its order alike, nothing else does.
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
    """Even places, then odd ones."""
    places = torch.arange(width)
    return torch.cat((places[0::2], places[1::2]))
