"""Sources for a teacher to translate: the source sides of corpora, cleaned, each once, without the validation data."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from headwise.config import CorpusConfig, DataConfig, Recipe
from headwise.data.prepare.clean import clean, pair_hashes
from headwise.data.prepare.cleaning_report import CleaningReport, total
from headwise.data.prepare.disk_cache import cached
from headwise.data.prepare.duplicates import SeenHashes
from headwise.data.prepare.fingerprint import fingerprint, hash_files
from headwise.data.prepare.held_out import HeldOut, most_held_out
from headwise.data.prepare.progress import Throttle, counted
from headwise.data.prepare.synthetic import never_held_out, synthetic_files
from headwise.data.read.corpus import corpus_languages, corpus_paths, read_corpus
from headwise.data.read.files import numbered_lines
from headwise.data.read.pairs import Pair
from headwise.data.read.text_files import text_paths
from headwise.errors import DataError
from headwise.files.atomic import write_json
from headwise.recipe import to_tables
from headwise.synthesis.back_translate import HEADER
from headwise.text.language.codes import Direction
from headwise.train.job import Say

VERSION = 1


@dataclass(frozen=True)
class ChosenSources:
    """The chosen sources: one file per training corpus."""

    folder: Path
    sources: tuple[int, ...]
    """Number of lines of each file."""
    references: tuple[bool, ...]
    """Whether the student also trains on the pairs of each corpus."""
    held_out: tuple[Direction, ...]
    """Directions of the held-out validation pairs."""
    report: str

    def source_path(self, number: int) -> Path:
        return self.folder / f"sources-{number}.txt"

    def reference_path(self, number: int) -> Path:
        return self.folder / f"references-{number}.tsv"

    def held_out_path(self, number: int) -> Path:
        return self.folder / f"held_out-{number}.tsv"


def choose_sources(recipe: Recipe, folder: Path, keep_references: bool, say: Say) -> ChosenSources:
    """Clean the corpora, hold out pairs for validation unless the recipe has some, and keep each source once."""
    data = recipe.data
    files = [path for corpus in data.train for path in _files(corpus, data)]
    hashes = hash_files(files, folder, say)
    synthetic = [] if data.valid else synthetic_files(data)
    key = fingerprint(
        {
            "version": VERSION,
            "files": [[str(path), hashes[path]] for path in files],
            "corpora": [[to_tables(corpus), corpus_languages(corpus, data)] for corpus in data.train],
            "held_out": 0 if data.valid else data.held_out,
            "seed": recipe.seed,
            "clean": to_tables(data.clean),
            "references": keep_references,
            **({"synthetic": synthetic} if synthetic else {}),
        }
    )
    return cached(folder, key, say, lambda home: _choose(recipe, home, keep_references, say), _open)


def _choose(recipe: Recipe, home: Path, keep_references: bool, say: Say) -> None:
    data = recipe.data
    held_out = {} if data.valid else _hold_out(recipe, say)
    for number, pairs in enumerate(held_out.values()):
        with _new_file(home / f"held_out-{number}.tsv") as file:
            file.writelines([HEADER, *map(_row, pairs)])
    reports = [CleaningReport() for _ in data.train]
    references = [keep_references and not corpus.text for corpus in data.train]
    seen, translated = SeenHashes(), SeenHashes()
    lines = [0] * len(data.train)
    for number, corpus in enumerate(data.train):
        direction = "\t".join(corpus_languages(corpus, data))
        with (
            _new_file(home / f"sources-{number}.txt") as sources,
            _new_file(home / f"references-{number}.tsv") as beside,
        ):
            beside.write(HEADER)
            cleaned = _cleaned(corpus, data, reports[number], seen, say)
            for chunk in _not_held_out(cleaned, corpus, data, held_out, reports[number]):
                # A source with several translations is translated once.
                fresh = translated.add(pair_hashes([Pair(pair.source, "", "", 0) for pair in chunk], direction))
                texts = [pair.source for pair, new in zip(chunk, fresh, strict=True) if new]
                sources.writelines(f"{text}\n" for text in texts)
                lines[number] += len(texts)
                if references[number]:
                    beside.writelines(map(_row, chunk))
    if not sum(lines):
        raise DataError(f"no sources are left: {total(reports)}")
    say(str(total(reports)))
    report = f"{sum(lines):,} sources to translate"
    manifest = {"sources": lines, "references": references, "held_out": list(held_out), "report": report}
    write_json(home / "chosen.json", manifest)


def _new_file(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")


def _row(pair: Pair) -> str:
    return f"{pair.source}\t{pair.target}\n"


def _not_held_out(
    chunks: Iterable[list[Pair]],
    corpus: CorpusConfig,
    data: DataConfig,
    held_out: Mapping[Direction, list[Pair]],
    report: CleaningReport,
) -> Iterator[list[Pair]]:
    """The pairs of which neither side is held out, in any direction."""
    texts: dict[str, set[str]] = {}
    for (source, target), pairs in held_out.items():
        texts.setdefault(source, set()).update(pair.source for pair in pairs)
        texts.setdefault(target, set()).update(pair.target for pair in pairs)
    sources, targets = (texts.get(language, set()) for language in corpus_languages(corpus, data))
    if corpus.text:  # its targets are the sources again
        targets = set()
    for chunk in chunks:
        allowed = [pair for pair in chunk if pair.source not in sources and pair.target not in targets]
        report.held_out += len(chunk) - len(allowed)
        yield allowed


def _open(home: Path) -> ChosenSources:
    try:
        manifest = json.loads((home / "chosen.json").read_text(encoding="utf-8"))
        held_out = tuple((source, target) for source, target in manifest["held_out"])
        return ChosenSources(
            home, tuple(manifest["sources"]), tuple(manifest["references"]), held_out, manifest["report"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{home}: incomplete: {error}") from None


def _hold_out(recipe: Recipe, say: Say) -> dict[Direction, list[Pair]]:
    """Authentic pairs to validate on, by direction."""
    data = recipe.data
    corpora = [corpus for corpus in data.train if not corpus.text]
    languages = [corpus_languages(corpus, data) for corpus in corpora]
    size = data.held_out // max(len(set(languages)), 1)
    choices = {direction: HeldOut(size, recipe.seed) for direction in languages}
    never = never_held_out(corpora, data, say)
    seen = SeenHashes()
    for corpus, direction in zip(corpora, languages, strict=True):
        for chunk in _cleaned(corpus, data, CleaningReport(), seen, say):
            choices[direction].offer(chunk, pair_hashes(chunk, "\t".join(direction)), never[direction])
    chosen = {direction: choice.chosen(most_held_out(choice.offered)) for direction, choice in choices.items()}
    return {direction: pairs for direction, pairs in chosen.items() if pairs}


def _cleaned(
    corpus: CorpusConfig, data: DataConfig, report: CleaningReport, seen: SeenHashes, say: Say
) -> Iterator[list[Pair]]:
    """The pairs of a corpus, cleaned as in training; a line of plain text is both sides of a pair."""
    rules = replace(data.clean, copies=False) if corpus.text else data.clean
    pairs = counted(_read(corpus, data), {}, Throttle(say))
    return (chunk for chunk, _ in clean(pairs, rules, report, seen, "\t".join(corpus_languages(corpus, data))))


def _read(corpus: CorpusConfig, data: DataConfig) -> Iterator[Pair]:
    if not corpus.text:
        return read_corpus(corpus, data)
    paths = text_paths([corpus], data)
    return (Pair(text, text, str(path), number) for path in paths for number, text in numbered_lines(path))


def _files(corpus: CorpusConfig, data: DataConfig) -> list[Path]:
    if corpus.text:
        return list(text_paths([corpus], data))
    sides, pairs = corpus_paths(corpus, data)
    return [*pairs, *(path for side in sides for path in side)]
