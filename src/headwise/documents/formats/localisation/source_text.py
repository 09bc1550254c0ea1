"""Text files as decoded text with its encoding: changes are spliced in, every other byte stays as it is."""

from __future__ import annotations

import codecs
from collections.abc import Iterable

from headwise.documents.encoded_text import codec_name
from headwise.documents.xml_source import Edit
from headwise.errors import DataError

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class SourceText:
    """A text file. Positions of edits count characters of `text`, whose line ends are those of the file."""

    def __init__(self, data: bytes, encoding: str = "utf-8") -> None:
        self._bom = b""
        for bom, name in _BOMS:
            if data.startswith(bom):
                self._bom, encoding = bom, name
                break
        self.encoding = encoding
        codec_name(encoding)
        try:
            self.text = data[len(self._bom) :].decode(encoding)
            same = self.text.encode(encoding) == data[len(self._bom) :]
        except (LookupError, UnicodeError, ValueError) as error:
            raise DataError(f"the file is not in the encoding {encoding}") from error
        if not same:  # an encoding with several ways to write a character
            raise DataError(f"the file cannot be written again in {encoding}: convert it to UTF-8 first")

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The file with these edits, which must not overlap, in its own encoding."""
        pieces: list[str] = []
        end = 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            if edit.start < end:
                raise ValueError(f"edits overlap at character {edit.start}")
            pieces += [self.text[end : edit.start], edit.source]
            end = edit.end
        pieces.append(self.text[end:])
        try:
            return self._bom + "".join(pieces).encode(self.encoding)
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            raise DataError(
                f"the file's encoding {self.encoding} has no {character!r}: convert the file to UTF-8 first"
            ) from error
