"""Gettext PO files as entries with positions: comments, contexts, and the strings of each keyword."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from headwise.errors import DataError

_STRING = r'"((?:[^"\\]|\\.)*)"'
_LINE = re.compile(
    rf"[ \t]*(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{{1,3}}\])?|domain)[ \t]*)?{_STRING}[ \t]*\r?\Z"
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass(slots=True, eq=False)
class Field:
    """The string of one keyword, from its first quote at `start` to after the last one at `end`."""

    keyword: str
    line_start: int
    start: int
    end: int
    lines: list[str]
    """What is between the quotes of each line, with escapes."""

    @property
    def text(self) -> str:
        """The string itself."""
        raw = "".join(self.lines)
        return _ESCAPE.sub(_unescaped, raw) if "\\" in raw else raw

    @property
    def empty(self) -> bool:
        """Whether there is no character between the quotes."""
        return not any(self.lines)


@dataclass(slots=True, eq=False)
class Entry:
    """A message: comment lines by their positions, and its fields."""

    comments: list[tuple[int, int]] = field(default_factory=list)
    """Start and end of each comment line, without the line end."""
    fields: dict[str, Field] = field(default_factory=dict)

    @property
    def translations(self) -> list[Field]:
        """The fields for translations, in order."""
        return [each for keyword, each in self.fields.items() if keyword.startswith("msgstr")]

    @property
    def is_header(self) -> bool:
        """Whether this is the entry that describes the file."""
        return "msgctxt" not in self.fields and self.fields["msgid"].empty


def entries(text: str) -> Iterator[Entry]:
    """The entries of a file; obsolete ones, which are comments, are none."""
    entry = Entry()
    current: Field | None = None
    position = 0
    for number, line in enumerate(text.split("\n"), 1):
        start, position = position, position + len(line) + 1
        stripped = line.strip()
        if not stripped:
            continue
        if stripped.startswith("#"):
            current = None
            if entry.fields:
                yield _whole(entry, number)
                entry = Entry()
            if not stripped.startswith("#~"):
                entry.comments.append((start, start + len(line.rstrip("\r"))))
            continue
        found = _LINE.match(line)
        if found is None:
            raise DataError(f"line {number} does not belong in a PO file: {stripped[:60]!r}")
        if found[1]:
            if _begins(found[1], entry):
                yield _whole(entry, number)
                entry = Entry()
            current = Field(found[1], start, start + found.start(2) - 1, start + found.end(2) + 1, [found[2]])
            if found[1] != "domain":
                entry.fields[found[1]] = current
        elif current is None:
            raise DataError(f"line {number} of the PO file is a string without a keyword")
        else:
            current.lines.append(found[2])
            current.end = start + found.end(2) + 1
    if entry.fields:
        yield _whole(entry, number)


def _begins(keyword: str, entry: Entry) -> bool:
    """Whether a keyword can only belong to an entry after this one."""
    return keyword in entry.fields or (keyword in ("msgctxt", "msgid") and bool(entry.translations))


def _whole(entry: Entry, line: int) -> Entry:
    if "msgid" not in entry.fields or not entry.translations:
        raise DataError(f"the entry before line {line} of the PO file has no msgid or no msgstr")
    return entry


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _CONTROLS.get(code, code)
