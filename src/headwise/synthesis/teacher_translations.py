"""Translations by a teacher: pairs of source and translation, written once per training corpus and reused."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from headwise.config import DataConfig
from headwise.data.prepare.fingerprint import fingerprint
from headwise.data.read.corpus import corpus_languages
from headwise.data.read.files import numbered_lines
from headwise.decode.bulk.line_job import BulkControl, LineJob, run_jobs
from headwise.decode.bulk.merge import is_finished, write_rows
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.synthesis.back_translate import CUT, usable_line
from headwise.synthesis.compare import nameable_languages
from headwise.synthesis.sources import ChosenSources
from headwise.train.job import Say


def say_unused(folder: Path, paths: Sequence[Path], say: Say) -> None:
    """Report that existing translations were made with other settings and are not used."""
    wanted = {path.name for path in paths}
    there = {path.name.split(".tsv")[0] + ".tsv" for path in folder.glob("translations-*.tsv*")}
    if there - wanted and not there & wanted:
        say(
            f"note: the translations in {folder} are not used, because the sources, the teacher or the search (--beam, "
            "--keep-references) have changed: all sources are translated again"
        )


def search_settings(teacher: Translator, options: TranslateOptions) -> dict[str, Any]:
    """Everything that the translations depend on, other than the sources."""
    search = {key: value for key, value in asdict(options).items() if key != "batch_tokens"}
    return {"model": teacher.model_digest(), "search": search}


def translation_paths(
    teacher: Translator, data: DataConfig, chosen: ChosenSources, options: TranslateOptions
) -> list[Path]:
    """The file for the translations of each corpus.

    The files are beside the folder of the sources, not in it: a damaged folder is replaced, and translations are
    expensive.
    """
    key = fingerprint(search_settings(teacher, options))
    return [
        chosen.folder.with_name(f"translations-{chosen.folder.name}-{number}-{key}.tsv")
        for number in range(len(data.train))
    ]


def translate_sources(
    teacher: Translator,
    data: DataConfig,
    chosen: ChosenSources,
    paths: Sequence[Path],
    options: TranslateOptions,
    control: BulkControl,
) -> bool:
    """Write pairs of source and translation, one file per corpus; existing files are used. False if stopped."""
    settings = search_settings(teacher, options)
    jobs = []
    for number, (corpus, out) in enumerate(zip(data.train, paths, strict=True)):
        if is_finished(out, settings) or out.exists():
            continue
        source, target = nameable_languages(teacher, corpus_languages(corpus, data))
        job = LineJob(
            partial(_texts, chosen.source_path(number)),
            out,
            settings,
            options,
            row=lambda number, text, found: f"{text}\t{usable_line(found)}",
            source=source,
            target=target,
            size=(chosen.sources[number], 0),
            write=partial(_write_uncut, out),
        )
        jobs.append(job)
    result = run_jobs(teacher, jobs, control) if jobs else None
    if result is not None and result.written and result.cut:
        lines = sum(chosen.sources)
        control.say(f"{result.cut:,} of {lines:,} translations were cut off at the length limit and are not used")
    return result is None or not result.stopped


def _texts(path: Path) -> Iterator[str]:
    return (text for _, text in numbered_lines(path))


def _write_uncut(out: Path, rows: Iterator[bytes]) -> None:
    """Write the rows whose translation was not cut off at the length limit."""
    write_rows(out, (row for row in rows if not row.endswith(f"\t{CUT}\n".encode())))
