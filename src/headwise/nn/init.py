"""Initialisation of weights."""

import math
from collections.abc import Callable

from torch import Tensor, nn


def _xavier(name: str, weight: Tensor) -> None:
    """Glorot's uniform for the projections; embeddings from N(0, 1/D), which sqrt(D) brings to variance 1."""
    if name.endswith(EMBEDDINGS):
        nn.init.normal_(weight, std=1 / math.sqrt(weight.size(-1)))
    else:
        nn.init.xavier_uniform_(weight)


def _normal(name: str, weight: Tensor) -> None:
    """N(0, 0.02^2) everywhere, as GPT-2 and BERT do."""
    nn.init.normal_(weight, std=0.02)


INITS: dict[str, Callable[[str, Tensor], None]] = {"xavier": _xavier, "normal": _normal}

EMBEDDINGS = ("embedding.weight", "output_projection.weight", "head.projection.weight", "positions.weight")


def initialise(model: nn.Module, kind: str) -> None:
    """Initialise all matrices by the rule `kind`; biases become 0, the gains of norms 1."""
    fill = INITS[kind]
    if any(parameter.is_meta for parameter in model.parameters()):  # shapes alone: there is nothing to draw
        return
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            fill(name, parameter.data)
        elif name.endswith("norm.weight"):
            nn.init.ones_(parameter)
        else:
            nn.init.zeros_(parameter)
