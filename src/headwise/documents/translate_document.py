"""Translation of whole documents, in resumable steps: the output appears when it is complete."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from headwise.decode.auto_source import AUTO_SOURCE
from headwise.decode.glossary.rendering import MISSING
from headwise.decode.glossary.term_report import TermReport
from headwise.decode.translation import TranslateOptions
from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.format_table import format_of, output_suffix
from headwise.documents.journal import Journal, Stored, journal_path
from headwise.documents.marked_text import MarkedText
from headwise.documents.signature import looks_like
from headwise.documents.translate_texts import Languages, TranslatedText, translate_texts
from headwise.errors import ConfigError, DataError
from headwise.files.atomic import write_bytes
from headwise.files.digest import bytes_digest
from headwise.files.lock import locked, remove_lock
from headwise.text.language.codes import short_code

if TYPE_CHECKING:
    from headwise.decode.translator import Translator

LARGEST = 512 * 2**20
"""Bytes of a file that is read."""
STEP_SECONDS = 2.0
"""Time that the texts of one step take about: a kill costs no more."""
FIRST_STEP = 2_000
"""Characters of the first step; later ones are as large as the speed allows."""


@dataclass(frozen=True)
class DocumentOptions:
    """Options for translating a document."""

    source: str | None = None
    target: str | None = None
    search: TranslateOptions = field(default_factory=TranslateOptions)
    again: bool = False
    """Also translate what has a translation already."""
    columns: tuple[str, ...] = ()
    """Columns of a table, by heading or number."""


@dataclass(frozen=True)
class DocumentProgress:
    """Progress of the translation of a document."""

    segments: int
    total_segments: int
    characters: int
    total_characters: int


@dataclass(frozen=True)
class DocumentTranslation:
    """Outcome of the translation of a document."""

    output: Path
    segments: int = 0
    stopped: bool = False
    """Stopped early, everything saved: the same call continues."""
    notes: tuple[tuple[str, str], ...] = ()
    """What could not be done, each with the text that it concerns: missing numbers and terms, translations that
    were cut off."""
    terms: TermReport = field(default_factory=TermReport)
    """What became of the terms of a glossary, by the number of the text."""


def translate_bytes(
    translator: Translator, data: bytes, name: str, options: DocumentOptions
) -> tuple[bytes, list[TranslatedText]]:
    """Translate a document in memory: its bytes, and the translation of each segment. `name` gives the format."""
    document = open_document(data, name, options)
    found = translate_texts(translator, document.segments, Languages(options.source, options.target), options.search)
    return document.write([each.text for each in found]), found


def open_document(data: bytes, name: str, options: DocumentOptions) -> Document:
    """The document in these bytes; one that cannot be read is a DataError that names it."""
    if len(data) > LARGEST:
        raise DataError(
            f"{name}: {len(data) / 2**20:,.0f} MB; documents of at most {LARGEST // 2**20:,} MB can be read"
        )
    read = format_of(name).read
    try:
        return read(data, ReadOptions(_short(options.source), _short(options.target), options.again, options.columns))
    except DataError as error:
        what = looks_like(data, PurePath(name).suffix.lower())
        hint = f" (it looks like {what})" if what else ""
        raise DataError(f"{name}: {error}{hint}") from error


def _short(language: str | None) -> str | None:
    """The code of a language as documents name it."""
    return short_code(language) if language and language != AUTO_SOURCE else None


def translate_document(
    translator: Translator,
    input: str | Path,
    output: str | Path,
    options: DocumentOptions,
    *,
    progress: Callable[[DocumentProgress], None] = lambda progress: None,
    stop: Callable[[], bool] = bool,
) -> DocumentTranslation:
    """Translate a document into a file of the same format; after a stop or a kill, the same call continues.

    The output appears when it is complete. `progress` is called after each step; `stop` returns whether to stop early.
    """
    source, out = Path(input), Path(output)
    _check_paths(source, out)
    data = _read(source)
    document = open_document(data, source.name, options)
    journal_file = journal_path(out)
    lock = journal_file.with_name(f"{journal_file.name}.lock")
    with locked(lock, f"{out}: another process is translating into this file"):
        identity = _identity(translator, data, options)
        journal = Journal(journal_file, identity, document.segments)
        try:
            finished = _translate(translator, journal, document.segments, options, progress, stop)
        finally:
            journal.close()
        if not finished:
            return DocumentTranslation(out, len(document.segments), stopped=True)
        write_bytes(out, document.write([stored.text for stored in journal.done]))
        journal.remove()
        remove_lock(lock)
    notes = [
        (segment.text, note)
        for segment, stored in zip(document.segments, journal.done, strict=True)
        for note in stored.notes
    ]
    uses = ((number, use) for number, stored in enumerate(journal.done, 1) for use in stored.terms)
    return DocumentTranslation(out, len(document.segments), notes=tuple(notes), terms=TermReport.of(uses))


def _check_paths(source: Path, out: Path) -> None:
    wanted = output_suffix(source.name)
    if wanted != out.suffix.lower() and format_of(source.name).suffixes != format_of(out.name).suffixes:
        raise ConfigError(f"{out}: a translation of {source.name} is written as {wanted}: choose such a name")
    if out.exists() and source.exists() and source.samefile(out):
        raise ConfigError(f"--output {out} is the input: choose another file")
    if not out.parent.is_dir():
        raise ConfigError(f"{out}: the folder {out.parent} does not exist")


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path}: larger than {LARGEST // 2**20:,} MB")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error


def document_identity(translator: Translator, path: Path, options: DocumentOptions) -> str:
    """A string that is the same for the same document, model and options."""
    return json.dumps(_identity(translator, _read(path), options), sort_keys=True)


def _identity(translator: Translator, data: bytes, options: DocumentOptions) -> dict[str, Any]:
    """Everything that the translations depend on."""
    settings = replace(options.search, batch_tokens=0).as_table()
    return {
        "input": bytes_digest(data),
        "model": translator.model_digest(),
        "languages": list(translator.direction(options.source, options.target)),
        "again": options.again,
        "columns": list(options.columns),
        "search": settings,
    }


def _translate(
    translator: Translator,
    journal: Journal,
    segments: Sequence[MarkedText],
    options: DocumentOptions,
    progress: Callable[[DocumentProgress], None],
    stop: Callable[[], bool],
) -> bool:
    """Translate what the journal lacks, step by step; False if stopped."""
    sizes = [len(segment.text) for segment in segments]
    languages, step = Languages(options.source, options.target), FIRST_STEP

    def report() -> None:
        done = len(journal.done)
        progress(DocumentProgress(done, len(segments), sum(sizes[:done]), sum(sizes)))

    report()
    while len(journal.done) < len(segments):
        if stop():
            return False
        first = last = len(journal.done)
        size = 0
        while last < len(segments) and (size < step or last == first):
            size += sizes[last]
            last += 1
        begun = time.perf_counter()
        found = translate_texts(translator, segments[first:last], languages, options.search)
        journal.add([_stored(each) for each in found])
        step = max(FIRST_STEP, round(size / max(time.perf_counter() - begun, 1e-3) * STEP_SECONDS))
        report()
    return True


def _stored(translated: TranslatedText) -> Stored:
    notes = []
    if translated.found.missing_numbers:
        notes.append(f"without the numbers {', '.join(translated.found.missing_numbers)}")
    if not translated.found.complete:
        notes.append("cut off at the length limit")
    terms = translated.found.terms
    notes += [f"without the term {use}" for use in terms if use.status == MISSING]
    return Stored(translated.text, notes, terms)
