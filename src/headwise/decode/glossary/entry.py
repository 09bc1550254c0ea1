"""Entries of a glossary: a term and its requested translations, in one direction or in several languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwise.data.read.languages import best
from headwise.text.language.codes import Direction, short_code

SOURCE, TARGET = "source", "target"
"""Columns of a glossary that names no languages: it applies to every direction."""
OPEN_END = "*"
"""At the end of a source term: its last word may have any ending."""
ALTERNATIVES = "|"
"""Separates translations, each of which will do."""


@dataclass(frozen=True)
class GlossaryEntry:
    """A term of the source language and what is requested for it."""

    source: str
    targets: tuple[str, ...]
    """Translations, each of which will do; none: the term is not translated."""
    case_sensitive: bool = False
    place: str = ""
    """File and line that it comes from."""

    @property
    def keeps(self) -> bool:
        """Whether the term stays as it is in the source."""
        return not self.targets


@dataclass(frozen=True)
class GlossaryConcept:
    """A row of a glossary: the terms of each language."""

    terms: Mapping[str, tuple[str, ...]]
    """Terms by language code, or those of `SOURCE` and `TARGET`."""
    case_sensitive: bool = False
    keeps: bool = False
    """Whether it is not translated."""
    place: str = ""

    def entries(self, direction: Direction) -> list[GlossaryEntry]:
        """One entry for each term of the direction's source language."""
        sources = self._terms(direction[0], SOURCE)
        targets = () if self.keeps else self._terms(direction[1], TARGET)
        if not targets and not self.keeps:
            return []
        return [GlossaryEntry(source, targets, self.case_sensitive, self.place) for source in sources]

    def _terms(self, language: str, column: str) -> tuple[str, ...]:
        if column in self.terms:
            return self.terms[column]
        codes = list(self.terms)
        found = best(language, codes)
        if found is None:  # a model's eng_Latn is the file's en-GB
            found = best(short_code(language), [short_code(code) for code in codes])
        return () if found is None else self.terms[codes[found]]
