"""Choosing validation pairs out of the training data."""

import heapq
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from headwise.data.read.pair import Pair
from headwise.text.random_bits import mixed


class HeldOut:
    """The pairs with the smallest seeded hashes of all that were offered.

    The choice depends on the content of pairs alone: it survives reordering and appended data as far as it
    can, and equal pairs are always chosen together.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.offered = 0
        self._mix = np.random.default_rng([seed, 0x4E]).integers(1 << 63, size=2, dtype=np.uint64)
        self._heap: list[tuple[int, Pair]] = []  # of negated hashes: the largest hash is on top
        self._members: set[int] = set()

    def offer(self, pairs: list[Pair], hashes: NDArray[np.uint64], but: Collection[str] = ()) -> None:
        """Pairs and their hashes, of which those from the files `but` are not taken."""
        if not self.size:
            return
        if but:
            real = [number for number, pair in enumerate(pairs) if pair.file not in but]
            pairs, hashes = [pairs[number] for number in real], hashes[real]
        self.offered += len(pairs)
        keys = self._keys(hashes)
        full = len(self._heap) == self.size
        candidates = np.flatnonzero(keys < np.uint64(-self._heap[0][0])) if full else range(len(pairs))
        for index in candidates:
            key = -int(keys[index])
            if key in self._members:
                continue
            self._members.add(key)
            if len(self._heap) < self.size:
                heapq.heappush(self._heap, (key, pairs[index]))
            else:
                self._members.discard(heapq.heappushpop(self._heap, (key, pairs[index]))[0])

    def chosen(self, count: int) -> list[Pair]:
        """The first `count` pairs in the order of their hashes, which is a random one; no pair twice."""
        return [pair for _, pair in sorted(self._heap, reverse=True)[:count]]

    def _keys(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The hashes in an order of the seed's own."""
        return mixed((hashes ^ self._mix[0]) + self._mix[1])
