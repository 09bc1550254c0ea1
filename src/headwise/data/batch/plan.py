"""Planning: which examples go into which batch, as a pure function of lengths, a budget and a seed.

Widths are those of the tensors, special tokens included. A batch costs rows * width of its wider side.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwise.errors import DataError

POOL = 50_000
"""Examples that are sorted by length together: enough for batches of nearly equal lengths, yet a random sample."""

Indices = NDArray[np.int64]
Widths = NDArray[np.int32]


@dataclass(frozen=True)
class Mixture:
    """Several corpora in a seeded order, each of them `weight` times per epoch."""

    sizes: Sequence[int]
    """Examples of each corpus."""
    weights: Sequence[float]
    seed: int

    def __post_init__(self) -> None:
        if any(weight < 0 for weight in self.weights):
            raise DataError(f"the weight of a corpus must not be negative: {list(self.weights)}")
        if not any(size * weight for size, weight in zip(self.sizes, self.weights, strict=True)):
            raise DataError("there are no training examples: all corpora are empty or have a weight of 0")

    def order(self, epoch: int) -> Indices:
        """The examples of an epoch, shuffled; they are numbered through all corpora.

        A weight of 2.3 takes every example of its corpus twice, and a random 0.3 of them, drawn anew each epoch, once
        more.
        """
        rng = np.random.default_rng([self.seed, epoch])
        parts: list[Indices] = []
        start = 0
        for size, weight in zip(self.sizes, self.weights, strict=True):
            whole = int(weight)
            parts += [np.arange(start, start + size)] * whole
            more = math.ceil((weight - whole) * size - 1e-6)
            if more > 0:
                parts.append(start + rng.choice(size, more, replace=False, shuffle=False))
            start += size
        order = np.concatenate(parts)
        rng.shuffle(order)
        return order


def epoch_batches(
    order: Indices,
    widths: Callable[[Indices], tuple[Widths, Widths]],
    budget: int,
    seed: int,
    epoch: int,
    pool: int = POOL,
) -> Iterator[list[Indices]]:
    """The batches of an epoch, pool by pool: sorted by length inside a pool, then in random order.

    `widths` gives the widths of the two sides of examples.
    """
    for number, start in enumerate(range(0, len(order), pool)):
        members = order[start : start + pool]
        source, target = widths(members)
        sort = by_length(source, target)
        batches = cut(members[sort], np.maximum(source, target)[sort], budget)
        shuffled = np.random.default_rng([seed, epoch, number]).permutation(len(batches))
        yield [batches[i] for i in shuffled]


def by_length(source: Widths, target: Widths) -> Indices:
    """An order in which neighbours have nearly the same two lengths.

    First by the wider side, which alone decides how many rows fit; then by the difference of the two sides, upwards
    and downwards in turn so that the other side does not jump where the wider one grows. Among a dozen orders this
    one gave the fewest batches and the least padding.
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
