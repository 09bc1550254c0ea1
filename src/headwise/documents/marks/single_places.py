"""Places of single marks in a translation: beside the word that they touched, or where they part the same words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from headwise.documents.marks.linked_words import LinkedWords
from headwise.documents.marks.mark_tree import MarkNode
from headwise.documents.marks.word_cores import is_meant


class SinglePlaces:
    """Finds the places of single marks."""

    def __init__(self, words: LinkedWords) -> None:
        self.words = words

    def single(self, node: MarkNode, parent: MarkNode, placed: Sequence[MarkNode]) -> int:
        """The place of a single mark, or of a pair around nothing, outside of the pairs that are placed."""
        place = self.at_edge(node, parent)
        if place is None:
            place = self.beside_word(node)
        if place is None:
            before = bisect_right(self.words.source_words, node.start, key=lambda word: word[1])
            place = self.between_words(self.words.boundary(before, before), node)
        _, place = self.words.around_kept(place, place)
        for pair in placed:
            if pair.first < place < pair.last:
                place = pair.first if node.start <= pair.start else pair.last
        return min(max(place, parent.first), parent.last)

    def at_edge(self, node: MarkNode, parent: MarkNode) -> int | None:
        """The beginning or end of the pair around a mark, if the mark is there in the source; else None."""
        inside = self.words.target.text[parent.first : parent.last]
        before = self.words.source.text[parent.start : node.start]
        if not before.strip():
            return parent.first + min(len(before), len(inside) - len(inside.lstrip()))
        after = self.words.source.text[node.start : parent.end]
        if not after.strip():
            return parent.last - min(len(after), len(inside) - len(inside.rstrip()))
        return None

    def beside_word(self, node: MarkNode) -> int | None:
        """The place at the same side of the translation of the word that a mark touches; None if it touches none.

        What separates words belongs to neither of them.
        """
        if node.opening is not None and node.opening.separates:
            return None
        text, at = self.words.source.text, node.start
        touches_before = at > 0 and not text[at - 1].isspace()
        touches_after = at < len(text) and not text[at].isspace()
        ends_kept = any(span.end == at for span in self.words.source.spans)
        if touches_before == touches_after or (touches_before and not is_meant(text[at - 1]) and not ends_kept):
            return None
        index = (
            bisect_left(self.words.source_words, at, key=lambda word: word[1])
            if touches_before
            else bisect_right(self.words.source_words, at, key=lambda word: word[0]) - 1
        )
        linked = [t for t, origins in enumerate(self.words.origins) if index in origins]
        if not linked:
            return None
        target = linked[-1] if touches_before else linked[0]
        if node.separates and target == (len(self.words.target_words) - 1 if touches_before else 0):
            return None  # it would separate nothing
        word, core = self.words.target_words[target], self.words.target_cores[target]
        if touches_before:
            return core[1]
        return word[0] if at <= self.words.source_words[index][0] < self.words.source_cores[index][0] else core[0]

    def between_words(self, boundary: int, node: MarkNode) -> int:
        """The character offset after this many target words, on the same side of the space as in the source."""
        text, at = self.words.source.text, node.start
        after_space = at > 0 and text[at - 1].isspace()
        if len(self.words.target_words) > 1 and text[:at].strip() and text[at:].strip():
            boundary = min(max(boundary, 1), len(self.words.target_words) - 1)  # between words, as it was
        if boundary >= len(self.words.target_words):
            return len(self.words.target.text.rstrip())
        if after_space or boundary == 0:
            return self.words.target_words[boundary][0]
        return self.words.target_words[boundary - 1][1]
