"""Rows of different lengths as tensors: grouped by a budget of tokens, padded."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BATCH_TOKENS = 2048
"""Padded source tokens times beam in one batch: enough to fill a processor, little enough for its memory."""

GPU_BATCH_TOKENS = 65_536
"""The budget on a GPU: one that is given a few sentences waits for memory all the time."""


def by_budget(order: Iterable[int], lengths: Sequence[int], budget: int = 0) -> Iterator[list[int]]:
    """Neighbours in `order`, as many as fit the token budget (0: the usual one) when padded to the longest."""
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
    """`by_budget` from the shortest to the longest, so that little is padded; with `equal` nothing is."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    for _, group in itertools.groupby(order, key=lambda i: lengths[i] if equal else 0):
        yield from by_budget(group, lengths, budget)


def padded(rows: Sequence[Sequence[int]], pad: int, device: torch.device, *, at_start: bool = False) -> Tensor:
    """[B, longest] ids, with the padding after each row, or before it."""
    import torch

    longest = max(len(row) for row in rows)
    filled = [
        [*[pad] * (longest - len(row)), *row] if at_start else [*row, *[pad] * (longest - len(row))] for row in rows
    ]
    return torch.tensor(filled, dtype=torch.long, device=device)
