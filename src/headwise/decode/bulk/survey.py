"""Survey of an input file before hours are spent on it: its size, its digest, and whether all of it is text."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headwise.data.prepare.progress import Throttle
from headwise.data.read.files import format_suffix, numbered_lines, reading
from headwise.decode.bulk.paragraphs import join_paragraphs, looks_wrapped
from headwise.errors import ConfigError, DataError
from headwise.files.digest import file_digest

_CLOCK_EVERY = 4096  # lines between two looks at the clock
_SAMPLE = 500  # first lines, which tell whether a text is wrapped

DOCUMENTS = {
    ".tmx": "a translation memory",
    ".xlf": "a bilingual document",
    ".xliff": "a bilingual document",
    ".sdlxliff": "a bilingual document",
    ".po": "a message catalogue",
    ".srt": "subtitles",
    ".vtt": "subtitles",
    **dict.fromkeys((".html", ".htm", ".xhtml", ".xml", ".md", ".rst", ".tex", ".rtf"), "text with mark-up"),
    **dict.fromkeys((".docx", ".doc", ".odt", ".pdf", ".epub", ".pptx", ".odp", ".xlsx", ".ods"), "a document"),
}
"""Extensions of files that are not plain text."""


def refuse_documents(path: Path) -> None:
    """Refuse a file with the suffix of a document: its markup would be translated as text."""
    suffix = format_suffix(path)
    if suffix not in DOCUMENTS:
        return
    raise ConfigError(
        f"{path}: {DOCUMENTS[suffix]} ({suffix}) is not translated line by line: `headwise translate {path}` and "
        "headwise.translate_document translate documents; of other kinds, save the text, one per line"
    )


@dataclass(frozen=True)
class Survey:
    """Facts about a text file that was read to its end."""

    lines: int
    bytes: int
    """Bytes of its text, without line ends and compression."""
    digest: str
    """SHA-256 of the file."""
    size: int
    modified: int
    """Size and time of the last change, in nanoseconds: a file with the same two is not read again."""
    looks_wrapped: bool = False

    def check(self, path: Path) -> None:
        """Refuse a file that has changed since the survey."""
        if _stat(path) != (self.size, self.modified) and input_digest(path) != self.digest:
            raise DataError(f"{path}: it was changed while it was translated: remove the partial result to start anew")


def survey(path: Path, say: Callable[[str], None] = lambda text: None, *, paragraphs: bool = False) -> Survey:
    """Read a text file, which may be compressed; anything that is not text is an error that names the line."""
    size, modified = _stat(path)
    digest = input_digest(path)
    progress, lines, length = Throttle(say), 0, 0
    sample: list[str] = []
    texts = (text for _, text in numbered_lines(path))
    for lines, text in enumerate(join_paragraphs(texts) if paragraphs else texts, 1):
        length += len(text) if text.isascii() else len(text.encode())
        if lines <= _SAMPLE:
            sample.append(text)
        if lines % _CLOCK_EVERY == 0:
            progress.tick(f"reading {path}: {lines:,} lines")
    return Survey(lines, length, digest, size, modified, looks_wrapped(sample))


def input_digest(path: Path) -> str:
    """SHA-256 of an input file; one that cannot be read is a `DataError`."""
    with reading(path):
        return file_digest(path)


def _stat(path: Path) -> tuple[int, int]:
    with reading(path):
        found = path.stat()
    return found.st_size, found.st_mtime_ns
