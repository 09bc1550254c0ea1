"""Documents on the command line of `headwise translate`: files of known formats, and folders of them."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from headwise.cli.console import Countdown, say
from headwise.cli.options import model_folder, translator
from headwise.cli.report_terms import check_glossary
from headwise.cli.shard import STOPPED, launched, own_device
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.translation import TranslateOptions
    from headwise.documents.translate_document import DocumentProgress
    from headwise.documents.translate_files import DocumentPair, DocumentResult

SHOWN = 5
"""Notes about a document that are printed."""
LINES = (".txt",)
"""Suffixes of files that --input translates line by line."""


def add_document_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("documents")
    group.add_argument(
        "--columns", default="", metavar="NAMES", help="columns of a CSV or TSV file to translate: headings or numbers"
    )
    group.add_argument(
        "--again", action="store_true", help="also translate entries that have a translation (PO, XLIFF, TMX)"
    )


def given_documents(args: argparse.Namespace) -> list[Path]:
    """The documents and folders among the arguments; none if texts or lines are to be translated."""
    from headwise.documents.formats.format_table import is_document

    if args.input not in (None, "-"):
        path = Path(args.input)
        as_document = path.is_dir() or (is_document(path.name) and path.suffix.lower() not in LINES)
        return [path] if as_document and not args.text else []
    paths = [Path(text) for text in args.text if is_path(text)]
    if not paths:
        return []
    if len(paths) < len(args.text):
        text = next(text for text in args.text if not is_path(text))
        raise ConfigError(f"{text}: no document of this name: give either documents or texts")
    return paths


def is_path(text: str) -> bool:
    """Whether an argument means a document or a folder. A folder is meant by a path: `docs/`, not `docs`, a word.

    One word with the suffix of a document means a file that may be missing: nobody translates `report.docx` as text.
    """
    from headwise.documents.formats.format_table import is_document

    try:
        path = Path(text)
        if path.is_dir():
            return "/" in text or os.sep in text
        return is_document(path.name) and (path.is_file() or len(text.split()) == 1)
    except (OSError, ValueError):  # too long for a name, or with a null character
        return False


def translate_given_documents(args: argparse.Namespace, paths: list[Path], options: "TranslateOptions") -> int:
    from headwise.documents.formats.format_table import format_of
    from headwise.documents.translate_document import DocumentOptions
    from headwise.documents.translate_files import plan_documents, translate_documents
    from headwise.interrupt import StopRequest
    from headwise.text.language.codes import short_code

    refuse_line_options(args)
    engine = translator(args, own_device(args.device, model_folder(args)))
    target = engine.direction(args.source_language, args.target_language)[1] or "translated"
    check_glossary(options, engine.direction(args.source_language, args.target_language))
    plan = plan_documents(paths, Path(args.output) if args.output else None, short_code(target))
    if not plan.pairs:
        raise ConfigError(f"{paths[0]} is a folder without documents")
    if plan.skipped:
        say(f"{len(plan.skipped):,} other files are left out ({plan.skipped[0].name} first)")
    columns = tuple(name.strip() for name in args.columns.split(",") if name.strip())
    if columns and not any(format_of(pair.input.name).by_columns for pair in plan.pairs):
        raise ConfigError(f"--columns is for CSV and TSV files: {plan.pairs[0].input} is none")
    chosen = DocumentOptions(args.source_language, target, options, args.again, columns)
    failed = 0
    with StopRequest() as stop, _Progress(len(plan.pairs)) as progress:
        for result in translate_documents(engine, plan, chosen, progress=progress.show, stop=stop.__bool__):
            progress.finish()
            failed += bool(result.error)
            report(result, options.glossary is not None)
            if result.translation and result.translation.stopped:
                say(f"stopped; {STOPPED}")
                return stop.status
    return 2 if failed else 0


class _Progress:
    """The progress of one document after the other."""

    def __init__(self, documents: int) -> None:
        self._several = documents > 1
        self._countdown: Countdown | None = None

    def __enter__(self) -> "_Progress":
        return self

    def show(self, pair: "DocumentPair", now: "DocumentProgress") -> None:
        if self._countdown is None:
            self._countdown = Countdown("texts").__enter__()
            if self._several:
                say(f"{pair.input} ...")
        self._countdown.show(now.segments, now.total_segments, work=now.characters, total_work=now.total_characters)

    def finish(self) -> None:
        if self._countdown is not None:
            self._countdown.__exit__()
            self._countdown = None

    def __exit__(self, *_: object) -> None:
        self.finish()


def report(result: "DocumentResult", with_terms: bool) -> None:
    """Print what became of a document: the path of the translation on standard output, everything else as notes."""
    from headwise.documents.formats.format_table import format_of

    if result.error:
        say(f"headwise: {result.error}")
        return
    found = result.translation
    if found is None or found.stopped:
        return
    for text, note in found.notes[:SHOWN]:
        say(f"{result.pair.input}: {note}: {_shortened(text)}")
    if len(found.notes) > SHOWN:
        say(f"{result.pair.input}: {len(found.notes) - SHOWN:,} more texts need checking")
    if remark := format_of(result.pair.input.name).remark:
        say(f"{result.pair.input}: {remark}")
    if with_terms:
        say(f"{result.pair.input}: {found.terms}")
    say(f"{found.segments:,} texts translated, written to {found.output}")


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def refuse_line_options(args: argparse.Namespace) -> None:
    """Refuse options that have no meaning for a document."""
    given = {
        "--json": args.json,
        "--scores": args.scores,
        "--alignments": args.alignments,
        "--paragraphs": args.paragraphs,
        "--prefix": args.prefix,
        "--candidates": args.candidates > 1,
        "--shard": args.shard,
    }
    _refuse(given, "is for lines of text, not for documents")
    if launched():
        raise ConfigError("a document is translated by one process: start the command without torchrun")


def refuse_document_options(args: argparse.Namespace) -> None:
    """Refuse options that have no meaning for texts and lines."""
    _refuse({"--columns": args.columns, "--again": args.again}, "is for documents, not for lines of text")


def _refuse(options: dict[str, object], why: str) -> None:
    """Refuse the options that were given."""
    for name, value in options.items():
        if value:
            raise ConfigError(f"{name} {why}")
