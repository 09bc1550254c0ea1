"""Replacements in XML that may lie inside each other: a paragraph whose picture holds a text box of paragraphs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from headwise.documents.xml_source import Edit, XmlSource


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """Source of the original file, from byte `start` to before byte `end`; replacements inside of it apply."""

    start: int
    end: int


Piece = str | SourceSpan
"""A piece of XML source: new text, or a part of the original."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Bytes from `start` to before `end` replaced by pieces."""

    start: int
    end: int
    pieces: tuple[Piece, ...]


def replaced(source: XmlSource, replacements: Iterable[Replacement]) -> bytes:
    """The file with all replacements, those inside of others included."""
    nested = _Nested(source, replacements)
    return source.edited(nested.edits(0, len(source.data)))


class _Nested:
    def __init__(self, source: XmlSource, replacements: Iterable[Replacement]) -> None:
        self.source = source
        self.sorted = sorted(replacements, key=lambda each: (each.start, -each.end))
        self.keys = [(each.start, -each.end) for each in self.sorted]

    def edits(self, start: int, end: int) -> list[Edit]:
        """Edits of the outermost replacements between two positions."""
        found: list[Edit] = []
        index = bisect_left(self.keys, (start, -end))  # past those that begin here and end later
        while index < len(self.sorted) and self.sorted[index].end <= end:
            outer = self.sorted[index]
            text = "".join(piece if isinstance(piece, str) else self.render(piece) for piece in outer.pieces)
            found.append(Edit(outer.start, outer.end, text))
            index = bisect_left(self.keys, (max(outer.end, outer.start + 1), -end), index)
        return found

    def render(self, span: SourceSpan) -> str:
        pieces: list[str] = []
        position = span.start
        for edit in self.edits(span.start, span.end):
            pieces += [self.source.source(position, edit.start), edit.source]
            position = edit.end
        return "".join([*pieces, self.source.source(position, span.end)])
