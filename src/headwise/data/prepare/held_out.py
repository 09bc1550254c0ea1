"""Choosing validation data out of the training data: pairs, labelled examples, images."""

import heapq
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from headwise.data.read.labelled import Example
from headwise.data.read.pairs import Pair
from headwise.text.random_bits import mixed

_SHARE = 20


def most_held_out(count: int) -> int:
    """How many of `count` items may be held out at most: a twentieth."""
    return count // _SHARE


def _random(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, 0x4E])


class HeldOut:
    """Chooses the pairs with the smallest seeded hashes among all that are offered.

    The choice depends on the content of pairs only: reordering does not change it, appended data changes it little,
    and equal pairs are chosen together.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.offered = 0
        self._mix = _random(seed).integers(1 << 63, size=2, dtype=np.uint64)
        self._heap: list[tuple[int, Pair]] = []  # negated hashes: the largest hash is on top
        self._members: set[int] = set()

    def offer(self, pairs: list[Pair], hashes: NDArray[np.uint64], but: Collection[str] = ()) -> None:
        """Offer pairs with their hashes; those from the files `but` are not taken."""
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
        """The first `count` pairs by their seeded hashes, hence in random order; no pair occurs twice."""
        return [pair for _, pair in sorted(self._heap, reverse=True)[:count]]

    def _keys(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Seeded hashes of hashes, so that each seed gives another order."""
        return mixed((hashes ^ self._mix[0]) + self._mix[1])


def hold_out_examples(examples: Sequence[Example], count: int, seed: int) -> tuple[list[Example], list[Example]]:
    """Training and validation examples: about `count`, at most a twentieth, are held out.

    Examples with the same text go to one side together, else validation would measure memory.
    """
    texts = list(dict.fromkeys(example[:2] for example in examples))
    count = min(count, most_held_out(len(examples)), len(texts) - 1)
    order = _random(seed).permutation(len(texts))
    chosen = {texts[i] for i in order[: max(count, 0)]}
    return [e for e in examples if e[:2] not in chosen], [e for e in examples if e[:2] in chosen]


def hold_out_images(images: int, count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of the images to train on, and of `count` others, at most a twentieth, to validate on."""
    order = _random(seed).permutation(images)
    count = min(count, most_held_out(images))
    return np.sort(order[count:]), np.sort(order[:count])
