"""Corpus files: decompression by extension, and lines that are strictly UTF-8.

At most one block and one line are held in memory. Whatever is wrong with a file is a `DataError` that names the file
and, where there is one, the line.
"""

import bz2
import codecs
import contextlib
import gzip
import importlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from headwise.errors import DataError

BLOCK = 1 << 20
MAX_LINE = 16 << 20
"""The most bytes of a line: anything longer is not a line of text, and a binary file must not fill the memory."""
STANDARD_INPUT = Path("-")


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressed according to its last extension. Use inside `reading(path)`."""
    opened: IO[bytes] = _OPENERS.get(path.suffix.lower(), _open_plain)(path)
    return opened


def format_suffix(path: Path) -> str:
    """The extension that names the format, without that of a compression: `.tsv` for `pairs.TSV.gz`."""
    return uncompressed(path).suffix.lower()


def uncompressed(path: Path) -> Path:
    """The path without the extension of a compression: `pairs.tsv` for `pairs.tsv.gz`."""
    return path.with_suffix("") if path.suffix.lower() in _OPENERS else path


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors in opening, reading or decompressing a file into a `DataError` that names it."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a folder, not a file") from None
    except EOFError:
        raise DataError(f"{path}: the compressed file is cut off (an incomplete download?)") from None
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: damaged, or not a {path.suffix} file: {error}") from None
    except OSError as error:
        if error.strerror is None and path.suffix.lower() in _OPENERS:  # how bz2 reports bad data
            raise DataError(f"{path}: damaged, or not a {path.suffix} file: {error}") from None
        raise DataError(f"{path}: {error.strerror or error}") from None
    except Exception as error:
        if type(error).__name__ == "ZstdError":  # its class exists only where the optional module does
            raise DataError(f"{path}: damaged, or not a {path.suffix} file: {error}") from None
        raise


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file without their ends, numbered from 1.

    A line ends at `\\n` (a `\\r` before it is removed too) and nowhere else: U+2028 and similar characters occur inside
    sentences, and splitting at them would shift one side of a parallel corpus.
    """
    number = 0
    for block in _whole_line_blocks(path):
        try:
            text = block.decode("utf-8")
        except UnicodeDecodeError:
            _raise_bad_line(path, number, block)
        if "\0" in text:
            _raise_bad_line(path, number, block)
        lines = text.split("\n")
        if "\r" in text:
            lines = [line.removesuffix("\r") for line in lines]
        yield from enumerate(lines, number + 1)
        number += len(lines)


def _whole_line_blocks(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines, without the last line's end; a byte order mark at the start is skipped."""
    pieces: list[bytes] = []  # of the line whose end has not been read yet
    size = 0
    lines = 0
    with reading(path), open_bytes(path) as stream:
        block = stream.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8) + stream.read(BLOCK)
        while block:
            head, newline, tail = block.rpartition(b"\n")
            first = len(block) if not newline else block.index(b"\n")
            if size + first > MAX_LINE:
                raise DataError(
                    f"{path}:{lines + 1}: a line of more than {MAX_LINE >> 20} MiB; "
                    "this is probably not a file of text lines"
                )
            if newline:
                whole = b"".join([*pieces, head])
                lines += whole.count(b"\n") + 1
                pieces, size = [], 0
                yield whole
            pieces.append(tail)
            size += len(tail)
            block = stream.read(BLOCK)
    rest = b"".join(pieces)
    if rest:
        yield rest


def _raise_bad_line(path: Path, before: int, block: bytes) -> None:
    """Raise the error of the first line in a block that is not text; `before` lines precede the block."""
    for number, line in enumerate(block.split(b"\n"), before + 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            column = len(line[: error.start].decode("utf-8")) + 1
            hint = "; the file may be UTF-16" if number == 1 and line[:2] in _UTF_16_MARKS else ""
            raise DataError(
                f"{path}:{number}: not valid UTF-8 (byte 0x{line[error.start]:02x} at column {column}){hint}"
            ) from None
        if b"\0" in line:
            raise DataError(f"{path}:{number}: a NUL byte; the file may be UTF-16 or binary, not UTF-8 text")


_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _open_plain(path: Path) -> IO[bytes]:
    if path == STANDARD_INPUT:
        return open(0, "rb", closefd=False)
    return path.open("rb")


def _open_zstd(path: Path) -> Any:
    """Open a Zstandard file: the module is in the standard library from Python 3.14, a separate package before."""
    for name in ("compression.zstd", "backports.zstd"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(name).open(path)
    raise DataError(f"{path}: reading .zst needs a package: pip install backports.zstd")


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".zst": _open_zstd,
}
"""How a compressed file is opened, by its extension."""
