"""Strings as PO files write them: escaped, and wrapped as the rest of the file is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from headwise.documents.formats.localisation.po_entries import Entry

WIDTH = 79
"""Columns of a line in a file that gettext wraps, with its quotes."""

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ESCAPES |= {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
_SPECIAL = re.compile("|".join(re.escape(character) for character in _ESCAPES))
_WORD = re.compile(r"\S*\s+|\S+")


@dataclass(frozen=True)
class PoLayout:
    """How a file lays its strings out."""

    wraps: bool = True
    """Long strings continue on the next line."""
    breaks: bool = True
    """Every line of a string has a line of the file."""
    line_end: str = "\n"

    def literal(self, text: str, keyword: str) -> str:
        """A string in quotes, over several lines if it needs them."""
        escaped = _SPECIAL.sub(lambda found: _ESCAPES[found[0]], text)
        lines = re.findall(r"(?:[^\\]|\\[^n])*?\\n|(?:[^\\]|\\[^n])+", escaped) if self.breaks else [escaped]
        fits = not self.wraps or _columns(escaped) + len(keyword) + 3 <= WIDTH
        if len(lines) < 2 and fits:
            return f'"{escaped}"'
        if self.wraps:
            lines = [part for line in lines for part in _wrapped(line)]
        return self.line_end.join(['""', *(f'"{line}"' for line in lines)])


def layout(entries: Iterable[Entry], line_end: str) -> PoLayout:
    """The layout that the strings of a file show."""
    wrapped = broken = unbroken = long = 0
    for entry in entries:
        if entry.is_header:
            continue
        for field in entry.fields.values():
            lines = field.lines
            if len(lines) > 1:
                broken += 1
                wrapped += any(not line.endswith("\\n") for line in lines[1:-1])
            else:
                unbroken += "\\n" in lines[0][:-2]
                long += len(lines[0]) > WIDTH and " " in lines[0]
    return PoLayout(wraps=wrapped >= long, breaks=broken >= unbroken, line_end=line_end)


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _wrapped(line: str) -> list[str]:
    """A line in parts that fit between two quotes; spaces stay at the ends of the parts."""
    parts = [""]
    columns = 0
    for word in _WORD.findall(line):
        for piece in _pieces(word):
            width = _columns(piece)
            if parts[-1] and columns + width > WIDTH - 2:
                parts.append("")
                columns = 0
            parts[-1] += piece
            columns += width
    return parts


def _pieces(word: str) -> list[str]:
    """A word, or its characters where a script writes no spaces; never less than an escape."""
    if _columns(word) == len(word):
        return [word]
    return re.findall(r"\\.|[\u1100-\uffef\U00020000-\U0003ffff]|(?:[^\\\u1100-\uffef\U00020000-\U0003ffff])+", word)
