"""The second search of a repair: a wider one, of any sentences, by the translator that made the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from headwise.decode.alignment import Alignment
from headwise.decode.framing import DirectionFrame, Framer
from headwise.decode.repair.kept_words import KeptWords
from headwise.decode.repair.length_guard import is_dense
from headwise.decode.sentence_search import SentenceSearch
from headwise.decode.translation import TranslateOptions, Translation
from headwise.text.language.codes import Direction, short_code

Candidates = list[Translation]

WIDER = 8
"""Width of a second search at least, all candidates of which are tried."""


class SearchIds(Protocol):
    """A search for the candidates of sentences that are given as ids."""

    def __call__(
        self, sources: list[list[int]], prefixes: list[list[int]], *, options: TranslateOptions
    ) -> list[Candidates]: ...


@dataclass(frozen=True)
class SecondSearch:
    """What a repair needs from a translator, for one direction."""

    search: Callable[[list[str], list[bool]], list[Candidates]]
    """Sentences, and which of them begin a text, so that the prefix is due -> several candidates for each, or none for
    a sentence that has become too long for the model."""
    pieces: Callable[[str], list[str]]
    """The tokens of a translation."""
    align: Callable[[str, str], Alignment]
    """A sentence and its translation -> the word alignment; empty if none was requested."""
    direction: Direction
    """Short codes of the languages."""
    prefix: str = ""
    """The beginning of the translation of each text."""
    kept: Callable[[str], list[str]] = lambda text: []
    """The words of a sentence that its translation must have as they are."""


def second_search(
    search_ids: SearchIds,
    sentences: SentenceSearch,
    framer: Framer,
    frame: DirectionFrame,
    kept_words: KeptWords,
    prefix: tuple[str, list[int]],
    options: TranslateOptions,
) -> SecondSearch:
    """The second search of a translator; `prefix` is given as text and as ids."""
    width = max(WIDER, options.width)
    wider = replace(options, beam=width, candidates=width)

    def search(texts: list[str], begins: list[bool]) -> list[Candidates]:
        sources = [framer.source_ids(text, frame) for text in texts]
        fitting = [place for place, ids in enumerate(sources) if len(ids) <= framer.positions]
        prefixes = [prefix[1] if begins[place] else frame.start for place in fitting]
        found = search_ids([sources[place] for place in fitting], prefixes, options=wider) if fitting else []
        by_place = dict(zip(fitting, found, strict=True))
        return [by_place.get(place, []) for place in range(len(texts))]

    def align(text: str, translation: str) -> Alignment:
        if not options.alignments:
            return []
        return sentences.align_texts([framer.source_ids(text, frame)], [translation], frame)[0]

    def pieces(text: str) -> list[str]:
        return framer.tokenizer.pieces(framer.tokenizer.encode_target(text))

    source, target = map(short_code, frame.direction)

    def kept(text: str) -> list[str]:
        return kept_words.of(text, scripts=not is_dense(source))

    return SecondSearch(search, pieces, align, (source, target), prefix[0], kept)
