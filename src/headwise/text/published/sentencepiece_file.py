"""Reading SentencePiece model files without the SentencePiece library.

A model file is a protocol buffer: a sequence of fields, each a number with a wire type, then a value.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from headwise.errors import CheckpointError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED = range(1, 5)
"""The types of pieces."""
UNIGRAM, BPE = 1, 2
"""The types of models."""
SEEDS_SETTING = 54
"""The field of the trainer's settings that names a file of seed pieces."""


@dataclass(frozen=True)
class SentencePieceFile:
    """The content of a model file that a tokenizer is rebuilt from."""

    pieces: tuple[tuple[str, float, int], ...]
    """Piece, score and type, by id."""
    model_type: int
    characters: bytes
    """The compiled character map of the normaliser; empty if there is none."""
    dummy_prefix: bool
    """Whether a space is put before each text."""


def read_sentencepiece(content: bytes) -> SentencePieceFile:
    """Parse the content of a model file."""
    try:
        return _read(content)
    except (IndexError, ValueError, struct.error):
        raise CheckpointError("not a SentencePiece model, or a damaged one") from None


def _read(content: bytes) -> SentencePieceFile:
    pieces: list[tuple[str, float, int]] = []
    trainer: dict[int, int | bytes] = {}
    normaliser: dict[int, int | bytes] = {}
    for number, value in _fields(content):
        if not isinstance(value, bytes):
            raise ValueError(number)
        if number == 1:
            piece = dict(_fields(value))
            score = struct.unpack("<f", _bytes(piece.get(2, b"\0\0\0\0")))[0]
            pieces.append((_bytes(piece.get(1, b"")).decode(), score, _int(piece.get(3, NORMAL))))
        elif number == 2:
            trainer = dict(_fields(value))
        elif number == 3:
            normaliser = dict(_fields(value))
    if not pieces:
        raise ValueError("no pieces")
    return SentencePieceFile(
        pieces=tuple(pieces),
        model_type=_int(trainer.get(3, UNIGRAM)),
        characters=_bytes(normaliser.get(2, b"")),
        dummy_prefix=bool(normaliser.get(3, 1)),
    )


def without_setting(content: bytes, setting: int) -> bytes:
    """The content of a model file without one field of the trainer's settings."""
    kept: list[bytes] = []
    for number, whole, value in _spans(content):
        if number == 2:
            assert isinstance(value, bytes)
            inner = b"".join(field for own, field, _ in _spans(value) if own != setting)
            whole = b"\x12" + _as_varint(len(inner)) + inner
        kept.append(whole)
    return b"".join(kept)


def _as_varint(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    return ((number, value) for number, _, value in _spans(content))


def _spans(content: bytes) -> Iterator[tuple[int, bytes, int | bytes]]:
    """The number, the bytes and the value of each field."""
    place = 0
    while place < len(content):
        start = place
        key, place = _varint(content, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(content, place)
            yield number, content[start:place], value
            continue
        if wire == 2:
            width, place = _varint(content, place)
        elif wire in (1, 5):
            width = 8 if wire == 1 else 4
        else:
            raise ValueError(wire)
        if place + width > len(content):
            raise ValueError(place)
        yield number, content[start : place + width], content[place : place + width]
        place += width


def _varint(content: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def _int(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError(value)
    return value


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError(value)
    return value
