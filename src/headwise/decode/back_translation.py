"""Back-translation: text of the target language and a model that translates it back make pairs to train on.

The target is what somebody wrote; only the source is made up (Sennrich et al., 2016). Sources that are drawn at random
teach more than the likeliest ones, once the model is good (Edunov et al., 2018); a tag before them tells the model
which pairs these are (Caswell et al., 2019).
"""

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headwise.atomic import replacing, write_json
from headwise.config import CleanConfig, to_tables
from headwise.data.clean import clean
from headwise.data.duplicates import SeenHashes
from headwise.data.files import numbered_lines, reading
from headwise.data.pair import Pair
from headwise.data.report import CleaningReport
from headwise.data.synthetic import note_path
from headwise.decode import bulk, partial
from headwise.decode.translator import TranslateOptions, Translation, Translator
from headwise.errors import ConfigError
from headwise.storage import read_json
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

    def made(self, translator: Translator) -> dict[str, Any]:
        """All that the result depends on. How many sentences are searched together is left out: after a batch that
        was too large for the memory, a smaller one must do."""
        options = {key: value for key, value in asdict(self.options).items() if key != "batch_tokens"}
        return {
            "model": bulk.model_digest(translator),
            "texts": {str(path): _digest(path) for path in self.texts},
            "max_lines": self.max_lines,
            "languages": list(self.languages),
            "search": options,
            "tag": self.tag,
            "clean": to_tables(self.clean),
        }


def back_translate(
    translator: Translator,
    synthetic: Synthetic,
    out: Path,
    *,
    say: Callable[[str], None],
    progress: Callable[[int], None] | None = None,
    stop: Callable[[], bool] = bool,
) -> CleaningReport | None:
    """Write the pairs, cleaned, as a TSV that training takes, and beside it how they were made (`OUT.json`).

    Goes on where an earlier start of the same was stopped, and does nothing where it was finished; None if it was
    stopped this time.
    """
    made = synthetic.made(translator)
    note = note_path(out)
    if out.exists():
        if not note.exists():
            raise ConfigError(f"{out}: is there already, and was not made here: choose another file")
        before = read_json(note)
        partial.refuse_changes(note, {key: before.get(key) for key in made} if isinstance(before, dict) else {}, made)
        say(f"{out} is complete already")
        return CleaningReport.from_json(before["pairs"])
    complete = bulk.translate_lines(
        translator,
        (pair.target for pair in synthetic.lines()),
        out,
        languages=synthetic.languages,
        options=synthetic.options,
        made=made,
        row=lambda number, text, found: usable(text, found),
        progress=lambda done: progress(done.lines) if progress is not None else None,
        stop=stop,
        say=say,
    )
    if not complete:
        return None
    report = CleaningReport()

    def write(rows: Iterator[bytes]) -> None:
        with replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(HEADER)
            for chunk, _ in clean(_pairs(synthetic, rows), synthetic.clean, report, SeenHashes()):
                file.writelines(f"{_tagged(pair.source, synthetic.tag)}\t{pair.target}\n" for pair in chunk)
            file.flush()
            os.fsync(file.fileno())
        write_json(note, {**made, "pairs": report.to_json()})

    partial.finish(out, write)
    return report


def usable(text: str, found: Translation) -> str:
    """The translation as one line; nothing if the length limit cut it off or it is no text: cleaning leaves it out."""
    return normalise(found.text) if found.complete and "\0" not in found.text else ""


def _pairs(synthetic: Synthetic, rows: Iterator[bytes]) -> Iterator[Pair]:
    for pair, row in zip(synthetic.lines(), rows, strict=True):
        yield pair._replace(source=row.decode().removesuffix("\n"))


def _tagged(source: str, tag: str) -> str:
    return f"{tag} {source}" if tag else source


def _digest(path: Path) -> str:
    with reading(path), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
