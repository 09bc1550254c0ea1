"""Translation of several documents and whole folders, one after the other, and resumable as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwise.documents.formats.format_table import is_document, output_suffix
from headwise.documents.translate_document import (
    DocumentOptions,
    DocumentProgress,
    DocumentTranslation,
    document_identity,
    translate_document,
)
from headwise.errors import ConfigError, DataError
from headwise.files.atomic import write_json
from headwise.files.digest import bytes_digest

if TYPE_CHECKING:
    from headwise.decode.translator import Translator

RECORD = ".headwise-translated.json"
"""File in an output folder that lists its finished documents until all of them are."""


@dataclass(frozen=True)
class DocumentPair:
    """A document, and the file for its translation."""

    input: Path
    output: Path


@dataclass(frozen=True)
class DocumentPlan:
    """The documents that a command translates."""

    pairs: tuple[DocumentPair, ...]
    skipped: tuple[Path, ...] = ()
    """Files of folders that are not documents."""
    folder: Path | None = None
    """The output folder, if there are several outputs in one."""


@dataclass(frozen=True)
class DocumentResult:
    """How one of several documents ended: its translation, or what is wrong with it."""

    pair: DocumentPair
    translation: DocumentTranslation | None = None
    error: str = ""


def plan_documents(inputs: Sequence[Path], output: Path | None, target: str) -> DocumentPlan:
    """The documents that are meant by files and folders, with the outputs: `report.de.docx` beside `report.docx`.

    An output is the file for a single input, or the folder for several. A folder is translated with all below it.
    """
    missing = [path for path in inputs if not path.exists()]
    if missing:
        raise DataError(f"{missing[0]}: no such file or folder")
    if len(inputs) == 1 and inputs[0].is_file():
        folder = output if output is not None and output.is_dir() else None
        chosen = output if output is not None and folder is None else _named(inputs[0], folder, target)
        return DocumentPlan((DocumentPair(inputs[0], chosen),))
    if output is not None and output.exists() and not output.is_dir():
        raise ConfigError(f"{output} is a file: several documents are written into a folder")
    pairs, skipped = list[DocumentPair](), list[Path]()
    for path in inputs:
        if path.is_dir():
            into = output or _folder_beside(path, target)
            into = into / path.resolve().name if len(inputs) > 1 and output is not None else into
            for file in _below(path, into):
                if is_document(file.name):
                    pairs.append(DocumentPair(file, _renamed(into / file.relative_to(path))))
                else:
                    skipped.append(file)
        else:
            pairs.append(DocumentPair(path, _named(path, output, target)))
    _refuse_collisions(pairs)
    one_folder = output or (_folder_beside(inputs[0], target) if len(inputs) == 1 else None)
    return DocumentPlan(tuple(pairs), tuple(skipped), one_folder)


def _folder_beside(path: Path, target: str) -> Path:
    """The folder for the translations of a folder: `docs.de` beside `docs`, also where that is given as `.` or `..`."""
    whole = path.resolve()
    if not whole.name:
        raise ConfigError(f"{path}: give a folder below it, or --output")
    return (whole if path.name in ("", "..") else path).with_name(f"{whole.name}.{target}")


def translate_documents(
    translator: Translator,
    plan: DocumentPlan,
    options: DocumentOptions,
    *,
    progress: Callable[[DocumentPair, DocumentProgress], None] = lambda pair, progress: None,
    stop: Callable[[], bool] = bool,
) -> Iterator[DocumentResult]:
    """Translate documents one after the other; one that cannot be read does not keep the others from it.

    After a stop or a kill, the same call continues: documents that are finished are not translated again.
    """
    record = _Record(plan.folder)
    for pair in plan.pairs:
        try:
            identity = document_identity(translator, pair.input, options)
            if record.has(pair.output, identity):
                continue
            pair.output.parent.mkdir(parents=True, exist_ok=True)
            found = translate_document(
                translator,
                pair.input,
                pair.output,
                options,
                progress=lambda now, pair=pair: progress(pair, now),  # type: ignore[misc]
                stop=stop,
            )
        except DataError as error:
            yield DocumentResult(pair, error=str(error))
            continue
        if not found.stopped:
            record.add(pair.output, identity)
        yield DocumentResult(pair, found)
        if found.stopped:
            return
    record.remove()


class _Record:
    """The finished documents of a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / RECORD if folder is not None else None
        self._done: dict[str, str] = {}
        if self._path is not None and self._path.is_file():
            try:
                stored = json.loads(self._path.read_bytes())
            except ValueError:
                stored = {}
            self._done = stored if isinstance(stored, dict) else {}

    def has(self, output: Path, identity: str) -> bool:
        return self._done.get(str(output)) == _with_content(identity, output)

    def add(self, output: Path, identity: str) -> None:
        if self._path is not None:
            self._done[str(output)] = _with_content(identity, output)
            write_json(self._path, self._done)

    def remove(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _with_content(identity: str, output: Path) -> str:
    """A digest of the work and of the output: one that was edited or removed is made again."""
    content = output.read_bytes() if output.is_file() else b""
    return bytes_digest(identity.encode() + content)


def _named(path: Path, folder: Path | None, target: str) -> Path:
    """`report.de.docx` for `report.docx`, beside it or in a folder."""
    suffix = output_suffix(path.name)
    return (folder or path.parent) / f"{path.stem}.{target}{suffix}"


def _renamed(path: Path) -> Path:
    """The name of a translation in a folder of its own: that of the file, with the suffix that is written."""
    suffix = output_suffix(path.name)
    return path if suffix == path.suffix.lower() else path.with_suffix(suffix)


def _below(folder: Path, output: Path) -> Iterator[Path]:
    """The files below a folder in the order of their names, without hidden ones and what is in the output folder."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink() or path.resolve() == output.resolve():
            continue
        if path.is_dir():
            yield from _below(path, output)
        elif path.is_file():
            yield path


def _refuse_collisions(pairs: Sequence[DocumentPair]) -> None:
    inputs: dict[Path, Path] = {}
    for pair in pairs:
        other = inputs.setdefault(pair.output, pair.input)
        if other != pair.input:
            raise ConfigError(f"{other} and {pair.input} would both be written to {pair.output}: translate them apart")
