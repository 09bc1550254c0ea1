"""Java .properties files: values are texts; keys, separators, comments and the encoding stay.

A file with a byte order mark is UTF-16 or UTF-8, and one with bytes beyond ASCII that are valid UTF-8 is UTF-8. Any
other is ISO-8859-1, where characters beyond it are written as `\\uXXXX`. In values with arguments such as `{0}`
apostrophes are doubled, as `MessageFormat` requires.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence

from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.localisation.message_lines import message
from headwise.documents.formats.localisation.slots import Slot, SlotDocument, in_place
from headwise.documents.formats.localisation.source_text import SourceText
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError

_KEY = re.compile(r"[ \t\f]*(?![#!])(?:\\(?:\r\n|.)|[^\\:= \t\f\r\n])+", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*(?:[:=][ \t\f]*)?(?:\\(?:\r\n|[\r\n])[ \t\f]*)*")
_VALUE = re.compile(r"(?:\\(?:\r\n|.)|[^\\\r\n])*", re.DOTALL)
_LINE_END = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|((?:\r\n|[\r\n])[ \t\f]*)|(.))", re.DOTALL)
_ARGUMENT = re.compile(r"\{\d+[^{}]*\}")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def read_properties(data: bytes, options: ReadOptions) -> Document:
    """Read a .properties file."""
    if b"\0" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError("this is not a .properties file: it contains zero bytes")
    source = SourceText(data, _encoding(data))
    ascii_only = source.encoding == "iso-8859-1"
    slots = (_slot(source.text, start, end, ascii_only) for start, end in _values(source.text))
    return SlotDocument(source, slots)


def _encoding(data: bytes) -> str:
    if data.isascii():
        return "iso-8859-1"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "iso-8859-1"
    return "utf-8"


def _values(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each value."""
    place = 0
    while place < len(text):
        key = _KEY.match(text, place)
        if key:
            separator = _SEPARATOR.match(text, key.end())
            assert separator is not None
            value = _VALUE.match(text, separator.end())
            assert value is not None
            yield value.span()
            place = value.end()
        line = _LINE_END.match(text, place)
        assert line is not None
        place = max(line.end(), place + 1)


def _slot(text: str, start: int, end: int, ascii_only: bool) -> Slot:
    raw = text[start:end]
    value = _unescaped(raw)
    doubled = bool(_ARGUMENT.search(value)) and not re.search(r"(?<!')'(?!')", value)
    found = message(value.replace("''", "'") if doubled else value)

    def render(translations: Sequence[MarkedText]) -> str:
        filled = found.filled(translations)
        return _escaped(filled.replace("'", "''") if doubled else filled, ascii_only)

    return in_place(start, end, found.segments, render)


def _unescaped(raw: str) -> str:
    def character(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return "" if found[2] else _CONTROLS.get(found[3], found[3])

    text = _ESCAPE.sub(character, raw) if "\\" in raw else raw
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two escapes for one character


def _escaped(text: str, ascii_only: bool) -> str:
    text = text.replace("\\", "\\\\")
    for letter, control in _CONTROLS.items():
        text = text.replace(control, f"\\{letter}")
    if text.startswith(" "):
        text = f"\\{text}"
    if not ascii_only:
        return text
    coded = text.encode("utf-16-be")
    units = (coded[place : place + 2] for place in range(0, len(coded), 2))
    return "".join(chr(unit[1]) if unit[0] == 0 and unit[1] < 128 else f"\\u{unit.hex()}" for unit in units)
