"""JSON files of messages (i18next, Vue, Angular, browser extensions) and ARB: string values are texts, all else stays.

Every string value is translated, but not: values below keys that begin with `@` (metadata of ARB) or that name
something technical (`NOT_TEXT`); addresses and identifiers; in entries of browser extensions (objects with a
`message`) everything beside the message. Plurals and selects of ICU messages are translated branch by branch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.localisation.message_lines import message
from headwise.documents.formats.localisation.slots import Slot, SlotDocument, in_place
from headwise.documents.formats.localisation.source_text import SourceText
from headwise.documents.icu import icu_message
from headwise.documents.marked_text import MarkedText
from headwise.documents.xml_source import Edit
from headwise.errors import DataError

NOT_TEXT = frozenset(
    {"id", "key", "url", "uri", "href", "src", "class", "classname", "type", "lang", "language", "locale", "code"}
    | {"icon", "path", "file", "filename", "color", "colour", "format", "version", "date", "time", "email", "encoding"}
    | {"mime", "target", "rel", "slug", "ref", "$schema", "$id", "$ref"}
)
"""Keys, in small letters, whose strings are not text."""

_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
_OTHER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity")
_SPACE = re.compile(r"[ \t\r\n]*")
_IDENTIFIER = re.compile(
    r"[a-z][a-zA-Z0-9]*(?:[_.:/-][a-zA-Z0-9]+)+|[a-z]+[A-Z]\w*|[A-Z0-9]+(?:_[A-Z0-9]+)+|#[0-9a-fA-F]{3,8}"
)
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.|mailto:)\S+|\S+@\S+\.\S+")
DEEPEST = 200


def read_json(data: bytes, options: ReadOptions) -> Document:
    """Read a JSON or ARB file."""
    source = SourceText(data)
    values = list(_Scanner(source.text).values())
    ascii_only = source.text.isascii() and "\\u" in source.text
    slashes = "\\/" in source.text
    slots = (
        _slot(start, end, json.loads(source.text[start:end]), ascii_only, slashes)
        for start, end, keys in values
        if _is_text(keys, source.text[start + 1 : end - 1])
    )
    return SlotDocument(source, slots, list(_locale(source.text, values, options.target)))


def _slot(start: int, end: int, value: str, ascii_only: bool, slashes: bool) -> Slot:
    found = icu_message(value) or message(value)

    def render(translations: Sequence[MarkedText]) -> str:
        literal = json.dumps(found.filled(translations), ensure_ascii=ascii_only)
        return literal.replace("/", "\\/") if slashes else literal

    return in_place(start, end, found.segments, render)


def _is_text(keys: tuple[str, ...], source: str) -> bool:
    if any(key.startswith("@") for key in keys) or (keys and keys[-1].lower() in NOT_TEXT):
        return False
    return not _is_identifier(source)


def _is_identifier(source: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(source) or _ADDRESS.fullmatch(source))


def _locale(text: str, values: list[tuple[int, int, tuple[str, ...]]], target: str | None) -> Iterator[Edit]:
    """The edit that names the target language in an ARB file."""
    for start, end, keys in values:
        if target and keys == ("@@locale",):
            yield Edit(start, end, json.dumps(target.replace("-", "_")))


class _Scanner:
    """Finds the string values of a JSON text, each with the keys that lead to it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.found: list[tuple[int, int, tuple[str, ...]]] = []

    def values(self) -> list[tuple[int, int, tuple[str, ...]]]:
        self.value(())
        self.space()
        if self.place != len(self.text):
            raise self.error("text after its end")
        return self.found

    def error(self, what: str) -> DataError:
        line = self.text.count("\n", 0, self.place) + 1
        return DataError(f"damaged JSON: {what} in line {line}")

    def space(self) -> str:
        found = _SPACE.match(self.text, self.place)
        assert found is not None
        self.place = found.end()
        return self.text[self.place : self.place + 1]

    def take(self, character: str) -> None:
        if self.space() != character:
            raise self.error(f"no {character!r} where one is expected")
        self.place += 1

    def string(self) -> tuple[int, int]:
        found = _STRING.match(self.text, self.place)
        if found is None:
            raise self.error("a string that is not well-formed")
        self.place = found.end()
        return found.span()

    def value(self, keys: tuple[str, ...]) -> None:
        if len(keys) > DEEPEST:
            raise DataError(f"the JSON is nested more than {DEEPEST} deep")
        first = self.space()
        if first == "{":
            self.object(keys)
        elif first == "[":
            self.array(keys)
        elif first == '"':
            self.found.append((*self.string(), keys))
        elif found := _OTHER.match(self.text, self.place):
            self.place = found.end()
        else:
            raise self.error("no value where one is expected")

    def array(self, keys: tuple[str, ...]) -> None:
        self.place += 1
        if self.space() == "]":
            self.place += 1
            return
        own = keys[-1:] or ("",)
        while True:
            self.value((*keys, *own))
            if self.space() != ",":
                break
            self.place += 1
        self.take("]")

    def object(self, keys: tuple[str, ...]) -> None:
        self.place += 1
        before = len(self.found)
        names: list[tuple[str, int]] = []
        if self.space() == "}":
            self.place += 1
            return
        while True:
            self.space()
            start, end = self.string()
            name = json.loads(self.text[start:end])
            names.append((name, len(self.found)))
            self.take(":")
            self.value((*keys, name))
            if self.space() != ",":
                break
            self.place += 1
        self.take("}")
        self.drop_beside_message(names, before, keys)

    def drop_beside_message(self, names: list[tuple[str, int]], before: int, keys: tuple[str, ...]) -> None:
        """Leave out what browser extensions have beside a message."""
        known = {name for name, _ in names}
        if keys and "message" in known and known <= {"message", "description", "placeholders"}:
            self.found[before:] = [each for each in self.found[before:] if each[2] == (*keys, "message")]
