"""Places of pairs around a part of a word: the 2 of H2O, the [1] behind a word, the st of 1st."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headwise.documents.marks.linked_words import LinkedWords
from headwise.documents.marks.mark_tree import MarkNode
from headwise.text.numbers import ascii_digits


class WordParts:
    """Finds the same part in the translation; most words have no such part there, and their pairs go around all."""

    def __init__(self, words: LinkedWords) -> None:
        self.words = words

    def place(self, node: MarkNode, free: Sequence[int]) -> tuple[int, int, int] | None:
        """The target word with the part, one of `free`, and the characters of the part; None if there is none."""
        covered = self.words.covered(node)
        if len(covered) != 1:
            return None
        index = covered.start
        start, end = self.words.source_words[index]
        core = self.words.source_cores[index]
        if not (start <= node.start and node.end <= end) or (node.start <= core[0] and core[1] <= node.end):
            return None
        for target in self.candidates(index, free):
            found = self.within(node, core, target)
            if found is not None:
                return target, *found
        return None

    def candidates(self, index: int, free: Sequence[int]) -> Iterator[int]:
        """Target words that may be this source word: those that are equal to it, then those that are linked to it."""
        core = self.source(*self.words.source_cores[index])
        yield from (target for target in free if self.target(*self.words.target_cores[target]) == core)
        yield from (target for target in free if index in self.words.origins[target])

    def within(self, node: MarkNode, core: tuple[int, int], index: int) -> tuple[int, int] | None:
        """The characters of a target word that the part of a source word with this core became."""
        part, word = self.source(node.start, node.end), self.source(*core)
        start, end = self.words.target_words[index]
        text = self.target(start, end)
        has_letters = any(map(str.isalpha, part))
        if has_letters:
            if word in text:
                first = start + text.index(word) + node.start - core[0]
                return first, first + len(part)
            before = self.source(core[0], node.start)
            if node.end < core[1] or not before.isdecimal():
                return None
            first, last = self.words.target_cores[index]  # 1st: 1er, but 1. or premier
            return (first + len(before), last) if self.target(first, last).startswith(before) else (last, last)
        whole_start, whole_end = self.words.source_words[self.words.covered(node).start]
        whole = self.source(whole_start, whole_end)
        if whole.count(part) != text.count(part):
            return None
        first = start + _place(text, part, whole.count(part, 0, node.start - whole_start))
        return first, first + len(part)

    def source(self, start: int, end: int) -> str:
        return ascii_digits(self.words.source.text[start:end])

    def target(self, start: int, end: int) -> str:
        return ascii_digits(self.words.target.text[start:end])


def _place(text: str, part: str, number: int) -> int:
    """Where a part occurs for the time with this number, counted from 0."""
    place = text.index(part)
    for _ in range(number):
        place = text.index(part, place + len(part))
    return place
