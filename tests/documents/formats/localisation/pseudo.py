"""A pseudo-translation that changes every string and keeps all marks, for tests of the writing path."""

import random
from collections.abc import Sequence

import pytest

from headwise.documents.document import Document, Reader, ReadOptions
from headwise.documents.marked_text import Kept, MarkedText, Part
from headwise.errors import DataError


def pseudo(segments: Sequence[MarkedText]) -> list[MarkedText]:
    """Every string in other letters and with characters that need escaping in some format."""
    return [
        MarkedText(
            _changed(part) if isinstance(part, str) and any(map(str.isalpha, part)) else part for part in text.parts
        )
        for text in segments
    ]


def _changed(text: str) -> str:
    start = len(text) - len(text.lstrip())
    return f'{text[:start]}Ä\u4e2d\'x "y" & < \\ {text[start:].upper()}'


def _comparable(text: MarkedText) -> list[Part]:
    """A text without what only its own file knows: the blocks of ICU messages."""
    return [
        Kept("") if isinstance(part, Kept) and not isinstance(part.markup, str | None) else part for part in text.parts
    ]


def rewritten(
    read: Reader, data: bytes, options: ReadOptions | None = None
) -> tuple[Document, list[MarkedText], bytes]:
    """A document, its pseudo-translation, and the file with it."""
    document = read(data, options or ReadOptions())
    translations = pseudo(document.segments)
    return document, translations, document.write(translations)


def check_round_trip(read: Reader, data: bytes, options: ReadOptions | None = None) -> None:
    """Identity gives the same bytes; a pseudo-translation is read again as it was, and can be turned back."""
    document, translations, written = rewritten(read, data, options)
    assert document.segments
    assert all(text.has_letters and not text.fault() for text in document.segments)
    assert document.write(list(document.segments)) == data
    again = read(written, options or ReadOptions())
    assert [_comparable(text) for text in again.segments] == [_comparable(text) for text in translations]


def check_damage(read: Reader, data: bytes, options: ReadOptions | None = None) -> None:
    """Truncated files and changed bytes give a document or one clear error."""
    random_numbers = random.Random(0)
    for _ in range(300):
        damaged = bytearray(data[: random_numbers.randrange(len(data))] if random_numbers.random() < 0.5 else data)
        for _ in range(random_numbers.randrange(4)):
            if damaged:
                damaged[random_numbers.randrange(len(damaged))] = random_numbers.randrange(256)
        try:
            document = read(bytes(damaged), options or ReadOptions())
            document.write(document.segments)
        except DataError:
            continue


def texts(document: Document) -> list[str]:
    """The texts that the model sees."""
    return [segment.text for segment in document.segments]


def refused(read: Reader, data: bytes, message: str, options: ReadOptions | None = None) -> None:
    """A file is refused in one line."""
    with pytest.raises(DataError, match=message):
        read(data, options or ReadOptions())
