"""The bytes that pieces spell: how they are shown, and which word each piece belongs to."""

import re
from collections.abc import Sequence
from itertools import accumulate

from headwise.text.escape import SPACE


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's alphabet: a printable character for each byte.

    The printable bytes of Latin-1 are written as themselves, the others, in order, as characters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    return alphabet | {chr(0x100 + i): byte for i, byte in enumerate(others)}


BYTES = _byte_alphabet()
LETTERS = {byte: letter for letter, byte in BYTES.items()}

_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")


def from_letters(piece: str) -> bytes:
    """The bytes of a byte-level piece; a character outside the alphabet is encoded as UTF-8."""
    return b"".join(bytes([BYTES[c]]) if c in BYTES else c.encode() for c in piece)


def from_sentencepiece(piece: str) -> bytes:
    """The bytes of a SentencePiece piece, which writes a space as ▁ and may be a single byte."""
    match = _BYTE_PIECE.fullmatch(piece)
    return bytes([int(match[1], 16)]) if match else piece.replace(SPACE, " ").encode()


def show(spelt: bytes) -> str:
    """Bytes as readable text, different for different bytes: spaces as ▁, invalid UTF-8 as hexadecimal bytes."""
    shown: list[str] = []
    for character in spelt.decode(errors="surrogateescape"):
        if character == " ":
            shown.append(SPACE)
        elif character == SPACE:
            shown.append("<U+2581>")
        elif 0xDC80 <= ord(character) <= 0xDCFF:
            shown.append(f"<0x{ord(character) - 0xDC00:02X}>")
        elif character.isprintable():
            shown.append(character)
        else:
            shown += [f"<0x{byte:02X}>" for byte in character.encode(errors="surrogatepass")]
    return "".join(shown)


def words_of(spelt: Sequence[bytes | None]) -> list[int]:
    """The index of the word that each piece belongs to, or -1: the word of the first letter at or after its start.

    So a piece of spaces belongs to the word after it, if any. None is a special token, which belongs to no word.
    """
    owners: list[int | None] = []  # the word of each byte, or None for a space
    word, inside = -1, False
    for character in b"".join(each or b"" for each in spelt).decode(errors="surrogateescape"):
        if character.isspace():
            inside = False
        elif not inside:
            word, inside = word + 1, True
        owners += [word if inside else None] * len(character.encode(errors="surrogateescape"))
    following = [-1]  # from the last byte back: the first word at or after it
    for owner in reversed(owners):
        following.append(following[-1] if owner is None else owner)
    starts = accumulate((len(each or b"") for each in spelt), initial=0)
    return [-1 if each is None else following[len(owners) - start] for each, start in zip(spelt, starts, strict=False)]
