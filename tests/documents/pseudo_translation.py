"""Pseudo-translations: other letters, the same marks, so that what is written can be read and compared."""

from __future__ import annotations

import codecs
import random
from collections.abc import Sequence

from headwise.documents.document import Document, Reader, ReadOptions
from headwise.documents.marked_text import Kept, Mark, MarkedText
from headwise.documents.spliced import SplicedDocument
from headwise.errors import DataError


def pseudo(text: MarkedText) -> MarkedText:
    """The text with other letters."""
    return MarkedText(codecs.encode(part, "rot13") if isinstance(part, str) else part for part in text.parts)


def shape(text: MarkedText) -> str:
    """A text with its marks and kept parts, for people: `a [1]b[/1] c [2/] {kept}`."""
    return "".join(part if isinstance(part, str) else _shape(part) for part in text.parts)


def _shape(part: Mark | Kept) -> str:
    if isinstance(part, Kept):
        return f"{{{part.text}}}"
    return {"open": "[%d]", "close": "[/%d]", "single": "[%d/]"}[part.kind.value] % part.number


def shapes(document: Document) -> list[str]:
    """The shapes of all segments."""
    return [shape(segment) for segment in document.segments]


def replaced(document: Document, texts: dict[str, str]) -> Sequence[MarkedText]:
    """Translations in which some strings have been replaced within the parts that contain them."""

    def changed(text: str) -> str:
        for old, new in texts.items():
            text = text.replace(old, new)
        return text

    return [
        MarkedText(changed(part) if isinstance(part, str) else part for part in segment.parts)
        for segment in document.segments
    ]


def check_round_trip(reader: Reader, data: bytes, options: ReadOptions | None = None) -> bytes:
    """Check that unchanged texts give the same bytes, and pseudo-translations come back; returns the latter's file."""
    options = options or ReadOptions()
    document = reader(data, options)
    segments = document.segments
    assert document.write(segments) == data
    for segment in segments:
        assert segment.has_letters
        assert not segment.fault()
        assert segment.text == segment.text.strip()
    translations = [pseudo(segment) for segment in segments]
    written = document.write(translations)
    again = reader(written, options)
    assert shapes(again) == [shape(translation) for translation in translations]
    if isinstance(document, SplicedDocument) and isinstance(again, SplicedDocument):
        assert outside(again) == outside(document)
    return written


def outside(document: SplicedDocument) -> list[str]:
    """The source text between the segments."""
    pieces, end = [], 0
    for place in document.places:
        if place.start >= end:
            pieces.append(document.file.text[end : place.start])
            end = place.end
    return [*pieces, document.file.text[end:]]


def check_damaged(reader: Reader, data: bytes, tries: int = 200) -> None:
    """Check that a damaged file is read or refused, and that what was read is written."""
    numbers = random.Random(0)
    for _ in range(tries):
        damaged = bytearray(data[: numbers.randrange(len(data) + 1)] if numbers.random() < 0.5 else data)
        for _ in range(numbers.randrange(4) if damaged else 0):
            damaged[numbers.randrange(len(damaged))] = numbers.choice(b"<>&\"'/!-[]*_`|\n\r\0\xff {}%#=:")
        try:
            document = reader(bytes(damaged), ReadOptions())
        except DataError:
            continue
        assert document.write(document.segments) == bytes(damaged)
        document.write([pseudo(segment) for segment in document.segments])
