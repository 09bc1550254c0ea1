"""Zip files as packages of named parts: the container of office documents and e-books, read with limits on their size.

Names of parts are keys and nothing else; no file is ever made from one.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping

from headwise.errors import DataError

MOST_PARTS = 50_000
MOST_BYTES = 1 << 30
"""Most bytes of all parts together, unpacked."""
HIGHEST_RATIO = 200
"""Most bytes unpacked per byte packed, for parts above `SMALL_PART`. Honest markup rarely exceeds 50."""
SMALL_PART = 32 << 20
"""A part up to this size may be packed at any ratio: it does no harm."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = 0x1
_CHUNK = 1 << 20
_ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    RuntimeError,  # includes NotImplementedError: a kind of compression that Python does not have
)


class ZipPackage:
    """A zip file in memory: its parts by name, and the same file with other contents in some of them."""

    def __init__(self, data: bytes) -> None:
        if data.startswith(_OLE):
            raise DataError("the file is password protected, or of an old format such as .doc: save it anew")
        try:
            self._file = zipfile.ZipFile(io.BytesIO(data))
        except _ZIP_FAULTS as error:
            raise DataError("the file is not a zip archive, or is damaged or cut off") from error
        self._parts = {info.filename: info for info in self._file.infolist()}
        _check(self._file.infolist())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parts, in the order of the file."""
        return tuple(self._parts)

    def read(self, name: str) -> bytes:
        """The contents of one part."""
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """The contents of one part in pieces of at most a megabyte."""
        if name not in self._parts:
            raise DataError(f"the file has no part {name!r}: it is incomplete or of another type")
        try:
            with self._file.open(self._parts[name]) as part:
                while piece := part.read(_CHUNK):  # in pieces, since the size that a part claims may be wrong
                    yield piece
        except _ZIP_FAULTS as error:
            raise DataError(f"part {name!r} of the file is damaged") from error

    def write(self, changed: Mapping[str, bytes]) -> bytes:
        """The file with these parts changed. Names, order, dates, kinds of compression and attributes stay."""
        if unknown := changed.keys() - self._parts.keys():
            raise KeyError(f"not in the package: {sorted(unknown)}")
        output = io.BytesIO()
        with zipfile.ZipFile(output, "w") as file:
            file.comment = self._file.comment
            for name, old in self._parts.items():
                new = _same_entry(old)
                file.writestr(new, changed[name] if name in changed else self.read(name))
                new.external_attr = old.external_attr  # zipfile replaces none by its own default
        return output.getvalue()


def _same_entry(old: zipfile.ZipInfo) -> zipfile.ZipInfo:
    new = zipfile.ZipInfo(old.filename, old.date_time)
    new.compress_type = old.compress_type
    new.create_system = old.create_system
    new.external_attr = old.external_attr
    new.internal_attr = old.internal_attr
    new.comment = old.comment
    return new


def _check(parts: list[zipfile.ZipInfo]) -> None:
    if len(parts) > MOST_PARTS:
        raise DataError(f"the file has {len(parts)} parts; more than {MOST_PARTS} are refused")
    twice = [name for name, count in Counter(part.filename for part in parts).items() if count > 1]
    if twice:
        raise DataError(f"the file has two parts of the name {twice[0]!r}: it is damaged")
    if any(part.flag_bits & _ENCRYPTED for part in parts):
        raise DataError("the file is password protected: save it without a password")
    if sum(part.file_size for part in parts) > MOST_BYTES:
        raise DataError(f"the file would unpack to more than {MOST_BYTES >> 20} MiB: it is refused")
    for part in parts:
        if part.file_size > max(SMALL_PART, part.compress_size * HIGHEST_RATIO):
            raise DataError(
                f"part {part.filename!r} would unpack to more than {HIGHEST_RATIO} times its size: it is refused"
            )
