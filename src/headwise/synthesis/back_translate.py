"""Back-translation: training pairs from text in the target language, which a model translates back.

The target is authentic text; only the source is synthetic (Sennrich et al., 2016). Sampled sources teach more than the
most probable ones, once the model is good (Edunov et al., 2018); a tag before them tells the model which pairs are
synthetic (Caswell et al., 2019).
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from headwise.config import CleanConfig
from headwise.data.prepare.clean import clean
from headwise.data.prepare.cleaning_report import CleaningReport
from headwise.data.prepare.duplicates import SeenHashes
from headwise.data.prepare.synthetic import note_path
from headwise.data.read.files import numbered_lines
from headwise.data.read.pairs import Pair
from headwise.decode.bulk.line_job import BulkControl, BulkProgress, LineJob, run_jobs
from headwise.decode.bulk.merge import is_finished, record_path, write_rows
from headwise.decode.bulk.partial import refuse_changes, saved_by_all
from headwise.decode.bulk.share import WHOLE, Share
from headwise.decode.bulk.survey import input_digest, refuse_documents
from headwise.decode.search.options import SamplingOptions, options_from
from headwise.decode.translation import TranslateKeywords, TranslateOptions, Translation
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from headwise.files.atomic import write_json
from headwise.files.tables import read_json
from headwise.recipe import to_tables
from headwise.text.normalise import normalise

HEADER = "source\ttarget\n"

CUT = "\0"
"""Stands for a translation that was cut off at the length limit; no text contains NUL."""

CLEAN = CleanConfig()
"""The pairs are cleaned as training does by default."""

SAMPLED = TranslateOptions(beam=1, sampling=SamplingOptions())
"""The default search options."""


@dataclass(frozen=True)
class BackTranslation:
    """Outcome of a back-translation."""

    report: CleaningReport | None = None
    """Counts of the cleaning, once the pairs are written; of several processes, the last to finish writes them."""
    already: bool = False
    """The pairs were there already, from the same texts, model and options."""
    stopped: bool = False
    """Stopped early; everything is saved, and the same call continues."""


def back_translate(
    model: str | Path | Translator,
    text: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    source: str | None = None,
    target: str | None = None,
    tag: str = "",
    max_lines: int = 0,
    device: str = "auto",
    share: Share = WHOLE,
    progress: Callable[[BulkProgress], None] = lambda progress: None,
    stop: Callable[[], bool] = bool,
    say: Callable[[str], None] = lambda text: None,
    options: TranslateOptions | None = None,
    **search: Unpack[TranslateKeywords],
) -> BackTranslation:
    """Translate text of the target language back into the source language, and write the pairs as a TSV file.

    `model` translates from the language of the texts into that of the synthetic sources: `source` and `target` are its
    languages. Sources are sampled unless search options are given, such as `beam=4`. Every synthetic source begins with
    `tag`. `OUT.json` records how the pairs were produced. To continue after an interruption, repeat the call.
    """
    chosen = options_from(TranslateOptions, options, search) if options or search else SAMPLED
    files = [Path(text)] if isinstance(text, str | Path) else [Path(each) for each in text]
    path, tag = _checked_output(Path(out)), " ".join(tag.split())
    _check_files(files)
    control = BulkControl(share, progress, stop, say)
    texts = partial(target_texts, files, max_lines)
    lines = size = 0
    for pair in texts():  # everything is read first, so that a damaged file is found before any work is done
        lines += 1
        size += len(pair.target.encode())
    translator = model if isinstance(model, Translator) else Translator(model, device=device)
    translator.direction(source, target)
    settings = {
        "model": translator.model_digest(),
        "texts": {str(file): input_digest(file) for file in files},
        "max_lines": max_lines,
        "languages": [source, target],
        # Not the batch size: after running out of memory, a call with a smaller one must be able to continue.
        "search": {key: value for key, value in asdict(chosen).items() if key != "batch_tokens"},
        "tag": tag,
        "clean": to_tables(CLEAN),
    }
    if (report := earlier_report(path, settings, share)) is not None:
        return BackTranslation(report, already=True)
    job = LineJob(
        lambda: (pair.target for pair in texts()),
        path,
        settings,
        chosen,
        row=lambda number, text, found: usable_line(found),
        source=source,
        target=target,
        size=(lines, size),
        write=lambda rows: _write_pairs(path, texts(), rows, tag, settings),
    )
    result = run_jobs(translator, [job], control)
    return BackTranslation(_report(path) if result.written else None, stopped=result.stopped)


def _checked_output(out: Path) -> Path:
    if out.suffix.lower() not in (".tsv", ".tab"):
        raise ConfigError(f"--out {out}: the pairs are written as .tsv")
    if not out.parent.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}")
    return out


def _check_files(files: Sequence[Path]) -> None:
    if not files:
        raise ConfigError("nothing to translate: give --text F")
    if Path("-") in files:
        raise ConfigError("--text needs files: standard input cannot be read again after an interruption")
    for file in files:
        refuse_documents(file)


def target_texts(files: Sequence[Path], max_lines: int) -> Iterator[Pair]:
    """The lines as targets of pairs, with file and line number; the sources are empty. `max_lines` 0: all."""
    found = (Pair("", normalise(text), str(path), number) for path in files for number, text in numbered_lines(path))
    return itertools.islice(found, max_lines or None)


def _write_pairs(out: Path, texts: Iterator[Pair], rows: Iterator[bytes], tag: str, settings: dict[str, Any]) -> None:
    """Clean the pairs and write them, and beside them how they were produced."""
    report = CleaningReport()
    cleaned = clean(_uncut(texts, rows, report), CLEAN, report, SeenHashes())
    lines = (f"{tag} {pair.source}".lstrip() + f"\t{pair.target}\n" for chunk, _ in cleaned for pair in chunk)
    write_rows(out, (line.encode() for line in itertools.chain([HEADER], lines)))
    write_json(note_path(out), {**settings, "pairs": report.to_json()})


def _uncut(texts: Iterator[Pair], rows: Iterator[bytes], report: CleaningReport) -> Iterator[Pair]:
    """The pairs whose translation was not cut off at the length limit."""
    for pair, row in zip(texts, rows, strict=True):
        source = row.decode().removesuffix("\n")
        if source == CUT:
            report.read += 1
            report.drop("cut", pair)
        else:
            yield pair._replace(source=source)


def earlier_report(out: Path, settings: dict[str, Any], share: Share = WHOLE) -> CleaningReport | None:
    """The report of an earlier, finished call with the same settings; None: there was none.

    An existing file with other pairs is refused.
    """
    if is_finished(out, settings):
        if share.count == 1:
            record_path(out).unlink(missing_ok=True)
        return _report(out)
    note = note_path(out)
    # A process that was killed between writing the pairs and their record has left its partial results.
    if not out.exists() or saved_by_all(out, share).complete:
        return None
    if not note.exists():
        raise ConfigError(f"{out} exists already, and back-translation did not write it: choose another file")
    before = read_json(note)
    known = {key: before.get(key) for key in settings} if isinstance(before, dict) else {}
    refuse_changes(note, known, settings)
    return _report(out)


def _report(out: Path) -> CleaningReport:
    return CleaningReport.from_json(read_json(note_path(out))["pairs"])


def usable_line(found: Translation) -> str:
    """The translation as one line: `CUT` if it was cut off at the length limit, empty if it contains NUL."""
    if not found.complete:
        return CUT
    return normalise(found.text) if "\0" not in found.text else ""
