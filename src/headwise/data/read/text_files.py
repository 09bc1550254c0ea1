"""Plain text files for language models: their paths, and their text in blocks."""

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path

from headwise.config import CorpusConfig, DataConfig
from headwise.data.read.files import MAX_LINE, open_bytes, reading
from headwise.data.read.paths import recipe_path
from headwise.errors import DataError

BLOCK = 1 << 18


def text_paths(corpora: Iterable[CorpusConfig], data: DataConfig) -> list[Path]:
    return [recipe_path(data.folder, name) for corpus in corpora for name in corpus.text]


def text_blocks(path: Path) -> Iterator[str]:
    """A file's text exactly, in blocks that end with a line; a byte order mark is left out."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    rest = ""
    done = 0
    with reading(path), open_bytes(path) as stream:
        more = True
        while more:
            block = stream.read(BLOCK)
            more = bool(block)
            try:
                rest += decoder.decode(block, final=not more)
            except UnicodeDecodeError as error:
                byte = error.object[error.start]
                raise DataError(
                    f"{path}: not valid UTF-8 (byte 0x{byte:02x} near byte {done + error.start:,})"
                ) from None
            done += len(block)
            head, newline, tail = rest.rpartition("\n")
            if newline:
                yield head + newline
                rest = tail
            elif len(rest) > MAX_LINE:  # text without lines is cut where a block ends
                yield rest
                rest = ""
    if rest:
        yield rest
