"""Sentences one behind the other in a single row, without padding; attention stays inside each of them.

A batch then always has the same shapes, whatever its sentences are like, and no arithmetic is spent on padding.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Packing(NamedTuple):
    """Where the sentences of a row [1, N] lie. Rows behind the last one are of no sentence."""

    starts: Tensor
    """int32 [sentences + 1]: each sentence's first token, then the end; empty ones may follow."""
    places: Tensor
    """[N]: where each token stands in its sentence."""
    longest: int
    """No sentence has more tokens."""


def places_in(starts: Tensor, count: int) -> Tensor:
    """[N]: how far each of `count` tokens is from the start of its sentence; 0 behind the last sentence."""
    token = torch.arange(count, device=starts.device)
    sentence = torch.searchsorted(starts[1:].contiguous(), token, right=True)
    return torch.where(sentence < len(starts) - 1, token - starts[sentence], 0)
