"""Spool files: cleaned pairs on disk between the reading pass and the encoding pass.

A tokenizer can be trained only when all text has been read, and text can be encoded only with a tokenizer. Spooling
the cleaned text avoids both a second pass of decompression and cleaning, and holding it in memory.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import filterfalse
from pathlib import Path
from typing import NamedTuple

from headwise.errors import DataError

CHUNK = 8192


@dataclass(frozen=True)
class SpooledChunk:
    """A chunk of pairs as columns."""

    source: list[str]
    target: list[str]
    files: list[int]
    lines: list[int]


class Span(NamedTuple):
    """Where a chunk lies in a spool file, so that any process can read it."""

    path: Path
    start: int
    size: int
    rows: int


class Spool:
    """A file of pairs that is appended to and then read in chunks. Normalised texts hold no tab and no newline."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.spans: list[Span] = []
        """The spans of all chunks; complete once the spool is finished."""
        self._rows: list[str] = []
        self._stream = path.open("wb")

    def append(self, pairs: Iterable[tuple[str, str, int, int]]) -> None:
        """Append pairs, each as source, target, index of the file, line."""
        before = len(self._rows)
        self._rows += [f"{source}\t{target}\t{file}\t{line}\n" for source, target, file, line in pairs]
        self.count += len(self._rows) - before
        while len(self._rows) >= CHUNK:
            self._write(CHUNK)

    def finish(self) -> None:
        if self._rows:
            self._write(len(self._rows))
        self._stream.close()

    def remove(self) -> None:
        self._stream.close()
        self.path.unlink(missing_ok=True)

    def _write(self, rows: int) -> None:
        written = "".join(self._rows[:rows]).encode()
        del self._rows[:rows]
        start = self.spans[-1].start + self.spans[-1].size if self.spans else 0
        self.spans.append(Span(self.path, start, len(written), rows))
        self._stream.write(written)


def read_span(span: Span) -> SpooledChunk:
    with span.path.open("rb") as stream:
        stream.seek(span.start)
        fields = stream.read(span.size).decode().replace("\n", "\t").split("\t")[:-1]
    if len(fields) != 4 * span.rows:
        raise DataError(f"{span.path}: {len(fields):,} fields where {span.rows:,} pairs were written")
    return SpooledChunk(fields[0::4], fields[1::4], list(map(int, fields[2::4])), list(map(int, fields[3::4])))


class Sentences:
    """The texts of both sides of spooled pairs, one by one, as often as they are iterated."""

    def __init__(self, spools: list[Spool], without: Collection[str]) -> None:
        self.spools = spools
        self.without = without
        """Held-out texts, which the tokenizer must not learn from either."""

    def __iter__(self) -> Iterator[str]:
        for spool in self.spools:
            for chunk in map(read_span, spool.spans):
                yield from filterfalse(self.without.__contains__, chunk.source)
                yield from filterfalse(self.without.__contains__, chunk.target)
