"""What a text file holds, before hours are spent on it: how much, whether all of it can be read, and its digest."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headwise.data.prepare.progress import Throttle
from headwise.data.read.files import numbered_lines, reading
from headwise.errors import DataError
from headwise.files.digest import file_digest

_LOOK = 4096  # lines between two looks at the clock


@dataclass(frozen=True)
class Survey:
    """A text file, read to its end once."""

    lines: int
    bytes: int
    """Of its text, without line ends and compression."""
    digest: str
    """Of the file as it is."""
    size: int
    changed: int
    """When it was, in nanoseconds: a file of the same size and time is not read again."""

    def check(self, path: Path) -> None:
        """Refuse a file that is not the same any more."""
        if _stat(path) != (self.size, self.changed) and _digest(path) != self.digest:
            raise DataError(f"{path}: it was changed while it was translated: remove the partial result to start anew")


def survey(path: Path, say: Callable[[str], None] = lambda text: None) -> Survey:
    """Read a file of lines, which may be compressed; what cannot be read is an error that names the line."""
    size, changed = _stat(path)
    digest = _digest(path)
    told, lines, length = Throttle(say), 0, 0
    for lines, text in numbered_lines(path):
        length += len(text) if text.isascii() else len(text.encode())
        if lines % _LOOK == 0:
            told.tick(f"reading {path}: {lines:,} lines")
    return Survey(lines, length, digest, size, changed)


def _digest(path: Path) -> str:
    with reading(path):
        return file_digest(path)


def _stat(path: Path) -> tuple[int, int]:
    with reading(path):
        found = path.stat()
    return found.st_size, found.st_mtime_ns
