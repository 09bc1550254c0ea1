"""Which examples make which batch: a pure function of lengths, a budget and a seed.

Widths are what the tensors will have, special tokens included. A batch costs rows * width of its wider side.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

POOL = 50_000
"""Examples that are sorted by length together: many batches of equal lengths, yet still a random mixture."""

Indices = NDArray[np.int64]
Widths = NDArray[np.int32]
B = TypeVar("B")
P = TypeVar("P")


@dataclass(frozen=True)
class Planned(Generic[B]):
    """A batch that is known and not made yet: where several processes share the work, each makes its part alone."""

    rows: int
    make: Callable[[slice], B]
    """The batch of some of its rows, at least one. All together they are the whole batch, each row as it is there."""


def whole(planned: Iterator[tuple[Planned[B], P]]) -> Iterator[tuple[B, P]]:
    """Each batch with all its rows, and the position after it."""
    for plan, following in planned:
        yield plan.make(slice(None)), following


def epoch_order(sizes: Sequence[int], weights: Sequence[float], seed: int, epoch: int) -> Indices:
    """The examples of an epoch, shuffled. Examples are numbered through all corpora.

    A weight of 2.3 gives every example of its corpus twice and a fresh random 0.3 of them once more.
    """
    rng = np.random.default_rng([seed, epoch])
    parts: list[Indices] = []
    start = 0
    for size, weight in zip(sizes, weights, strict=True):
        whole = int(weight)
        parts += [np.arange(start, start + size)] * whole
        more = math.ceil((weight - whole) * size - 1e-6)
        if more > 0:
            parts.append(start + rng.choice(size, more, replace=False, shuffle=False))
        start += size
    order = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    rng.shuffle(order)
    return order


def epoch_batches(
    order: Indices, source: Widths, target: Widths, budget: int, seed: int, epoch: int, pool: int = POOL
) -> Iterator[list[Indices]]:
    """The batches of an epoch, pool by pool: sorted by length inside a pool, then in random order."""
    for number, start in enumerate(range(0, len(order), pool)):
        members = order[start : start + pool]
        members = members[by_length(source[members], target[members])]
        batches = cut(members, np.maximum(source[members], target[members]), budget)
        shuffled = np.random.default_rng([seed, epoch, number]).permutation(len(batches))
        yield [batches[i] for i in shuffled]


def by_length(source: Widths, target: Widths) -> Indices:
    """An order in which neighbours have nearly the same two lengths.

    First by the wider side, as it alone decides how many rows fit; then by which side it is and by how much,
    upwards and downwards in turn so that the other side does not jump where the wider one grows. Of a dozen
    orders this one had the fewest batches and the least padding.
    """
    wider = np.maximum(source, target)
    difference = target - source
    return np.lexsort((np.where(wider % 2 == 1, difference, -difference), wider))


def cut(members: Indices, widths: Widths, budget: int) -> list[Indices]:
    """Cut a sequence of examples into the longest runs of rows * widest <= budget, or of one example."""
    batches = []
    start = 0
    while start < len(members):
        most = max(budget // int(widths[start]), 1)
        widest = np.maximum.accumulate(widths[start : start + most].astype(np.int64))
        costs = widest * np.arange(1, len(widest) + 1)
        rows = max(int(np.searchsorted(costs, budget, side="right")), 1)
        batches.append(members[start : start + rows])
        start += rows
    return batches
