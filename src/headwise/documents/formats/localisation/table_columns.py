"""CSV and TSV files: the cells of named columns are texts; quoting, delimiters and line ends stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.localisation.message_lines import message
from headwise.documents.formats.localisation.slots import Slot, SlotDocument, in_place
from headwise.documents.formats.localisation.source_text import SourceText
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError

Cell = tuple[int, int]
"""Start and end of a cell, with its quotes."""


def read_csv(data: bytes, options: ReadOptions) -> Document:
    """Read a table whose cells are separated by commas, semicolons or tabs. Its first row holds headings."""
    source = SourceText(data)
    text = source.text
    delimiter = _delimiter(text)
    rows = list(_rows(text, delimiter))
    if not rows:
        raise DataError("the table is empty")
    headings = [_value(text[start:end]).strip() for start, end in rows[0]]
    columns, by_heading = _columns(options.columns, headings)
    slots = (
        _slot(text, *row[column], delimiter)
        for row in rows[1 if by_heading else 0 :]
        for column in columns
        if column < len(row)
    )
    return SlotDocument(source, slots)


def _delimiter(text: str) -> str:
    """The delimiter that the first line, outside of quotes, has most often; a comma if it has none."""
    line = re.sub(r'"[^"]*"', "", text[:65536]).partition("\n")[0]
    return max("\t;,", key=lambda each: (line.count(each), each == ","))


def _columns(wanted: Sequence[str], headings: list[str]) -> tuple[list[int], bool]:
    """The columns to translate, from 0, and whether the first row holds headings: it does if one was named."""
    listed = ", ".join(repr(heading) for heading in headings[:20])
    if not wanted:
        raise DataError(f"name the columns to translate: --columns with headings or numbers; the table has {listed}")
    columns: list[int] = []
    for name in wanted:
        if name in headings:
            columns.append(headings.index(name))
        elif name.isdecimal() and 1 <= int(name) <= len(headings):
            columns.append(int(name) - 1)
        else:
            raise DataError(f"the table has no column {name!r}; it has {listed}")
    return sorted(set(columns)), any(name in headings for name in wanted)


def _rows(text: str, delimiter: str) -> Iterator[list[Cell]]:
    cell = re.compile(rf'"(?:[^"]|"")*"(?=[{delimiter}\r\n]|\Z)|[^{delimiter}\r\n]*')
    place = 0
    row: list[Cell] = []
    while place < len(text) or row:
        found = cell.match(text, place)
        assert found is not None
        row.append(found.span())
        place = found.end()
        if text.startswith(delimiter, place):
            place += 1
            continue
        place += 2 if text.startswith("\r\n", place) else 1
        yield row
        row = []


def _value(source: str) -> str:
    return source[1:-1].replace('""', '"') if len(source) > 1 and source[0] == source[-1] == '"' else source


def _slot(text: str, start: int, end: int, delimiter: str) -> Slot:
    source = text[start:end]
    value = _value(source)
    found = message(value)

    def render(translations: Sequence[MarkedText]) -> str:
        filled = found.filled(translations)
        if source != value or any(character in filled for character in (delimiter, "\n", "\r")) or filled[:1] == '"':
            return '"' + filled.replace('"', '""') + '"'
        return filled

    return in_place(start, end, found.segments, render)
