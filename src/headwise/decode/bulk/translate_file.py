"""File-to-file translation: resumable, and shared between processes and machines."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.data.read.files import numbered_lines
from headwise.decode.alignment import pharaoh
from headwise.decode.bulk.line_job import BulkControl, BulkResult, LineJob, run_jobs
from headwise.decode.bulk.merge import is_finished
from headwise.decode.bulk.paragraphs import join_paragraphs
from headwise.decode.bulk.survey import refuse_documents, survey
from headwise.decode.coverage import CoverageCheck
from headwise.decode.translation import TranslateOptions, Translation
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.translator import Translator

COVERAGE_SAMPLE = 500
"""First lines that are checked for characters that the model does not know."""

COMPRESSED = (".gz", ".xz", ".bz2", ".zst")


@dataclass(frozen=True)
class FileJob:
    """A file to translate, and how."""

    input: Path
    output: Path
    source: str | None
    target: str | None
    options: TranslateOptions
    prefix: str = ""
    paragraphs: bool = False
    """Lines up to an empty line are one text."""
    json: bool = False
    scores: bool = False

    def texts(self) -> Iterator[str]:
        lines = (text for _, text in numbered_lines(self.input))
        return join_paragraphs(lines) if self.paragraphs else lines

    def row(self, number: int, text: str, found: Translation) -> str:
        return translation_row(number, text, found, self.options, as_json=self.json, scores=self.scores)

    def settings(self, translator: Translator) -> dict[str, Any]:
        """Everything that the result depends on, except the input and the batch size."""
        unused = ("batch_tokens",) if self.options.sampling else ("batch_tokens", "seed")
        search = {name: value for name, value in self.options.as_table().items() if name not in unused}
        shape = {name: getattr(self, name) for name in ("prefix", "json", "scores", "paragraphs")}
        languages = translator.direction(self.source, self.target)
        model = translator.model_digest()
        return {"model": model, "engine": translator.engine, "languages": languages, **shape, **search}


@dataclass(frozen=True)
class FileTranslation(BulkResult):
    """How the translation of a file ended."""

    output: Path = Path()
    already: bool = False
    """The output was there already, from the same input, model and options."""


def translate_file(translator: Translator, job: FileJob, control: BulkControl) -> FileTranslation:
    """Translate a file into another; after a stop or a kill, the same call continues."""
    refuse_documents(job.input)
    if job.output.suffix in COMPRESSED:
        raise ConfigError(f"{job.output}: the output is plain text: choose a name without {job.output.suffix}")
    if job.output.exists() and job.input.is_file() and job.input.samefile(job.output):
        raise ConfigError(f"--output {job.output} is the input: choose another file")
    out = job.output.resolve()
    found = survey(job.input, control.note, paragraphs=job.paragraphs)
    settings = job.settings(translator) | {"input": found.digest}
    if is_finished(out, settings, protect_edits=True):
        return FileTranslation(output=out, already=True)
    if out.exists():
        control.note(f"note: {out} exists already; it is replaced when the translation is complete")
    if found.looks_wrapped and not job.paragraphs:
        control.note(f"note: the lines of {job.input} seem to be wrapped in mid-sentence: see --paragraphs")
    coverage = CoverageCheck(translator.tokenizer)
    coverage.add(itertools.islice(job.texts(), COVERAGE_SAMPLE))
    if coverage.note:
        control.note(f"note: of the first {COVERAGE_SAMPLE:,} lines, {coverage.note}")
    lines = LineJob(
        job.texts,
        out,
        settings,
        job.options,
        job.row,
        job.source,
        job.target,
        job.prefix,
        size=(found.lines, found.bytes),
        check=lambda: found.check(job.input),
    )
    result = run_jobs(translator, [lines], control)
    return FileTranslation(result.stopped, result.written, result.cut, result.terms, out)


def translation_row(
    number: int, text: str, found: Translation, options: TranslateOptions, *, as_json: bool, scores: bool
) -> str:
    """Output for a text, without the final line end: columns, one line per candidate, or a JSON object."""
    several = options.candidates > 1
    if as_json:
        record = {"source": text, **({"detected": found.detected} if found.detected else {}), **_as_dict(found)}
        if several:
            record["candidates"] = [_as_dict(candidate) for candidate in found.candidates]
        return json.dumps(record, ensure_ascii=False)
    rows = []
    alone = not (several or scores or options.alignments)
    for candidate in found.candidates:
        columns = [str(number)] if several else []
        columns += [f"{candidate.score:.4f}"] if scores else []
        columns += [candidate.text if alone else candidate.text.replace("\t", " ")]
        columns += [pharaoh(candidate.alignment)] if options.alignments else []
        rows.append("\t".join(columns))
    return "\n".join(rows)


def _as_dict(translation: Translation) -> dict[str, Any]:
    return {
        "text": translation.text,
        "score": translation.score,
        "tokens": translation.tokens,
        "alignment": translation.alignment,
        "complete": translation.complete,
        "missing_numbers": translation.missing_numbers,
        **({"terms": [asdict(term) for term in translation.terms]} if translation.terms else {}),
    }
