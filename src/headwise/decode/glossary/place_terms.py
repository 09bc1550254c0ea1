"""Translations that contain the terms of a glossary, for any model and every engine.

A sentence is translated as usual. If no candidate has all terms, a model that was trained with annotated terms
translates the sentence with its terms annotated. Where some are missing still, it is searched again: the model's
attention shows where the translation renders the source term; what stands before that place and the requested term are
forced, and the search continues after them. The best of a few such places is taken. Where the model makes another word
of the term, or loses a number or a kept word, the term is put in the place of the word that renders it, and the rest
stays. With several terms, this is done from left to right. Engines need nothing for this but searches with prefixes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from headwise.decode.glossary.rendering import is_rendered, missing_terms, term_uses
from headwise.decode.glossary.term_index import FoundTerm
from headwise.decode.glossary.term_places import overlapping, piece_spans, places
from headwise.decode.glossary.units import units
from headwise.decode.translation import Translation

PLACES = 2
"""Places of a translation at which a term is tried."""
MOST_ALTERNATIVES = 3
"""Requested translations of a term that are tried."""

_OPENING = "«“„\"'(¿¡ \u00a0"

Candidates = list[Translation]


@dataclass(frozen=True)
class TermSentence:
    """A sentence with terms."""

    text: str
    source: list[int]
    """Encoder input."""
    terms: tuple[FoundTerm, ...]
    fixed: int = 0
    """Characters of the translation that a prefix forces."""


class TermSearch(Protocol):
    """What the placement of terms needs from a translator, for one direction."""

    def annotated(self, sentences: Sequence[TermSentence]) -> list[Candidates]:
        """Translations of sentences in whose source the terms are annotated; none if the model does not know that."""
        ...

    def continued(self, sources: list[list[int]], beginnings: list[str]) -> list[Candidates]:
        """Translations of sentences, given as encoder input, that begin with these texts; none if one is too long."""
        ...

    def attention(self, sources: list[list[int]], texts: list[str]) -> list[tuple[list[str], list[str], Any]]:
        """Pieces of each source, pieces of its translation, and cross-attention [T, S] between them."""
        ...

    def rewritten(self, source: str, text: str, found: Translation) -> Translation:
        """A translation with another text."""
        ...

    def fault(self, source: str, found: Translation) -> tuple[Any, ...]:
        """What else is wrong with a translation; smaller is better."""
        ...


def place_terms(sentences: Sequence[TermSentence], found: Sequence[Candidates], search: TermSearch) -> list[Candidates]:
    """The candidates of each sentence, with one first that has as many of its terms as possible.

    All candidates say which terms they have.
    """
    drafts = [_Draft(sentence, list(candidates)) for sentence, candidates in zip(sentences, found, strict=True)]
    open_drafts = [draft for draft in drafts if draft.sentence.terms]
    for draft in open_drafts:
        draft.candidates.sort(key=partial(_rank, draft.sentence, search=search))
    _annotate([draft for draft in open_drafts if draft.missing], search)
    while open_drafts := [draft for draft in open_drafts if draft.missing]:
        attempts = _attempts(open_drafts, search)
        sources = [attempt.draft.sentence.source for attempt in attempts]
        made = search.continued(sources, [attempt.beginning for attempt in attempts])
        for draft in open_drafts:
            tried = [pair for pair in zip(attempts, made, strict=True) if pair[0].draft is draft]
            draft.take_best(tried, search)
        open_drafts = [draft for draft in open_drafts if not draft.given_up]
    return [draft.reported() for draft in drafts]


@dataclass(eq=False)
class _Draft:
    """The translation of a sentence so far."""

    sentence: TermSentence
    candidates: Candidates
    given_up: bool = False
    """What cannot be placed now cannot be placed later."""

    def __post_init__(self) -> None:
        self.fixed = self.sentence.fixed
        """Characters that are final, up to the last term that was placed."""

    @property
    def text(self) -> str:
        return self.candidates[0].text

    @property
    def missing(self) -> list[FoundTerm]:
        return missing_terms(self.sentence.terms, self.text)

    def take_best(self, tried: Sequence[tuple[_Attempt, Candidates]], search: TermSearch) -> None:
        """Put the best translation of all attempts first."""
        placed = [
            ((*_rank(self.sentence, each, search), -each.score), attempt, each)
            for attempt, candidates in tried
            for each in candidates
            if is_rendered(attempt.term, each.text)
        ]
        text, fault = self.sentence.text, search.fault(self.sentence.text, self.candidates[0])
        if placed:
            _, attempt, best = min(placed, key=lambda each: each[0])
        if not placed or search.fault(text, best) > fault:
            # As a last resort, the term replaces the word at the likeliest place.
            replaced = search.rewritten(text, tried[0][0].beginning + self.text[tried[0][0].end :], self.candidates[0])
            if is_rendered(tried[0][0].term, replaced.text) and (not placed or search.fault(text, replaced) <= fault):
                attempt, best = tried[0][0], replaced
            elif not placed:
                self.given_up = True
                return
        others = [each for each in self.candidates if each.text != best.text]
        self.candidates = [best, *others][: len(self.candidates)]
        self.fixed = len(attempt.beginning)

    def reported(self) -> Candidates:
        terms = self.sentence.terms
        return [replace(each, terms=term_uses(terms, each.text)) for each in self.candidates]


@dataclass(frozen=True)
class _Attempt:
    """The beginning of another translation, which ends with a term."""

    draft: _Draft
    term: FoundTerm
    beginning: str
    end: int
    """Where the draft goes on after what the term replaces."""


def _annotate(drafts: Sequence[_Draft], search: TermSearch) -> None:
    """Put first what the model makes of the annotated sentence, where that has more of its terms."""
    for draft, made in zip(drafts, search.annotated([draft.sentence for draft in drafts]), strict=True):
        ranked = partial(_rank, draft.sentence, search=search)
        better = [each for each in made if ranked(each) < ranked(draft.candidates[0])]
        if better:
            best = min(better, key=ranked)
            best = search.rewritten(draft.sentence.text, best.text, best)
            draft.candidates = [best, *draft.candidates][: len(draft.candidates)]


def _rank(sentence: TermSentence, each: Translation, search: TermSearch) -> tuple[Any, ...]:
    """Order of translations: most terms first, then complete ones, then those with the fewest faults."""
    missing = len(missing_terms(sentence.terms, each.text))
    return missing, not each.complete, search.fault(sentence.text, each)


def _attempts(drafts: Sequence[_Draft], search: TermSearch) -> list[_Attempt]:
    """Some attempts for each translation, all with the missing term that it renders first."""
    attended = search.attention([draft.sentence.source for draft in drafts], [draft.text for draft in drafts])
    attempts: dict[_Attempt, None] = {}
    for draft, (source_pieces, pieces, weights) in zip(drafts, attended, strict=True):
        source_spans = piece_spans(draft.sentence.text, source_pieces)
        spans = piece_spans(draft.text, pieces)
        tried = []
        for term in draft.missing:
            on_term = weights[:, overlapping(source_spans, term.start, term.end)].sum(1)
            long = len(units(term.text)) > 1
            tried.append((places(draft.text, spans, on_term, draft.fixed, PLACES, long), term))
        found, term = min(tried, key=lambda each: each[0][0])
        for start, end in found:
            for target in term.requested[:MOST_ALTERNATIVES]:
                attempts[_Attempt(draft, term, _begun(draft.text, start, target, term), end)] = None
    return list(attempts)


def _begun(text: str, offset: int, target: str, term: FoundTerm) -> str:
    """The beginning of a translation with a term at its end, with a capital where the translation begins with one."""
    before = text[:offset]
    capital = text.lstrip(_OPENING)[:1].isupper() and not any(each.isalpha() for each in before)
    if capital and not (term.entry.keeps or term.entry.case_sensitive):
        target = target[:1].upper() + target[1:]
    if before and not before[-1].isspace() and units(before)[-1].is_word:
        before += " "  # at the end of the text
    return before + target
