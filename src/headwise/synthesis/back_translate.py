"""Back-translation: text of the target language and a model that translates it back make pairs to train on.

The target is what somebody wrote; only the source is made up (Sennrich et al., 2016). Sources that are drawn at random
teach more than the likeliest ones, once the model is good (Edunov et al., 2018); a tag before them tells the model
which pairs these are (Caswell et al., 2019).
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headwise.config import CleanConfig, to_tables
from headwise.data.prepare.clean import clean
from headwise.data.prepare.cleaning_report import CleaningReport
from headwise.data.prepare.duplicates import SeenHashes
from headwise.data.prepare.synthetic import note_path
from headwise.data.read.files import numbered_lines, reading
from headwise.data.read.pairs import Pair
from headwise.decode.bulk import lines as bulk
from headwise.decode.bulk import partial
from headwise.decode.bulk.partial import WHOLE, Done, Share
from headwise.decode.translator import TranslateOptions, Translation, Translator
from headwise.errors import ConfigError
from headwise.files.atomic import write_json
from headwise.files.digest import file_digest
from headwise.files.tables import read_json
from headwise.text.normalise import normalise

HEADER = "source\ttarget\n"


@dataclass(frozen=True)
class Synthetic:
    """What to make pairs of, and how."""

    texts: Sequence[Path]
    languages: tuple[str | None, str | None]
    """Of the model: from the texts' language to that of the synthetic sources."""
    options: TranslateOptions
    tag: str = ""
    """What every synthetic source begins with."""
    max_lines: int = 0
    """0: all."""
    clean: CleanConfig = field(default_factory=CleanConfig)

    def lines(self) -> Iterator[Pair]:
        """The texts line by line, with where they stand; there are no sources yet."""
        found = (
            Pair("", normalise(text), str(path), number) for path in self.texts for number, text in numbered_lines(path)
        )
        return itertools.islice(found, self.max_lines or None)

    def size(self) -> tuple[int, int]:
        """How many lines, and bytes of them."""
        lines, size = 0, 0
        for pair in self.lines():
            lines += 1
            size += len(pair.target.encode())
        return lines, size

    def made(self, translator: Translator) -> dict[str, Any]:
        """All that the result depends on. How many sentences are searched together is left out: after a batch that
        was too large for the memory, a smaller one must do."""
        options = {key: value for key, value in asdict(self.options).items() if key != "batch_tokens"}
        return {
            "model": bulk.model_digest(translator),
            "texts": _digests(self.texts),
            "max_lines": self.max_lines,
            "languages": list(self.languages),
            "search": options,
            "tag": self.tag,
            "clean": to_tables(self.clean),
        }


@dataclass(frozen=True)
class Ended:
    """How far it came."""

    complete: bool
    """Whether all is translated that was this process's to translate; else it was stopped."""
    report: CleaningReport | None = None
    """Of the pairs, if this process made them: of several, whichever ends last does."""


def back_translate(
    translator: Translator,
    synthetic: Synthetic,
    out: Path,
    made: dict[str, Any],
    *,
    share: Share = WHOLE,
    say: Callable[[str], None],
    progress: Callable[[Done], None] = lambda done: None,
    stop: Callable[[], bool] = bool,
) -> Ended:
    """Write the pairs, cleaned, as a TSV that training takes, and beside it how they were `made` (`OUT.json`).

    Goes on where an earlier start of the same was stopped.
    """
    complete = bulk.translate_lines(
        translator,
        (pair.target for pair in synthetic.lines()),
        out,
        languages=synthetic.languages,
        options=synthetic.options,
        made=made,
        row=lambda number, text, found: usable(text, found),
        share=share,
        progress=progress,
        stop=stop,
        say=say,
    )
    if not complete:
        return Ended(False)

    def write(rows: Iterator[bytes]) -> None:
        report = CleaningReport()
        cleaned = clean(_pairs(synthetic, rows), synthetic.clean, report, SeenHashes())
        lines = (f"{_tagged(pair.source, synthetic.tag)}\t{pair.target}\n" for chunk, _ in cleaned for pair in chunk)
        partial.write_rows(out, (line.encode() for line in itertools.chain([HEADER], lines)))
        write_json(note_path(out), {**made, "pairs": report.to_json()})

    return Ended(True, _report(out) if partial.finish_together(out, made, share, write) else None)


def made_before(out: Path, made: dict[str, Any], share: Share = WHOLE) -> CleaningReport | None:
    """The report of pairs that are there already, `made` in the same way; None: they are to be made. Pairs that were
    made in another way, or elsewhere, are refused."""
    if partial.is_made(out, made):
        if share.count == 1:
            partial.made_path(out).unlink(missing_ok=True)
        return _report(out)
    note = note_path(out)
    # A kill may have come between the pairs and what is said of them: then the partial results are there still.
    if not out.exists() or partial.progress_of(out, share).complete:
        return None
    if not note.exists():
        raise ConfigError(f"{out}: is there already, and was not made here: choose another file")
    before = read_json(note)
    partial.refuse_changes(note, {key: before.get(key) for key in made} if isinstance(before, dict) else {}, made)
    return _report(out)


def _report(out: Path) -> CleaningReport:
    return CleaningReport.from_json(read_json(note_path(out))["pairs"])


def usable(text: str, found: Translation) -> str:
    """The translation as one line; nothing if the length limit cut it off or it is no text: cleaning leaves it out."""
    return normalise(found.text) if found.complete and "\0" not in found.text else ""


def _pairs(synthetic: Synthetic, rows: Iterator[bytes]) -> Iterator[Pair]:
    for pair, row in zip(synthetic.lines(), rows, strict=True):
        yield pair._replace(source=row.decode().removesuffix("\n"))


def _tagged(source: str, tag: str) -> str:
    return f"{tag} {source}" if tag else source


def _digests(paths: Sequence[Path]) -> dict[str, str]:
    digests = {}
    for path in paths:
        with reading(path):
            digests[str(path)] = file_digest(path)
    return digests
