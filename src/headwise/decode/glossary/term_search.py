"""The searches that place terms, by the translator that made the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwise.decode.framing import DirectionFrame
from headwise.decode.glossary.entry import GlossaryEntry
from headwise.decode.glossary.place_terms import TermSentence, place_terms
from headwise.decode.glossary.term_index import FoundTerm, TermIndex
from headwise.decode.repair.repair import SourceSentence, find_fault
from headwise.decode.repair.second_search import Candidates, SearchIds, SecondSearch
from headwise.decode.sentence_search import SentenceSearch
from headwise.decode.text_parts import TextPart
from headwise.decode.translation import TranslateOptions, Translation
from headwise.text.numbers import missing_runs
from headwise.text.term_marks import MARK, annotated

WIDTH = 2
"""Beam of a search after a forced term. A wider one is slower and, measured, hardly better."""
TOGETHER = 64
"""Sentences whose attention is computed together."""


@dataclass(frozen=True)
class EngineTermSearch:
    """Searches with forced beginnings, in one direction."""

    search_ids: SearchIds
    sentences: SentenceSearch
    frame: DirectionFrame
    second: SecondSearch
    """What the repair of translations knows about this direction."""
    options: TranslateOptions
    annotates: bool = False
    """Whether the model was trained on sources with annotated terms."""

    def annotated(self, sentences: Sequence[TermSentence]) -> list[Candidates]:
        """Translations of sentences whose terms are annotated with the first translation that is requested."""
        found: list[Candidates] = [[] for _ in sentences]
        if not self.annotates:
            return found
        sources, rows = list[list[int]](), list[int]()
        for row, sentence in enumerate(sentences):
            wanted = [(term.end, term.requested[0]) for term in sentence.terms]
            ids = self.sentences.tokenizer.encode(annotated(sentence.text, wanted))
            source = [*self.frame.before, *ids, *self.frame.after]
            if not sentence.fixed and len(source) < self.sentences.positions:
                sources.append(source)
                rows.append(row)
        starts = [self.frame.start] * len(sources)
        for row, candidates in zip(rows, self.search_ids(sources, starts, options=self.options), strict=True):
            found[row] = [each for each in candidates if MARK not in each.text or MARK in sentences[row].text]
        return found

    def continued(self, sources: list[list[int]], beginnings: list[str]) -> list[Candidates]:
        """Translations that begin with these texts."""
        tokenizer = self.sentences.tokenizer
        prefixes = [[*self.frame.start, *ids] for ids in tokenizer.encode_target_batch(beginnings)]
        fitting = [
            place
            for place, prefix in enumerate(prefixes)
            if len(prefix) < self.sentences.positions - 1 and tokenizer.eos not in prefix
        ]
        width = min(WIDTH, self.options.width)
        narrow = replace(self.options, beam=width, candidates=width)
        given = [sources[place] for place in fitting], [prefixes[place] for place in fitting]
        found = dict(zip(fitting, self.search_ids(*given, options=narrow), strict=True)) if fitting else {}
        return [found.get(place, []) for place in range(len(sources))]

    def attention(self, sources: list[list[int]], texts: list[str]) -> list[tuple[list[str], list[str], Any]]:
        """Pieces of the sources and of their translations, and the attention between them."""
        tokenizer, frame = self.sentences.tokenizer, self.frame
        targets = tokenizer.encode_target_batch(texts)
        found = list[tuple[list[str], list[str], Any]]()
        for first in range(0, len(sources), TOGETHER):
            some, made = sources[first : first + TOGETHER], targets[first : first + TOGETHER]
            weights = self.sentences.attention(some, [[*frame.start, *ids] for ids in made], frame.sos)
            for source, ids, each in zip(some, made, weights, strict=True):
                begin, end = len(frame.before), len(source) - len(frame.after)
                rows = each[len(frame.start) : len(frame.start) + len(ids), begin:end]
                found.append((tokenizer.pieces(source[begin:end]), tokenizer.pieces(ids), rows))
        return found

    def rewritten(self, source: str, text: str, found: Translation) -> Translation:
        """A translation with another text, and the tokens and alignment of that."""
        return replace(found, text=text, tokens=self.second.pieces(text), alignment=self.second.align(source, text))

    def fault(self, source: str, found: Translation) -> tuple[Any, ...]:
        """What a repair would find wrong with a translation."""
        sentence = SourceSentence(source, True, self.second.kept(source))
        return find_fault(sentence, found, self.second) if self.options.repair else ()


def use_terms(
    texts: Sequence[Sequence[TextPart]], found: list[Candidates], index: TermIndex, search: EngineTermSearch
) -> list[Candidates]:
    """The candidates of the parts of all texts, one after the other, with the terms of the glossary."""
    sentences, prefix = list[TermSentence](), search.second.prefix
    for parts in texts:
        for number, part in enumerate(parts):
            terms = _distinct(index, part.text)
            sentences.append(TermSentence(part.text, part.source, terms, 0 if number else len(prefix)))
    placed = place_terms(sentences, found, search)
    return [
        _numbers_checked(sentence, before[0], candidates[: search.options.candidates], search)
        for sentence, before, candidates in zip(sentences, found, placed, strict=True)
    ]


def _numbers_checked(
    sentence: TermSentence, before: Translation, candidates: Candidates, search: EngineTermSearch
) -> Candidates:
    """The candidates; where the first is a new one, with the numbers that it lacks."""
    best, *others = candidates
    if best.text == before.text or not search.options.repair:
        return candidates
    missing = missing_runs(sentence.text, best.text, search.second.direction[1])
    return [replace(best, missing_numbers=tuple(missing)), *others]


def _distinct(index: TermIndex, text: str) -> tuple[FoundTerm, ...]:
    """The terms of a sentence, each once: one rendering is enough, the next may be a pronoun."""
    found: dict[GlossaryEntry, FoundTerm] = {}
    for term in index.find(text):
        found.setdefault(term.entry, term)
    return tuple(found.values())
