"""Position encodings as numbers: the table or the angles of any width and length, and similarity by distance."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.errors import ConfigError
from headwise.inspect.inside.as_json import numbers
from headwise.inspect.inside.open_inside import InsideModel
from headwise.nn.positions import Learned, Sinusoidal
from headwise.nn.rotary import Frequencies

KINDS = ("sinusoidal", "learned", "rotary")
WIDEST, LONGEST = 1024, 512


@torch.inference_mode()
def positions_json(kind: str, width: int, length: int, inside: InsideModel | None = None) -> dict[str, Any]:
    """The encoding of the first positions; learned positions are those of a model.

    Similarity by distance is the mean cosine of two positions that are so far apart; of rotary positions, the mean
    cosine of the angles between them, which is the product of two equal vectors that are rotated.
    """
    if kind not in KINDS:
        raise ConfigError(f"'kind' must be one of {', '.join(KINDS)}")
    if not (1 <= width <= WIDEST and 1 <= length <= LONGEST):
        raise ConfigError(f"the width must be between 1 and {WIDEST}, the length between 1 and {LONGEST}")
    answer: dict[str, Any] = {"kind": kind, "length": length}
    if kind == "rotary":
        angles = torch.arange(length)[:, None] * Frequencies(width - width % 2).plain()
        return {
            **answer,
            "width": width,
            "angles": numbers(angles),
            "similarity": numbers(angles.cos().mean(-1)),
        }
    table = Sinusoidal(width).table(torch.arange(length)) if kind == "sinusoidal" else _learned(inside, length)
    return {
        **answer,
        "length": len(table),
        "width": table.size(-1),
        "table": numbers(table),
        "similarity": numbers(similarity(table)),
    }


def similarity(table: Tensor) -> Tensor:
    """The mean cosine of two rows of a table [length, D] by their distance, [length]."""
    unit = F.normalize(table, dim=-1)
    products = unit @ unit.T
    return torch.stack([products.diagonal(distance).mean() for distance in range(len(table))])


def _learned(inside: InsideModel | None, length: int) -> Tensor:
    encoding = None if inside is None else inside.model.source_positions
    if not isinstance(encoding, Learned):
        raise ConfigError("learned positions are those of a model: name one that has them")
    return encoding.weight[encoding.offset : encoding.offset + length]
