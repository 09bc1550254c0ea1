"""Worksheets of Excel: little text around many cells, which are left out of the tree where they hold numbers only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headwise.documents.marked_text import MarkedText
from headwise.documents.office.spreadsheet_text import page_header, rich_string
from headwise.documents.office.xml_part import PartPlace, XmlPart, attribute_value
from headwise.documents.xml_source import XmlSource
from headwise.errors import DataError

_CELLS = re.compile(rb"(<(?:\w+:)?sheetData(?:\s[^<>]*)?(?<!/)>)(.*)(?=</(?:\w+:)?sheetData\s*>)", re.S)
_HEADERS = frozenset(f"{which}{what}" for which in ("odd", "even", "first") for what in ("Header", "Footer"))


class Worksheet:
    """A worksheet without the text of shared strings, which has a part of its own."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        found = _CELLS.search(data)
        self._cells = b""
        if found is not None and b"inlineStr" not in found[2]:
            self._cells = found[2]
            data = data[: found.start(2)] + data[found.end(2) :]
        try:
            source = XmlSource(data)
        except DataError as error:
            raise DataError(f"part {name!r}: {error}") from error
        self._part = XmlPart(name, source, _places(source))
        self.segments = self._part.segments

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The worksheet with its cells in their place again."""
        data = self._part.write(translations)
        found = _CELLS.search(data)
        if found is None:
            return data
        return data[: found.end(1)] + self._cells + data[found.end(1) :]


def _places(source: XmlSource) -> Iterator[PartPlace]:
    for element in source.root.walk():
        if element.local in _HEADERS:
            yield page_header(element)
        elif element.local == "is":
            yield rich_string(source, element)
        elif element.local == "dataValidation":
            for name in ("promptTitle", "prompt", "errorTitle", "error"):
                yield from attribute_value(source, element, name)
