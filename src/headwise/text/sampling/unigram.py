"""Subword regularisation (Kudo, 2018): draws one of the likeliest segmentations of each sentence of a batch.

A piece never crosses a word boundary, so the segmentations of a sentence are those of its words in all combinations.
The best n of each word are listed when it is first seen, and cached. The best n of a sentence are combined from them,
neighbour by neighbour: of two lists, best first, the combination of ranks i and j has (i + 1) (j + 1) - 1 others that
are at least as good, so that few combinations need to be compared.
"""

import itertools
import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from headwise.text.random_bits import uniform
from headwise.text.sampling.words import ids_in, words_in
from headwise.text.tokenizer import Ids, Keys

Segmentations = list[tuple[list[int], float]]

CELLS = 2**21
"""The size of the cache of segmentations of words, which is cleared when it is full."""
AT_ONCE = 2**16
"""Combinations that are compared together: as many as the processor's cache holds."""

_UNIT = 2.0**-24
"""Losses are integers in this unit, in nats: sums are exact, and the same on every machine."""
_NEVER = 2**40
"""The loss of a segmentation that does not exist."""


class UnigramSampler:
    """Draws the segmentation of a sentence from its best `count`, by probability to the power of alpha."""

    def __init__(
        self,
        begins_word: NDArray[np.bool_],
        segmentations: Callable[[Sequence[list[int]]], list[Segmentations]],
        count: int,
    ) -> None:
        """`begins_word`: whether each id begins a word; `segmentations`: lists the best `count` segmentations of
        words, given as ids, with their log probabilities, best first."""
        self._begins_word = begins_word
        self._segmentations = segmentations
        self._words = _WordCache(count)
        self._lock = threading.Lock()
        ranks = np.arange(count)
        self._first, self._second = np.nonzero((ranks[:, None] + 1) * (ranks + 1) <= count)
        self._bits = len(self._first).bit_length()

    def __call__(self, ids: Ids, lengths: Ids, alpha: float, keys: Keys) -> tuple[Ids, Ids]:
        """Segment texts, concatenated, with at least one id each; returns the new ids and the length of each text.

        What is drawn for a text depends on its random number in `keys` alone.
        """
        content, words = words_in(ids, lengths, self._begins_word)
        with self._lock:
            rows = self._rows(content)
            ranks = self._ranks(self._words.losses[rows], words, alpha, uniform(keys))
            pieces, counts = self._words.pieces(rows, ranks)
        return pieces, np.add.reduceat(counts, np.cumsum(words) - words)

    def _rows(self, words: list[bytes]) -> Ids:
        """The rows of words in the cache, to which new words are added."""
        known = self._words.numbers
        new = {word for word in words if word not in known}
        if len(known) * self._words.count > CELLS:
            self._words.forget()
            new = set(words)
        if new:
            order = sorted(new)
            self._words.add(order, self._segmentations([ids_in(word) for word in order]))
        return np.fromiter(map(known.__getitem__, words), np.int64, len(words))

    def _ranks(self, losses: Ids, words: Ids, alpha: float, draws: NDArray[np.float64]) -> Ids:
        """Draw the rank of each word's segmentation from the losses [N, count]; `words`: the words per sentence.

        The lists of two neighbours are merged until each sentence has one list; a draw from it determines the draws
        from the lists that it was merged from.
        """
        levels = []
        while words.max() > 1:
            ends, pairs = np.cumsum(words), -(-words // 2)
            within = np.arange(pairs.sum()) - np.repeat(np.cumsum(pairs) - pairs, pairs)
            left = np.repeat(ends - words, pairs) + 2 * within
            paired = left + 1 < np.repeat(ends, pairs)  # the last of an odd number is not
            merged = losses[left]
            merged[paired], chosen = self._merged(losses, left[paired])
            levels.append((left, paired, chosen, len(losses)))
            losses, words = merged, pairs
        weights = np.where(losses < _NEVER, np.exp(-alpha * _UNIT * losses), 0).cumsum(1)
        ranks: Ids = (weights <= (draws * weights[:, -1])[:, None]).sum(1)
        for left, paired, chosen, count in reversed(levels):
            below = np.empty(count, np.int64)
            below[left] = ranks
            pair = chosen[np.arange(len(chosen)), ranks[paired]]
            below[left[paired]] = self._first[pair]
            below[left[paired] + 1] = self._second[pair]
            ranks = below
        return ranks

    def _merged(self, losses: Ids, left: Ids) -> tuple[Ids, Ids]:
        """The best combinations of each list at `left` with the list after it: their losses and their indices."""
        count = losses.shape[1]
        merged = np.empty((len(left), count), np.int64)
        chosen = np.empty((len(left), count), np.int64)
        at_once = max(1, AT_ONCE // len(self._first))
        for start in range(0, len(left), at_once):
            part = slice(start, start + at_once)
            sums = losses[left[part]].take(self._first, 1)
            sums += losses[left[part] + 1].take(self._second, 1)
            sums <<= self._bits
            sums += np.arange(len(self._first))  # sorted with the sum: ties too have one order
            sums.sort(1)
            best = sums[:, :count]
            np.minimum(best >> self._bits, _NEVER, out=merged[part])
            np.bitwise_and(best, (1 << self._bits) - 1, out=chosen[part])
        return merged, chosen


class _WordCache:
    """A cache of the best segmentations of words, in arrays."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.numbers: dict[bytes, int] = {}
        """The row of each word, which is given by its ids."""
        self.forget()

    def forget(self) -> None:
        self.numbers.clear()
        self.losses = np.empty((0, self.count), np.int64)
        """[words, count]: the log probability of the best segmentation minus that of each, in units."""
        self._starts = np.empty((0, self.count), np.int64)
        self._lengths = np.empty((0, self.count), np.int64)
        self._ids = np.empty(0, np.int64)
        self._used = 0

    def add(self, words: list[bytes], found: list[Segmentations]) -> None:
        first, end = len(self.numbers), len(self.numbers) + len(words)
        self.numbers.update(zip(words, range(first, end), strict=True))
        self.losses, self._starts, self._lengths = (
            _with_room(each, end) for each in (self.losses, self._starts, self._lengths)
        )
        self.losses[first:end] = _NEVER
        there = np.zeros((len(words), self.count), np.bool_)
        for row, segmentations in enumerate(found):
            there[row, : len(segmentations)] = True
        lists = [ids for segmentations in found for ids, _ in segmentations]
        scores = np.array([score for segmentations in found for _, score in segmentations])
        best = np.repeat([segmentations[0][1] for segmentations in found], there.sum(1))
        lengths = np.array([len(ids) for ids in lists])
        self.losses[first:end][there] = np.rint((best - scores) / _UNIT).astype(np.int64)
        self._starts[first:end][there] = self._used + np.cumsum(lengths) - lengths
        self._lengths[first:end][there] = lengths
        after = self._used + int(lengths.sum())
        self._ids = _with_room(self._ids, after)
        self._ids[self._used : after] = np.fromiter(itertools.chain.from_iterable(lists), np.int64)
        self._used = after

    def pieces(self, rows: Ids, ranks: Ids) -> tuple[Ids, Ids]:
        """The ids of these segmentations, concatenated, and the length of each."""
        starts, lengths = self._starts[rows, ranks], self._lengths[rows, ranks]
        places = np.arange(lengths.sum()) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        return self._ids[places], lengths


def _with_room(array: Ids, needed: int) -> Ids:
    """The array, grown to at least twice its length if it is too short."""
    more = max(needed, 2 * len(array)) - len(array)
    return array if needed <= len(array) else np.concatenate((array, np.empty((more, *array.shape[1:]), np.int64)))
