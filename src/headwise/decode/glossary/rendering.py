"""Renderings of terms: whether a translation contains a term as requested, inflected, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwise.decode.glossary.entry import ALTERNATIVES
from headwise.decode.glossary.term_index import FoundTerm
from headwise.decode.glossary.units import Unit, units
from headwise.text.word_forms import folded, is_form_of

USED, INFLECTED, MISSING = "used", "inflected", "missing"


@dataclass(frozen=True)
class TermUse:
    """What became of a term of the source."""

    source: str
    """The term as it is written in the source."""
    requested: tuple[str, ...]
    """Translations, one of which was requested; the source term itself if it must not be translated."""
    status: str
    """`used`, `inflected` or `missing`."""

    def __str__(self) -> str:
        return f"{self.source} -> {ALTERNATIVES.join(self.requested)}"


def term_uses(terms: Sequence[FoundTerm], text: str) -> tuple[TermUse, ...]:
    """What became of the terms of a sentence in this translation."""
    if not terms:
        return ()
    listed = units(text)
    return tuple(TermUse(term.text, term.requested, _status(term, listed)) for term in terms)


def missing_terms(terms: Sequence[FoundTerm], text: str) -> list[FoundTerm]:
    """The terms that the translation of a sentence does not have in any form."""
    listed = units(text)
    return [term for term in terms if _status(term, listed) == MISSING]


def is_rendered(term: FoundTerm, text: str) -> bool:
    """Whether a translation has the term, perhaps inflected."""
    return _status(term, units(text)) != MISSING


def _status(term: FoundTerm, listed: Sequence[Unit]) -> str:
    words = [unit.text for unit in listed]
    requested = [[unit.text for unit in units(target)] for target in term.requested]
    if any(_contains(words, target, term) for target in requested):
        return USED
    cased = term.entry.case_sensitive
    if not term.entry.keeps and any(_contains_inflected(words, target, cased) for target in requested):
        return INFLECTED
    return MISSING


def _contains(words: Sequence[str], target: Sequence[str], term: FoundTerm) -> bool:
    if term.entry.keeps:
        return _is_part(words, target)
    if term.entry.case_sensitive:
        first = next((place for place, word in enumerate(words) if word[0].isalnum()), 0)
        capital = [target[0][:1].upper() + target[0][1:], *target[1:]]
        return _is_part(words, target) or list(words[first : first + len(target)]) == capital
    return _is_part([folded(word) for word in words], [folded(word) for word in target])


def _is_part(words: Sequence[str], target: Sequence[str]) -> bool:
    size = len(target)
    return any(
        words[place] == target[0] and list(words[place : place + size]) == list(target)
        for place in range(len(words) - size + 1)
    )


def _contains_inflected(words: Sequence[str], target: Sequence[str], cased: bool) -> bool:
    size = len(target)
    return any(
        all(
            is_form_of(word, wanted) and not (cased and _differ_in_case(word, wanted))
            for word, wanted in zip(words[place : place + size], target, strict=True)
        )
        for place in range(len(words) - size + 1)
    )


def _differ_in_case(word: str, other: str) -> bool:
    return any(one.isupper() != two.isupper() for one, two in zip(word, other, strict=False))
