"""Text files: bytes as text, with the encoding and byte order mark that they are written with again."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from headwise.errors import DataError

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-9": "cp1254",
}
"""Encodings that files declare -> the larger one that their programs mean, as browsers read them."""
NO_FILES = {"idna", "punycode", "raw-unicode-escape", "unicode-escape"}
"""Codecs of Python that are for domain names and source code. The first two take minutes for 100 kilobytes."""
MOST_FOREIGN = 0.3
"""Share of letters outside of ASCII from which on a text is hardly one of Western Europe."""

_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True)
class EncodedText:
    """A text, and how it was encoded."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark at the beginning of the file."""

    def encode(self, text: str) -> bytes:
        """Another text in the same encoding; in UTF-8 where that encoding lacks its characters."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError:
            return text.encode("utf-8", "replace")

    def encode_with_references(self, text: str) -> bytes:
        """Another text in the same encoding, with character references (&#8364;) for what it lacks."""
        return self.mark + text.encode(self.encoding, "xmlcharrefreplace")


def codec_name(declared: str) -> str:
    """Python's name of an encoding that a file declares."""
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError) as error:
        raise DataError(f"the file declares an unknown encoding: {declared[:40]}") from error
    if name.replace("_", "-") in NO_FILES:
        raise DataError(f"the file declares an encoding that is not for files: {declared[:40]}")
    return name


def decode_text(data: bytes, declared: str = "") -> EncodedText:
    """The text of a file in the encoding of its byte order mark, the declared one, UTF-8, or Western European."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding, mark)
    if declared:
        name = codec_name(declared)
        return _decoded(data, MEANT.get(name, name))
    try:
        return _decoded(data, "utf-8")
    except DataError:
        return _western(data)


def decode_plain_text(data: bytes) -> EncodedText:
    """The text of a file that holds nothing else; a picture, a program or an archive is refused."""
    found = decode_text(data)
    if "\x00" in found.text:
        raise DataError("the file is not text: it has null characters")
    return found


def _decoded(data: bytes, encoding: str, mark: bytes = b"") -> EncodedText:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "cp1252":  # five bytes that it leaves open are controls for browsers
            return _decoded(data, "latin-1")
        raise DataError(f"the file is not in the encoding {encoding}: see byte {error.start}") from error
    except (LookupError, ValueError) as error:
        raise DataError(f"{encoding} is not an encoding of text") from error
    found = EncodedText(text, encoding, mark)
    if text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace") != data:
        raise DataError(f"the file has more than one spelling of a character in the encoding {encoding}: use UTF-8")
    return found


def _western(data: bytes) -> EncodedText:
    found = _decoded(data, "cp1252")
    letters = [character for character in found.text if character.isalpha()]
    foreign = sum(not character.isascii() for character in letters)
    if _CONTROL.search(found.text) or foreign > MOST_FOREIGN * len(letters):
        raise DataError("the file is not in UTF-8, and its encoding is unknown: convert it to UTF-8")
    return found
