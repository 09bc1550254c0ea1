"""Spaces around single marks, such as pictures, that stand apart from words in the source and land beside one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby

from headwise.documents.flat_text import FlatText
from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part

_OPENERS, _CLOSERS = frozenset(("Ps", "Pi")), frozenset(("Pe", "Pf", "Po"))


def with_spaces(projected: MarkedText, source: FlatText) -> MarkedText:
    """The projected text with a space between a mark and a word where there was one, or the edge of a phrase."""
    apart = {mark.number for place, mark in source.marks if _stands_apart(source.text, place, mark)}
    return MarkedText(_spaced(projected.parts, apart)) if apart else projected


def _stands_apart(text: str, place: int, mark: Mark) -> bool:
    """Whether a mark has no word of the source directly beside it."""
    if mark.kind is not MarkKind.SINGLE or mark.separates:
        return False
    before, after = text[:place][-1:], text[place : place + 1]
    return _is_gap(before, _OPENERS) and _is_gap(after, _CLOSERS)


def _is_gap(character: str, marks: frozenset[str]) -> bool:
    return not character.strip() or unicodedata.category(character) in marks


def _spaced(parts: Sequence[Part], apart: set[int]) -> Iterator[Part]:
    runs = [(is_marks, list(run)) for is_marks, run in groupby(parts, lambda part: isinstance(part, Mark))]
    for number, (is_marks, run) in enumerate(runs):
        alone = [place for place, part in enumerate(run) if isinstance(part, Mark) and part.number in apart]
        if not is_marks or not alone or any(isinstance(part, Mark) and part.separates for part in run):
            yield from run
            continue
        before = _text(runs[number - 1][1][-1])[-1:] if number else ""
        after = _text(runs[number + 1][1][0])[:1] if number + 1 < len(runs) else ""
        yield from run[: alone[0]]
        yield "" if _is_gap(before, _OPENERS) or _is_wide(before) else " "
        yield from run[alone[0] : alone[-1] + 1]
        yield "" if _is_gap(after, _CLOSERS) or _is_wide(after) else " "
        yield from run[alone[-1] + 1 :]


def _text(part: Part) -> str:
    return part.text if isinstance(part, Kept) else part if isinstance(part, str) else ""


def _is_wide(character: str) -> bool:
    """Whether a character is of a script that has no spaces between words."""
    return unicodedata.east_asian_width(character) in "WF"
