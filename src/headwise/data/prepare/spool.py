"""Cleaned pairs on disk between the reading pass and the encoding pass.

The tokenizer can be trained only when all text has been seen, and text is encoded only with a tokenizer.
Keeping the cleaned text in a plain file spares a second decompression and cleaning, and the memory.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import filterfalse
from pathlib import Path
from typing import IO, NamedTuple

from headwise.errors import DataError

CHUNK = 8192


@dataclass(frozen=True)
class Spooled:
    """A chunk of pairs as columns."""

    source: list[str]
    target: list[str]
    files: list[int]
    lines: list[int]


class Place(NamedTuple):
    """Where a chunk lies: whoever has it can read the chunk."""

    path: Path
    start: int
    size: int
    rows: int


class Spool:
    """A file of pairs, appended to and then read in chunks. Normalised texts hold no tab and no newline."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.places: list[Place] = []
        """Of all chunks; complete once the spool is finished."""
        self._rows: list[str] = []
        self._stream: IO[bytes] | None = path.open("wb")

    def append(self, pairs: Iterable[tuple[str, str, int, int]]) -> None:
        """Source, target, index of the file, line."""
        if self._stream is None:
            raise ValueError("the spool is finished")
        before = len(self._rows)
        self._rows += [f"{source}\t{target}\t{file}\t{line}\n" for source, target, file, line in pairs]
        self.count += len(self._rows) - before
        while len(self._rows) >= CHUNK:
            self._write(CHUNK)

    def finish(self) -> None:
        if self._stream is not None:
            if self._rows:
                self._write(len(self._rows))
            self._stream.close()
            self._stream = None

    def remove(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self.path.unlink(missing_ok=True)

    def chunks(self) -> Iterator[Spooled]:
        return map(read_chunk, self.places)

    def _write(self, rows: int) -> None:
        assert self._stream is not None
        written = "".join(self._rows[:rows]).encode()
        del self._rows[:rows]
        start = self.places[-1].start + self.places[-1].size if self.places else 0
        self.places.append(Place(self.path, start, len(written), rows))
        self._stream.write(written)


def read_chunk(place: Place) -> Spooled:
    with place.path.open("rb") as stream:
        stream.seek(place.start)
        fields = stream.read(place.size).decode().replace("\n", "\t").split("\t")[:-1]
    if len(fields) != 4 * place.rows:
        raise DataError(f"{place.path}: {len(fields):,} fields where {place.rows:,} pairs were written")
    return Spooled(fields[0::4], fields[1::4], list(map(int, fields[2::4])), list(map(int, fields[3::4])))


class Sentences:
    """The texts of both sides, one by one, as often as they are iterated."""

    def __init__(self, spools: list[Spool], without: Collection[str]) -> None:
        self.spools = spools
        self.without = without
        """Held-out texts, which the tokenizer must not learn from either."""

    def __iter__(self) -> Iterator[str]:
        for spool in self.spools:
            for chunk in spool.chunks():
                yield from filterfalse(self.without.__contains__, chunk.source)
                yield from filterfalse(self.without.__contains__, chunk.target)
