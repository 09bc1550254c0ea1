"""Where a translation renders a source term, by the model's attention: the places at which a search can force it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from headwise.decode.glossary.units import Unit, units
from headwise.text.tokenizer import WORD_START

_LOOK_AHEAD = 8
"""Characters of a text that a tokenizer may have changed or left out before a piece is found again."""

Span = tuple[int, int]


def piece_spans(text: str, pieces: Sequence[str]) -> list[Span]:
    """The place of each piece of a tokenized text; about right where the tokenizer changes characters."""
    spans: list[Span] = []
    at = 0
    for piece in pieces:
        bare = piece.replace(WORD_START, " ").strip()
        while at < len(text) and text[at].isspace():
            at += 1
        found = text.find(bare, at, at + len(bare) + _LOOK_AHEAD)
        start = min(at if found < 0 else found, len(text))
        at = min(start + len(bare), len(text))
        spans.append((start, at))
    return spans


def overlapping(spans: Sequence[Span], start: int, end: int) -> list[int]:
    """The indices of the spans that have a character between `start` and `end`."""
    return [index for index, (begin, stop) in enumerate(spans) if begin < end and stop > start]


def places(text: str, spans: Sequence[Span], weights: NDArray[Any], after: int, count: int, long: bool) -> list[Span]:
    """The words of a translation, from `after` on, that most probably render a term; likeliest first.

    `weights` [T] is how much each piece attends to the term. A `long` term, of several words, begins before the word
    that attends most if the words before that one attend to it, too.
    """
    listed = [unit for unit in units(text) if unit.start >= after and unit.is_word]
    if not listed:
        end = _end_of(text, after)
        return [(end, end)]
    scores = [_score(unit, spans, weights) for unit in listed]
    order = sorted(range(len(listed)), key=lambda index: -scores[index])
    first = order[0]
    while long and first and scores[first - 1] >= scores[order[0]] / 2:
        first -= 1
    by_start = {listed[first].start: listed[order[0]].end}
    for index in order:
        by_start.setdefault(listed[index].start, listed[index].end)
    return list(by_start.items())[:count]


def _score(unit: Unit, spans: Sequence[Span], weights: NDArray[Any]) -> float:
    return max((float(weights[index]) for index in overlapping(spans, unit.start, unit.end)), default=0.0)


def _end_of(text: str, after: int) -> int:
    """The end of a text, before its final punctuation."""
    rest = text[after:]
    return after + len(rest.rstrip(".!?…。！？।»”\"' \u00a0"))
