"""The two passes of preparing data: read, clean and spool; then encode.

Memory stays small whatever the corpus: pairs are held a few chunks at a time, and what must be remembered of all
of them is eight bytes each. Chunks are cleaned and encoded by several processes, with the result of one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from headwise.config import DataConfig
from headwise.data.prepare.clean import ONLY_UNUSABLE, clean
from headwise.data.prepare.cleaning_report import CleaningReport, total
from headwise.data.prepare.duplicates import SeenHashes
from headwise.data.prepare.encode import Encoded, Encoding, encode_chunk, encode_place
from headwise.data.prepare.encoded_corpus import EncodedWriter
from headwise.data.prepare.held_out import HeldOut, most_held_out
from headwise.data.prepare.progress import Progress, counted
from headwise.data.prepare.spool import CHUNK, Sentences, Spool, Spooled
from headwise.data.prepare.synthetic import never_held_out
from headwise.data.prepare.workers import Workers, available
from headwise.data.read.corpus import corpus_languages, read_corpus
from headwise.data.read.pairs import Pair
from headwise.errors import DataError
from headwise.files.atomic import sync, write_json
from headwise.text.tokenizer import Tokenizer

MANIFEST = "prepared.json"
MANIFEST_KEYS = frozenset({"tokenizer", "valid", "reports", "valid_reports", "pairs"})


@dataclass
class _Reading:
    """What the first pass has gathered."""

    spools: list[Spool] = field(default_factory=list)
    names: list[list[str]] = field(default_factory=list)
    reports: list[CleaningReport] = field(default_factory=list)
    pairs: dict[str, int] = field(default_factory=dict)
    """How many were read from each file."""
    valid: dict[tuple[str, str], list[Pair]] = field(default_factory=dict)
    valid_reports: dict[tuple[str, str], CleaningReport] = field(default_factory=dict)
    forbidden: dict[str, set[str]] = field(default_factory=dict)
    """Texts of each language that training must not see, as they were held out."""


def build(
    data: DataConfig,
    folder: Path,
    key: str,
    seed: int,
    say: Callable[[str], None],
    tokenizer: Tokenizer | None,
    train_tokenizer: Callable[[Iterable[str]], Tokenizer],
) -> Tokenizer:
    """Fill `folder` with encoded corpora, the tokenizer if it is trained here, and a manifest, last."""
    reading = _Reading()
    try:
        with Workers(available(), say) as workers:
            _read_valid(data, reading, say)
            _read_train(data, folder, seed, reading, say, workers)
            if tokenizer is None:
                say("training the tokenizer")
                held_out = [] if data.valid else chain.from_iterable(reading.valid.values())
                without = {text for pair in held_out for text in (pair.source, pair.target)}
                tokenizer = train_tokenizer(Sentences(reading.spools, without))
                tokenizer.save(folder / "tokenizer")
            progress = Progress(say)
            for index in range(len(data.train)):
                _encode_train(data, index, folder, key, reading, tokenizer, progress, workers)
    finally:
        for spool in reading.spools:
            spool.remove()
    report = total(reading.reports)
    if not report.kept:
        raise DataError(f"no training pairs are left: {report}")
    valid = _encode_valid(data, folder, key, reading, tokenizer)
    say(str(report))
    manifest = {
        "tokenizer": tokenizer.fingerprint,
        "valid": valid,
        "reports": [each.to_json() for each in reading.reports],
        "valid_reports": [reading.valid_reports[direction].to_json() for direction in valid],
        "pairs": reading.pairs,
    }
    write_json(folder / MANIFEST, manifest)
    sync(folder)
    return tokenizer


def _read_valid(data: DataConfig, reading: _Reading, say: Callable[[str], None]) -> None:
    """The validation corpora of the recipe, by direction. They are measured as they are, hardly cleaned."""
    progress = Progress(say)
    for corpus in data.valid:
        direction = corpus_languages(corpus, data)
        report = reading.valid_reports.setdefault(direction, CleaningReport())
        pairs = counted(read_corpus(corpus, data), reading.pairs, progress)
        kept = reading.valid.setdefault(direction, [])
        for chunk, _ in clean(pairs, ONLY_UNUSABLE, report, SeenHashes()):
            kept += chunk


def _read_train(
    data: DataConfig, folder: Path, seed: int, reading: _Reading, say: Callable[[str], None], workers: Workers
) -> None:
    """Clean the training corpora into spools, and choose the pairs to hold out."""
    languages = [corpus_languages(corpus, data) for corpus in data.train]
    size = 0 if data.valid else data.held_out // len(set(languages))
    held_out = {direction: HeldOut(size, seed) for direction in languages}
    never = never_held_out(data.train, data, say) if size else {}
    kept = 0
    seen = SeenHashes()
    progress = Progress(say)
    for index, (corpus, direction) in enumerate(zip(data.train, languages, strict=True)):
        say(f"reading {', '.join([*corpus.pairs, *corpus.source])}")
        spool, report = Spool(folder / f"train-{index}.spool"), CleaningReport()
        reading.spools.append(spool)
        reading.reports.append(report)
        names: dict[str, int] = {}
        pairs = counted(read_corpus(corpus, data), reading.pairs, progress)
        for chunk, hashes in clean(pairs, data.clean, report, seen, "\t".join(direction), workers):
            held_out[direction].offer(chunk, hashes, never.get(direction, frozenset()))
            spool.append((*pair[:2], names.setdefault(pair.file, len(names)), pair.line) for pair in chunk)
        spool.finish()
        kept += spool.count
        reading.names.append(list(names))
    if not kept:
        raise DataError(f"no training pairs are left: {total(reading.reports)}")
    reversible = set(languages) & {(target, source) for source, target in languages}
    for direction, choice in held_out.items():
        chosen = choice.chosen(most_held_out(choice.offered))
        if not chosen and never.get(direction):
            say("note: there are too few real pairs to hold some out: nothing is validated on (--valid-pairs)")
        if not chosen:
            continue
        reading.valid[direction] = chosen
        reading.valid_reports[direction] = CleaningReport(read=len(chosen))
        source, target = direction
        reading.forbidden.setdefault(source, set()).update(pair.source for pair in chosen)
        if data.both_directions or direction in reversible:  # a target is a source there
            reading.forbidden.setdefault(target, set()).update(pair.target for pair in chosen)


def _encode_train(
    data: DataConfig,
    index: int,
    folder: Path,
    key: str,
    reading: _Reading,
    tokenizer: Tokenizer,
    progress: Progress,
    workers: Workers,
) -> None:
    direction = corpus_languages(data.train[index], data)
    report, names, spool = reading.reports[index], reading.names[index], reading.spools[index]
    held_out = {(pair.source, pair.target) for pair in reading.valid.get(direction, [])}
    forbidden = [reading.forbidden.get(language, set()) for language in direction]
    encoding = Encoding(tokenizer, data.max_tokens, forbidden[0], forbidden[1])
    done = 0
    with EncodedWriter(folder / f"train-{index}", tokenizer.size, key) as writer:
        for place, encoded in workers.map(encode_place, encoding, spool.places):
            done += place.rows
            for source, target, file, line in encoded.forbidden:
                if (source, target) in held_out:
                    report.held_out += 1
                    held_out.discard((source, target))  # a repetition of it is dropped
                else:
                    report.drop("validation", Pair(source, target, names[file], line))
            _write_encoded(encoded, writer, report, names)
            progress.tick(f"encoding {names[0]}: {done:,} of {spool.count:,} pairs")
        writer.finish(names)


def _write_encoded(encoded: Encoded, writer: EncodedWriter, report: CleaningReport, names: Sequence[str]) -> None:
    for reason, count, first in encoded.dropped:
        examples = [Pair(source, target, names[file], line) for source, target, file, line in first]
        report.drop_all(reason, count, examples)
    writer.append_flat(encoded.source, encoded.target, encoded.files, encoded.lines)


def _encode_valid(
    data: DataConfig, folder: Path, key: str, reading: _Reading, tokenizer: Tokenizer
) -> list[tuple[str, str]]:
    """Validation pairs as arrays and as text, the same ones in the same order; returns their directions."""
    written: list[tuple[str, str]] = []
    encoding = Encoding(tokenizer, data.max_tokens)
    for direction, pairs in reading.valid.items():
        report = reading.valid_reports[direction]
        names: dict[str, int] = {}
        home = folder / f"valid-{len(written)}"
        with EncodedWriter(home, tokenizer.size, key) as writer:
            with (home / "text.tsv").open("w", encoding="utf-8", newline="\n") as stream:
                for chunk in _columns(pairs, names):
                    encoded = encode_chunk(encoding, chunk)
                    _write_encoded(encoded, writer, report, list(names))
                    for i in encoded.rows:
                        stream.write(f"{chunk.source[i]}\t{chunk.target[i]}\n")
            writer.finish(list(names))
        if report.kept:
            written.append(direction)
        elif data.valid:
            raise DataError(f"no validation pairs are left: {report}")
    return written


def _columns(pairs: list[Pair], names: dict[str, int]) -> Iterator[Spooled]:
    for start in range(0, len(pairs), CHUNK):
        part = pairs[start : start + CHUNK]
        files = [names.setdefault(pair.file, len(names)) for pair in part]
        yield Spooled([p.source for p in part], [p.target for p in part], files, [p.line for p in part])
