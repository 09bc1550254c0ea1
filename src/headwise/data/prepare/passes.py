"""The two passes that prepare sentence pairs: read, clean and spool; then tokenise and write.

Memory stays small whatever the size of the corpus: a few chunks of pairs are held at a time, and eight bytes for each
pair seen. Chunks are cleaned and encoded by several processes, with the same result as by one.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from headwise.config import CorpusConfig, DataConfig, TextConfig
from headwise.data.prepare.clean import ONLY_UNUSABLE, clean, pair_hashes
from headwise.data.prepare.cleaning_report import CleaningReport, total
from headwise.data.prepare.duplicates import SeenHashes
from headwise.data.prepare.encode import EncodedChunk, Encoding, encode_chunk, encode_span
from headwise.data.prepare.encoded_corpus import EncodedWriter
from headwise.data.prepare.held_out import HeldOut, most_held_out
from headwise.data.prepare.progress import Throttle, counted
from headwise.data.prepare.sides import checked
from headwise.data.prepare.spool import CHUNK, Sentences, Spool, SpooledChunk
from headwise.data.prepare.synthetic import never_held_out
from headwise.data.prepare.workers import Workers, available
from headwise.data.read.corpus import corpus_languages, read_corpus
from headwise.data.read.pairs import Pair
from headwise.errors import DataError
from headwise.files.atomic import write_json
from headwise.text.kinds import train_tokenizer
from headwise.text.language.codes import Direction
from headwise.text.tokenizer import Tokenizer

PREPARED = "prepared.json"
REPEATED = 0.1
"""The share of the validation pairs that may be training pairs too: short sentences often are."""


class Passes:
    """Fills `folder` with the encoded corpora of a recipe, its tokenizer if it is trained here, and a description."""

    def __init__(self, data: DataConfig, seed: int, folder: Path, say: Callable[[str], None]) -> None:
        self.data, self.seed, self.folder, self.say = data, seed, folder, say
        self.directions = [corpus_languages(corpus, data) for corpus in data.train]
        self.spools: list[Spool] = []
        self.names: list[list[str]] = []
        """The files of each training corpus."""
        self.reports: list[CleaningReport] = []
        self.pairs: dict[str, int] = {}
        """How many pairs were read from each file."""
        self.notes: list[str] = []
        """Remarks about the files, such as a header that was not understood."""
        self.valid: dict[Direction, list[Pair]] = {}
        self.valid_reports: dict[Direction, CleaningReport] = {}
        self.forbidden: dict[str, set[str]] = {}
        """Held-out texts by language, on whichever side they stood: training must not see them."""
        self.choices: dict[Direction, HeldOut] = {}
        self.synthetic: dict[Direction, frozenset[str]] = {}
        """Files whose pairs are not held out, as a model made them."""

    def run(self, text: TextConfig, tags: Sequence[str], tokenizer: Tokenizer | None) -> None:
        """Both passes; a tokenizer with these language `tags` is trained between them if none is given."""
        try:
            with Workers(available(), self.say) as workers:
                self._read_valid()
                self._read_train(workers)
                if not self.data.valid:
                    self._hold_out()
                if tokenizer is None:
                    self.say("training the tokenizer")
                    held_out = [] if self.data.valid else chain.from_iterable(self.valid.values())
                    without = {text for pair in held_out for text in (pair.source, pair.target)}
                    tokenizer = train_tokenizer(text, Sentences(self.spools, without), tags)
                    tokenizer.save(self.folder / "tokenizer")
                throttle = Throttle(self.say)
                for index in range(len(self.data.train)):
                    self._encode_train(index, tokenizer, throttle, workers)
        finally:
            for spool in self.spools:
                spool.remove()
        report = total(self.reports)
        if not report.kept:
            raise DataError(f"no training pairs are left: {report}")
        valid = self._encode_valid(tokenizer)
        self.say(str(report))
        description = {
            "valid": valid,
            "reports": [each.to_json() for each in self.reports],
            "notes": self.notes,
            "pairs": self.pairs,
        }
        write_json(self.folder / PREPARED, description)

    def _read(self, corpus: CorpusConfig, throttle: Throttle) -> Iterator[Pair]:
        pairs = checked(read_corpus(corpus, self.data, self._note), corpus_languages(corpus, self.data), self._note)
        return counted(pairs, self.pairs, throttle)

    def _note(self, text: str) -> None:
        self.notes.append(text)
        self.say(text)

    def _read_valid(self) -> None:
        """Read the validation corpora of the recipe. They are measured as they are, hardly cleaned."""
        throttle = Throttle(self.say)
        for corpus in self.data.valid:
            direction = corpus_languages(corpus, self.data)
            report = self.valid_reports.setdefault(direction, CleaningReport())
            pairs = self.valid.setdefault(direction, [])
            for chunk, _ in clean(self._read(corpus, throttle), ONLY_UNUSABLE, report, SeenHashes()):
                pairs += chunk

    def _read_train(self, workers: Workers) -> None:
        """Clean the training corpora into spools, and offer their pairs to be held out."""
        size = 0 if self.data.valid else self.data.held_out // len(set(self.directions))
        self.choices = {direction: HeldOut(size, self.seed) for direction in self.directions}
        self.synthetic = never_held_out(self.data.train, self.data, self._note) if size else {}
        valid = {each: np.unique(pair_hashes(pairs, "\t".join(each))) for each, pairs in self.valid.items()}
        repeated: dict[Direction, set[int]] = {each: set() for each in valid}
        seen, throttle = SeenHashes(), Throttle(self.say)
        for index, (corpus, direction) in enumerate(zip(self.data.train, self.directions, strict=True)):
            self.say(f"reading {', '.join([*corpus.pairs, *corpus.source])}")
            spool, report = Spool(self.folder / f"train-{index}.spool"), CleaningReport()
            self.spools.append(spool)
            self.reports.append(report)
            names: dict[str, int] = {}
            pairs = self._read(corpus, throttle)
            for chunk, hashes in clean(pairs, self.data.clean, report, seen, "\t".join(direction), workers):
                if direction in valid:
                    repeated[direction].update(valid[direction][np.isin(valid[direction], hashes)].tolist())
                self.choices[direction].offer(chunk, hashes, self.synthetic.get(direction, frozenset()))
                spool.append((*pair[:2], names.setdefault(pair.file, len(names)), pair.line) for pair in chunk)
            spool.finish()
            self.names.append(list(names))
        if not any(spool.count for spool in self.spools):
            raise DataError(f"no training pairs are left: {total(self.reports)}")
        count, both = sum(map(len, valid.values())), sum(map(len, repeated.values()))
        if both > count * REPEATED:
            self._note(
                f"note: {both:,} of {count:,} validation pairs are training pairs too: validation measures how well "
                "these are remembered"
            )

    def _hold_out(self) -> None:
        """Choose the validation pairs, and forbid their texts in training: both sides, in every corpus."""
        for direction, choice in self.choices.items():
            chosen = choice.chosen(most_held_out(choice.offered))
            if not chosen and self.synthetic.get(direction):
                self._note("note: too few real pairs to hold some out: give validation data with --valid-pairs")
            if not chosen:
                continue
            self.valid[direction] = chosen
            self.valid_reports[direction] = CleaningReport(read=len(chosen))
            for language, texts in zip(direction, zip(*(pair[:2] for pair in chosen), strict=True), strict=True):
                self.forbidden.setdefault(language, set()).update(texts)

    def _encode_train(self, index: int, tokenizer: Tokenizer, throttle: Throttle, workers: Workers) -> None:
        direction = self.directions[index]
        report, names, spool = self.reports[index], self.names[index], self.spools[index]
        held_out = {(pair.source, pair.target) for pair in self.valid.get(direction, [])}
        sources, targets = (self.forbidden.get(language, set()) for language in direction)
        encoding = Encoding(tokenizer, self.data.max_tokens, sources, targets)
        done = 0
        with EncodedWriter(self.folder / f"train-{index}", tokenizer.size) as writer:
            for span, chunk in workers.map(encode_span, encoding, spool.spans):
                done += span.rows
                for source, target, file, line in chunk.forbidden:
                    if (source, target) in held_out:
                        report.held_out += 1
                        held_out.discard((source, target))  # a repetition of it is dropped
                    else:
                        report.drop("validation", Pair(source, target, names[file], line))
                _write_chunk(chunk, writer, report, names)
                throttle.tick(f"encoding {names[0]}: {done:,} of {spool.count:,} pairs")
            writer.finish(names)

    def _encode_valid(self, tokenizer: Tokenizer) -> list[Direction]:
        """Write the validation pairs as arrays and as text, in the same order; returns their directions."""
        written: list[Direction] = []
        encoding = Encoding(tokenizer, self.data.max_tokens)
        for direction, pairs in self.valid.items():
            report = self.valid_reports[direction]
            names: dict[str, int] = {}
            home = self.folder / f"valid-{len(written)}"
            with EncodedWriter(home, tokenizer.size) as writer:
                with (home / "text.tsv").open("w", encoding="utf-8", newline="\n") as stream:
                    for texts in _chunks(pairs, names):
                        chunk = encode_chunk(encoding, texts)
                        _write_chunk(chunk, writer, report, list(names))
                        stream.writelines(f"{texts.source[i]}\t{texts.target[i]}\n" for i in chunk.rows)
                writer.finish(list(names))
            if report.kept:
                written.append(direction)
            elif self.data.valid:
                raise DataError(f"no validation pairs are left: {report}")
        return written


def _write_chunk(chunk: EncodedChunk, writer: EncodedWriter, report: CleaningReport, names: Sequence[str]) -> None:
    for reason, count, first in chunk.dropped:
        examples = [Pair(source, target, names[file], line) for source, target, file, line in first]
        report.drop_all(reason, count, examples)
    writer.append(chunk.source, chunk.target, chunk.files, chunk.lines)


def _chunks(pairs: Sequence[Pair], names: dict[str, int]) -> Iterator[SpooledChunk]:
    for start in range(0, len(pairs), CHUNK):
        part = pairs[start : start + CHUNK]
        files = [names.setdefault(pair.file, len(names)) for pair in part]
        yield SpooledChunk([p.source for p in part], [p.target for p in part], files, [p.line for p in part])
