"""BPE dropout (Provilkov et al., 2020): BPE segmentation in which random merges are skipped.

SentencePiece has it too, but its generator can be seeded only once, so a run could not be resumed exactly. Without
dropout the segmentation is SentencePiece's own.
"""

import heapq
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwise.text.random_bits import GOLDEN, mixed, uniform
from headwise.text.sampling.words import ids_in, words_in
from headwise.text.tokenizer import Ids, Keys

WORDS = 2**17
"""The size of the cache of words, which is cleared when it is full."""


class _Word(NamedTuple):
    text: str
    merges: int
    """The number of merges without dropout."""
    ids: list[int]
    """The ids without dropout."""


class BpeDropout:
    """BPE dropout for many texts in one call.

    No merge crosses a word boundary, and most words keep all of their merges: only words in which a merge is
    skipped are segmented again.
    """

    def __init__(
        self,
        begins_word: NDArray[np.bool_],
        text_of: Callable[[list[int]], str],
        scores: Mapping[str, float],
        ids_of: Callable[[str], list[int]],
    ) -> None:
        """`begins_word`: whether each id begins a word; `text_of`: the text of a word's ids, with ▁ before it;
        `scores`: the score of each piece that merges make; `ids_of`: the ids of a piece."""
        self._begins_word = begins_word
        self._text_of = text_of
        self._scores = scores
        self._ids_of = ids_of
        self._words: dict[bytes, _Word] = {}

    def __call__(self, ids: Ids, lengths: Ids, dropout: float, keys: Keys) -> tuple[Ids, Ids]:
        """Segment texts, concatenated, with at least one id each; returns the new ids and the length of each text.

        What is drawn for a text depends on its random number in `keys` alone.
        """
        content, counts = words_in(ids, lengths, self._begins_word)
        if len(self._words) > WORDS:
            self._words = {}
        known = self._words  # another thread may replace the cache by an empty one
        for new in {word for word in content if word not in known}:
            known[new] = self._word(ids_in(new))
        words = [known[word] for word in content]

        # Each word has a draw for every merge that may come up, first for the merges without dropout.
        needed = np.array([max(1, 3 * len(word.text)) for word in words])
        starts = np.cumsum(needed) - needed
        texts = np.repeat(np.arange(len(keys)), counts)
        first = starts[np.cumsum(counts) - counts]  # the first draw of each text
        numbers = np.arange(needed.sum()) - np.repeat(first[texts], needed)
        draws = uniform(mixed(np.repeat(keys[texts], needed) + numbers.astype(np.uint64) * GOLDEN))
        used = np.arange(needed.sum()) - np.repeat(starts, needed) < np.repeat([word.merges for word in words], needed)
        changed = np.logical_or.reduceat((draws < dropout) & used, starts)

        drawn = [word.ids for word in words]
        for number in np.flatnonzero(changed).tolist():
            own = draws[starts[number] : starts[number] + needed[number]].tolist()
            pieces = segment(words[number].text, self._scores, dropout, own)
            drawn[number] = [i for piece in pieces for i in self._ids_of(piece)]
        sizes = np.array([len(each) for each in drawn])
        flat = np.fromiter(itertools.chain.from_iterable(drawn), np.int64, int(sizes.sum()))
        return flat, np.add.reduceat(sizes, np.cumsum(counts) - counts)

    def _word(self, ids: list[int]) -> _Word:
        text = self._text_of(ids)
        pieces = segment(text, self._scores, 0.0, [])
        return _Word(text, len(text) - len(pieces), [i for piece in pieces for i in self._ids_of(piece)])


def segment(text: str, scores: Mapping[str, float], dropout: float, draws: Sequence[float]) -> list[str]:
    """Segment `text` by merging neighbours, starting from characters: the best score first, then the leftmost.

    A merge is skipped if the next draw, uniform in [0, 1), is below `dropout`; the pair can come up again once a
    neighbour has grown. At most `3 * len(text)` draws are used. A heap keeps the time at n log n, so that a long
    sentence without spaces costs no more than one with them.
    """
    pieces = list(text)
    end = len(pieces)
    before = list(range(-1, end - 1))
    after = list(range(1, end + 1))
    agenda: list[tuple[float, int, int, int]] = []
    for left in range(end - 1):
        score = scores.get(pieces[left] + pieces[left + 1])
        if score is not None:
            agenda.append((-score, left, left + 1, 2))
    heapq.heapify(agenda)

    draw = iter(draws)
    while agenda:
        _, left, right, length = heapq.heappop(agenda)
        if not pieces[left] or not pieces[right] or len(pieces[left]) + len(pieces[right]) != length:
            continue  # one of the two has been merged with another since
        if dropout > 0 and next(draw) < dropout:
            continue
        pieces[left] += pieces[right]
        pieces[right] = ""
        after[left] = after[right]
        if after[left] < end:
            before[after[left]] = left
        for first, second in ((before[left], left), (left, after[left])):
            if first >= 0 and second < end:
                merged = pieces[first] + pieces[second]
                score = scores.get(merged)
                if score is not None:
                    heapq.heappush(agenda, (-score, first, second, len(merged)))
    return list(filter(None, pieces))
