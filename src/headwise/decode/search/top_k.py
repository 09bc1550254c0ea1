"""The largest scores of each row, faster than `topk` over a whole vocabulary."""

import torch
from torch import Tensor

BLOCK = 64
"""Neighbouring scores whose maximum is taken first."""


def largest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest scores of each row [R, V] and their indices: `topk`, several times as fast.

    The `count` largest scores lie in the `count` blocks with the largest maxima.
    """
    rows, width = scores.shape
    blocks = width // BLOCK
    if blocks < 4 * count:
        return scores.topk(count, dim=-1)
    inside = scores[:, : blocks * BLOCK].view(rows, blocks, BLOCK)
    best = inside.amax(-1).topk(count, dim=-1).indices  # [R, K]
    near = inside.gather(1, best.unsqueeze(-1).expand(-1, -1, BLOCK)).view(rows, -1)
    rest = scores[:, blocks * BLOCK :]  # the last, incomplete block always takes part
    values, indices = torch.cat((near, rest), 1).topk(count, dim=-1)
    block = best.gather(1, (indices // BLOCK).clamp_max(count - 1))
    return values, torch.where(
        indices < near.shape[1], block * BLOCK + indices % BLOCK, indices - near.shape[1] + blocks * BLOCK
    )


def likeliest(scores: Tensor) -> Tensor:
    """The likeliest token [R] of each row."""
    return largest(scores, 1)[1].squeeze(1)
