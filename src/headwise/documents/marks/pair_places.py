"""Places of pairs of marks in a translation: around the words that are linked to those they enclosed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headwise.documents.marks.linked_words import LinkedWords
from headwise.documents.marks.mark_tree import MarkNode
from headwise.documents.marks.word_cores import reach

_ELISION = re.compile(
    r"(?:[ldjsmtcv]|qu|lorsqu|puisqu|jusqu|quoiqu|dell|all|nell|sull|dall|un|quest|quell|gl)['’](?=\w)", re.I
)
"""Articles and particles that French and Italian write as one word with the next; not the `n'` of *n'est pas*."""

_LINKED, _PER_LETTER, _LINKED_ELSEWHERE, _PARTICLE_ELSEWHERE, _UNLINKED = 1.0, 0.001, -1.05, -0.3, -0.01
"""What a target word is worth in a pair: if it is linked to the pair's words, and for its letters, as of two words that
are apart the longer one has more meaning; if it is linked to other words, less so for a particle, whose links are often
wrong; if it is linked to none."""


class PairPlaces:
    """Finds the places of pairs."""

    def __init__(self, words: LinkedWords) -> None:
        self.words = words

    def best_run(self, node: MarkNode, parent: MarkNode, free: Sequence[int]) -> range:
        """Neighbouring free target words that belong to a pair: as many as possible that are linked to its words, and
        as few as possible that are linked to others."""
        words = self.words.covered(node)
        if not words or not free:
            return range(0)
        best, value = range(0), 0.0
        for run in _runs(free):
            found, worth = self.best_part(run, words)
            if worth > value:
                best, value = found, worth
        return self.trimmed(node, parent, best) if best else self.nearest(words, free)

    def best_part(self, run: range, words: range) -> tuple[range, float]:
        """The part of a run with the highest sum of the words' values."""
        best, best_sum, start, total = range(0), 0.0, run.start, 0.0
        for index in run:
            origins = self.words.origins[index]
            inside = any(origin in words for origin in origins)
            start_of, end_of = self.words.target_cores[index]
            worth = _LINKED + _PER_LETTER * (end_of - start_of)
            elsewhere = _PARTICLE_ELSEWHERE if self.words.is_one_of(index, self.words.endings) else _LINKED_ELSEWHERE
            total += worth if inside else elsewhere if origins else _UNLINKED
            if total > best_sum:
                best, best_sum = range(start, index + 1), total
            if total <= 0:
                start, total = index + 1, 0.0
        return best, best_sum

    def trimmed(self, node: MarkNode, parent: MarkNode, run: range) -> range:
        """A run without the particles at its ends that stand for no word of the pair, and what is beyond them; not
        where the pair begins or ends with the one around it."""
        words, first, last = self.words.covered(node), run.start, run.stop - 1
        if self.words.has_letters(parent.start, node.start):
            while first < last and self.is_spare(first, words, range(first + 1, last + 1), self.words.prepositions):
                first += 1
        if self.words.has_letters(node.end, parent.end):
            while first < last and self.is_spare(last, words, range(first, last), self.words.endings):
                last -= 1
        return range(first, last + 1)

    def is_spare(self, index: int, words: range, others: range, particles: frozenset[str]) -> bool:
        """Whether a word at the end of a run does not belong to the pair: it is linked to none of the pair's words, or
        it is a particle, and linked only to articles or to words that others of the run are linked to as well."""
        origins = self.words.origins[index].intersection(words)
        if not origins or not self.words.is_one_of(index, particles):
            return not origins
        rest = {origin for other in others for origin in self.words.origins[other]}
        return all(
            self.words.is_article(origin) or (origin in rest and not self.words.is_preposition(origin))
            for origin in origins
        )

    def nearest(self, words: range, free: Sequence[int]) -> range:
        """The free target word to stand for words without a link: an unlinked one in their place; else the longest of
        several that a neighbour of theirs is linked to; else the one in their place."""
        gap = self.words.boundary(words.start, words.stop)
        unlinked = [index for index in free if not self.words.origins[index] and self.words.target_cores[index][1] > 0]
        if not unlinked:
            beside = {words.start - 1, words.stop}
            spare = [index for index in free if self.words.origins[index] <= beside and not self.words.is_alone(index)]
            if spare:
                longest = max(
                    spare, key=lambda index: self.words.target_cores[index][1] - self.words.target_cores[index][0]
                )
                return range(longest, longest + 1)
        near = min(unlinked or free, key=lambda index: abs(index + 0.5 - gap))
        return range(near, near + 1)

    def characters(self, node: MarkNode, run: range, parent: MarkNode) -> tuple[int, int]:
        """The target characters of a run: with the punctuation marks around it that the source has inside the pair."""
        if not run:
            return 0, 0
        words = self.words.lettered(self.words.covered(node))
        first, last = run.start, run.stop - 1
        while first < last and self.words.is_punctuation(first):
            first += 1
        while last > first and self.words.is_punctuation(last):
            last -= 1
        start, end = self.words.target_cores[first][0], self.words.target_cores[last][1]
        elision = _ELISION.match(self.words.target.text, start, end)
        if elision and elision.end() < end and self.is_elided(words, first):
            start = elision.end()
        else:
            before = self.words.source.text[node.start : self.words.source_cores[words.start][0]]
            start -= reach(self.words.target.text[parent.first : start][::-1], before)
        after = self.words.source.text[self.words.source_cores[words.stop - 1][1] : node.end]
        end += reach(self.words.target.text[end : parent.last], after)
        return self.words.around_kept(max(start, parent.first), min(end, parent.last))

    def is_elided(self, words: range, first: int) -> bool:
        """Whether the particle that is one word with the first one of a run is for a word before the pair: one that has
        no word of its own in the translation, or an article or preposition that the source does not have."""
        if words.start not in self.words.origins[first]:
            return False
        start = self.words.target_cores[first][0]
        before = words.start - 1
        is_article = self.words.target.text[start].lower() in "ld"
        return is_article or (before >= 0 and not any(before in origins for origins in self.words.origins))


def _runs(indices: Sequence[int]) -> Iterator[range]:
    """The longest runs of neighbouring indices."""
    start = 0
    for place in range(1, len(indices) + 1):
        if place == len(indices) or indices[place] != indices[place - 1] + 1:
            yield range(indices[start], indices[place - 1] + 1)
            start = place
