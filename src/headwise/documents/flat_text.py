"""A marked text as one string for the model, with the places of marks and kept parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from headwise.documents.marked_text import Kept, Mark, MarkedText

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class KeptSpan:
    """A kept part, or what stands for it, in a string."""

    start: int
    end: int
    kept: Kept


@dataclass(frozen=True)
class FlatText:
    """A string, and what lies between its characters."""

    text: str
    marks: tuple[tuple[int, Mark], ...] = ()
    """Marks with their offsets in the string, in order."""
    spans: tuple[KeptSpan, ...] = ()
    """Kept parts, in order."""

    @property
    def words(self) -> list[tuple[int, int]]:
        """The words between white space, as word alignments count them: their beginnings and ends."""
        return [match.span() for match in _WORD.finditer(self.text)]


def flatten(text: MarkedText, stand_in: Callable[[int, Kept], str]) -> FlatText:
    """The text as the model sees it; `stand_in` gives the string for each kept part, which is counted from 0."""
    string, marks, spans = "", list[tuple[int, Mark]](), list[KeptSpan]()
    for part in text.parts:
        if isinstance(part, str):
            string += part
        elif isinstance(part, Mark):
            marks.append((len(string), part))
            string += " " if part.separates else ""
        else:
            seen = stand_in(len(spans), part)
            spans.append(KeptSpan(len(string), len(string) + len(seen), part))
            string += seen
    return FlatText(string, tuple(marks), tuple(spans))


def locate(found: str, source: FlatText) -> tuple[KeptSpan, ...] | None:
    """The kept parts of a source in its translation; None unless each of their strings occurs as often as before."""
    wanted: dict[str, list[Kept]] = {}
    for span in source.spans:
        wanted.setdefault(source.text[span.start : span.end], []).append(span.kept)
    taken = [False] * len(found)
    spans: list[KeptSpan] = []
    for string in sorted(wanted, key=len, reverse=True):
        places = [
            match.span() for match in re.finditer(_bounded(string), found) if not any(taken[slice(*match.span())])
        ]
        if len(places) != len(wanted[string]):
            return None
        for (start, end), kept in zip(places, wanted[string], strict=True):
            taken[start:end] = [True] * (end - start)
            spans.append(KeptSpan(start, end, kept))
    return tuple(sorted(spans, key=lambda span: span.start))


def _bounded(string: str) -> str:
    """A regular expression for a string that is not part of a longer word or number."""
    before = r"(?<!\w)" if re.match(r"\w", string) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", string) else ""
    return before + re.escape(string) + after
