"""Cleaned pairs on disk between the reading pass and the encoding pass.

The tokenizer can be trained only when all text has been seen, and text is encoded only with a tokenizer.
Keeping the cleaned text in a plain file spares a second decompression and cleaning, and the memory.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CHUNK = 8192


@dataclass(frozen=True)
class Spooled:
    """A chunk of pairs as columns."""

    source: list[str]
    target: list[str]
    files: list[int]
    lines: list[int]


class Spool:
    """A file of pairs, appended to and then read in chunks. Normalised texts hold no tab and no newline."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._stream: IO[str] | None = path.open("w", encoding="utf-8", newline="\n")

    def append(self, pairs: Iterable[tuple[str, str, int, int]]) -> None:
        """Source, target, index of the file, line."""
        if self._stream is None:
            raise ValueError("the spool is finished")
        lines = [f"{source}\t{target}\t{file}\t{line}\n" for source, target, file, line in pairs]
        self._stream.write("".join(lines))
        self.count += len(lines)

    def finish(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def remove(self) -> None:
        self.finish()
        self.path.unlink(missing_ok=True)

    def chunks(self) -> Iterator[Spooled]:
        rows: list[list[str]] = []
        with self.path.open(encoding="utf-8", newline="\n") as stream:
            for line in stream:
                rows.append(line.split("\t"))
                if len(rows) == CHUNK:
                    yield _columns(rows)
                    rows = []
        if rows:
            yield _columns(rows)


class Sentences:
    """The texts of both sides, one by one, as often as they are iterated."""

    def __init__(self, spools: list[Spool], without: Collection[str]) -> None:
        self.spools = spools
        self.without = without
        """Held-out texts, which the tokenizer must not learn from either."""

    def __iter__(self) -> Iterator[str]:
        for spool in self.spools:
            for chunk in spool.chunks():
                yield from (text for text in chunk.source if text not in self.without)
                yield from (text for text in chunk.target if text not in self.without)


def _columns(rows: list[list[str]]) -> Spooled:
    source, target, files, lines = zip(*rows, strict=True)
    return Spooled(list(source), list(target), list(map(int, files)), list(map(int, lines)))
