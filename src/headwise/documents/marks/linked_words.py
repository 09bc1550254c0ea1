"""The words of a source and its translation with their links: what is asked of them to place a mark."""

from __future__ import annotations

from collections.abc import Sequence

from headwise.documents.flat_text import FlatText
from headwise.documents.marks.mark_tree import MarkNode
from headwise.documents.marks.particles import ARTICLES, ENDINGS, PREPOSITIONS
from headwise.documents.marks.word_cores import covered, is_meant, word_core

Links = Sequence[tuple[int, int]]
"""Pairs of a source word and a target word, both counted from 0 between spaces."""


class LinkedWords:
    """Words of both sides, their letters, and the source words that each target word is linked to."""

    def __init__(self, source: FlatText, target: FlatText, links: Links, languages: tuple[str, str]) -> None:
        self.source, self.target = source, target
        nothing: frozenset[str] = frozenset()
        self.source_articles, articles = (ARTICLES.get(language, nothing) for language in languages)
        self.source_prepositions, self.prepositions = (PREPOSITIONS.get(language, nothing) for language in languages)
        self.endings = articles | self.prepositions | ENDINGS.get(languages[1], nothing)
        self.source_words, self.target_words = source.words, target.words
        self.source_cores = [word_core(source, word) for word in self.source_words]
        self.target_cores = [word_core(target, word) for word in self.target_words]
        self.origins: list[set[int]] = [set() for _ in self.target_words]
        for s, t in links:
            if s < len(self.source_words) and t < len(self.target_words):
                self.origins[t].add(s)

    def covered(self, node: MarkNode) -> range:
        """The source words whose letters a node encloses, at least in part."""
        return covered(self.source_cores, node.start, node.end)

    def has_letters(self, start: int, end: int) -> bool:
        return any(map(is_meant, self.source.text[start:end]))

    def is_one_of(self, index: int, particles: frozenset[str]) -> bool:
        start, end = self.target_cores[index]
        return self.target.text[start:end].lower() in particles and not self.is_kept(index)

    def is_article(self, index: int) -> bool:
        start, end = self.source_cores[index]
        return self.source.text[start:end].lower() in self.source_articles

    def is_preposition(self, index: int) -> bool:
        start, end = self.source_cores[index]
        return self.source.text[start:end].lower() in self.source_prepositions

    def is_kept(self, index: int) -> bool:
        start, end = self.target_words[index]
        return any(span.start < end and start < span.end for span in self.target.spans)

    def around_kept(self, start: int, end: int) -> tuple[int, int]:
        """Two places in the translation, moved apart if they are within a kept part: no mark may split one."""
        for span in self.target.spans:
            start = span.start if span.start < start < span.end else start
            end = span.end if span.start < end < span.end else end
        return start, end

    def is_alone(self, index: int) -> bool:
        """Whether no other target word is linked to the same source words."""
        return not any(index != other and self.origins[index] & origins for other, origins in enumerate(self.origins))

    def lettered(self, words: range) -> range:
        """Source words without punctuation marks that stand alone at their ends, if there are others."""
        spelt = [
            index
            for index in words
            if any(map(is_meant, self.source.text[slice(*self.source_words[index])]))
            or any(
                span.start < self.source_words[index][1] and self.source_words[index][0] < span.end
                for span in self.source.spans
            )
        ]
        return range(spelt[0], spelt[-1] + 1) if spelt else words

    def is_punctuation(self, index: int) -> bool:
        start, end = self.target_cores[index]
        return not any(map(is_meant, self.target.text[start:end])) and not self.is_kept(index)

    def boundary(self, before: int, after: int) -> int:
        """The number of target words that precede the place between source words, so that the fewest links cross it.

        `before` source words precede it, and those from `after` on follow. Of equals, the one in proportion is taken.
        """
        crossing = sum(1 for origins in self.origins for origin in origins if origin < before)
        expected = len(self.target_words) * (before + after) / 2 / max(1, len(self.source_words))
        best = (crossing, abs(expected), 0)
        for index, origins in enumerate(self.origins):
            crossing += sum(origin >= after for origin in origins) - sum(origin < before for origin in origins)
            best = min(best, (crossing, abs(index + 1 - expected), index + 1))
        return best[2]
