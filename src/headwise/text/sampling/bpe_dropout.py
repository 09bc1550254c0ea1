"""BPE with dropout (Provilkov et al., 2020): the merges of a BPE model, some of them left out at random.

SentencePiece has this too, but draws from a generator of its own that cannot be seeded a second time, so a
run could not be resumed exactly. With no dropout this gives SentencePiece's own segmentation.
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
"""Words that are kept; when there are more, all are forgotten."""


class _Word(NamedTuple):
    text: str
    merges: int
    """That make its pieces when none is left out."""
    ids: list[int]
    """Of these pieces."""


class BpeDropout:
    """Many texts at once. No merge goes beyond a word, and most words keep all of theirs: only those of which one is
    left out are merged anew."""

    def __init__(
        self,
        begins_word: NDArray[np.bool_],
        text_of: Callable[[list[int]], str],
        scores: Mapping[str, float],
        ids_of: Callable[[str], list[int]],
    ) -> None:
        """`begins_word`: of each id. `text_of`: the text of a word, as ids, with ▁ before it. `ids_of`: of a piece."""
        self._begins_word = begins_word
        self._text_of = text_of
        self._scores = scores
        self._ids_of = ids_of
        self._words: dict[bytes, _Word] = {}

    def __call__(self, ids: Ids, lengths: Ids, dropout: float, keys: Keys) -> tuple[Ids, Ids]:
        """Texts end to end, at least one id each, and the length of each; `keys`, a random number for each, decide
        alone. Returns the same of what was drawn."""
        content, counts = words_in(ids, lengths, self._begins_word)
        if len(self._words) > WORDS:
            self._words = {}
        known = self._words  # this very table: another thread may put an empty one in its place
        for new in {word for word in content if word not in known}:
            known[new] = self._word(ids_in(new))
        words = [known[word] for word in content]

        # Each word has a draw for every merge that may come up: the first ones are of those that make its pieces.
        needed = np.array([max(1, 3 * len(word.text)) for word in words])
        starts = np.cumsum(needed) - needed
        texts = np.repeat(np.arange(len(keys)), counts)
        first = starts[np.cumsum(counts) - counts]  # of each text
        numbers = np.arange(needed.sum()) - np.repeat(first[texts], needed)
        draws = uniform(mixed(np.repeat(keys[texts], needed) + numbers.astype(np.uint64) * GOLDEN))
        asked = np.arange(needed.sum()) - np.repeat(starts, needed) < np.repeat([word.merges for word in words], needed)
        changed = np.logical_or.reduceat((draws < dropout) & asked, starts)

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
    """Pieces of `text`, from single characters by merging neighbours, the best score first, then leftmost.

    Each merge that comes up is left out if the next draw, uniform in [0, 1), is below `dropout`; the pair can
    come up again once a neighbour has grown. At most `3 * len(text)` draws are used. A heap keeps the time
    at n log n, so that a long sentence without spaces costs no more than one with them.
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
    return [piece for piece in pieces if piece]
