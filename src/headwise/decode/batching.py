"""Batches of rows of different lengths: grouped by a token budget, and padded."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BATCH_TOKENS = 2048
"""Padded source tokens times beam per batch on a CPU: enough to keep it busy, few enough for its memory."""

GPU_BATCH_TOKENS = 65_536
"""Padded source tokens times beam per batch on a GPU, which waits for memory if it is given few sentences."""


def by_budget(order: Iterable[int], lengths: Sequence[int], budget: int = 0) -> Iterator[list[int]]:
    """Batches of neighbours in `order`, as many as fit the token budget (0: `BATCH_TOKENS`) when padded."""
    budget = budget or BATCH_TOKENS
    rows: list[int] = []
    longest = 0
    for i in order:
        longest = max(longest, lengths[i])
        if rows and longest * (len(rows) + 1) > budget:
            yield rows
            rows, longest = [], lengths[i]
        rows.append(i)
    if rows:
        yield rows


def by_length(lengths: Sequence[int], budget: int = 0, equal: bool = False) -> Iterator[list[int]]:
    """Batches from the shortest to the longest row, with little padding; with `equal`, without padding."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    for _, group in itertools.groupby(order, key=lambda i: lengths[i] if equal else 0):
        yield from by_budget(group, lengths, budget)


def padded(rows: Sequence[Sequence[int]], pad: int, device: torch.device, *, at_start: bool = False) -> Tensor:
    """Rows of ids as a tensor [B, longest], with the padding after each row, or before it."""
    import torch

    longest = max(len(row) for row in rows)
    filled = [
        [*[pad] * (longest - len(row)), *row] if at_start else [*row, *[pad] * (longest - len(row))] for row in rows
    ]
    return torch.tensor(filled, dtype=torch.long, device=device)
