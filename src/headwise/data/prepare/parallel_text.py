"""Preparing sentence pairs: from the data table of a recipe to encoded corpora.

The result is cached in a folder named after a fingerprint of everything it depends on, so that a second start, a
resumed run or another run on the same data only opens it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwise.config import CorpusConfig, DataConfig, TextConfig
from headwise.data.prepare.cleaning_report import CleaningReport
from headwise.data.prepare.disk_cache import cached
from headwise.data.prepare.encoded_corpus import VERSION, EncodedCorpus
from headwise.data.prepare.fingerprint import fingerprint, hash_files, tokenizer_settings
from headwise.data.prepare.passes import PREPARED, Passes
from headwise.data.prepare.result import Prepared, SourceFile, TrainCorpus, ValidSet
from headwise.data.prepare.synthetic import synthetic_files
from headwise.data.read.corpus import corpus_languages, corpus_paths, read_corpus
from headwise.errors import ConfigError
from headwise.files.tables import read_json
from headwise.recipe import to_tables
from headwise.text.kinds import load_tokenizer
from headwise.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class PairPreparation:
    """The preparation of a recipe's pairs, before it is done: `key` names the result."""

    data: DataConfig
    text: TextConfig
    folder: Path
    seed: int
    say: Callable[[str], None]
    tokenizer: Tokenizer | None
    hashes: dict[Path, str]
    key: str

    @classmethod
    def of(
        cls,
        data: DataConfig,
        text: TextConfig,
        folder: Path,
        seed: int,
        say: Callable[[str], None],
        tokenizer: Tokenizer | None = None,
    ) -> "PairPreparation":
        """Hash the input files of a recipe, unless `folder` knows their hashes; nothing else is read.

        A `tokenizer` that is given is used as it is; otherwise one is trained, and cached with the corpora.
        """
        if not data.train:
            raise ConfigError("the recipe names no training data: give data.train")
        if seed < 0:
            raise ConfigError(f"seed must not be negative, not {seed}")
        tag_languages(data, text)
        hashes = hash_files([path for path, *_ in _files(data)], folder, say)
        return cls(data, text, folder, seed, say, tokenizer, hashes, _key(data, text, seed, hashes, tokenizer))

    def prepare(self) -> Prepared:
        """The encoded corpora, from the cache if they are there; then the notes about their files are shown again."""
        built: list[Passes] = []

        def build(home: Path) -> None:
            built.append(Passes(self.data, self.seed, home, self.say))
            built[0].run(self.text, tag_languages(self.data, self.text), self.tokenizer)

        prepared = cached(self.folder, self.key, self.say, build, self._open)
        for note in [] if built else prepared.notes:
            self.say(note)
        return prepared

    def _open(self, home: Path) -> Prepared:
        data, tokenizer = self.data, self.tokenizer or load_tokenizer(home / "tokenizer")
        description: Any = read_json(home / PREPARED)
        train = []
        for index, corpus in enumerate(data.train):
            encoded = EncodedCorpus.open(home / f"train-{index}")
            source, target = corpus_languages(corpus, data)
            train.append(TrainCorpus(encoded, corpus.weight, source, target))
            if data.both_directions:
                weight = corpus.weight if corpus.reverse_weight is None else corpus.reverse_weight
                train.append(TrainCorpus(encoded.swapped(), weight, target, source))
        valid = []
        for index, (source, target) in enumerate(description["valid"]):
            forward = _open_valid(home / f"valid-{index}", source, target)
            valid += [forward, forward.swapped()] if data.both_directions else [forward]
        return Prepared(
            home,
            tokenizer,
            train,
            valid,
            [CleaningReport.from_json(report) for report in description["reports"]],
            description["notes"],
            [
                SourceFile(str(path), self.hashes[path], description["pairs"].get(str(counted), 0), licence, role)
                for path, counted, licence, role in _files(data)
            ],
        )


def directions(data: DataConfig) -> list[tuple[str, str]]:
    """The directions that training sees, in the order of the recipe."""
    forward = [corpus_languages(corpus, data) for corpus in data.train]
    backward = [(target, source) for source, target in forward] if data.both_directions else []
    return list(dict.fromkeys(forward + backward))


def tag_languages(data: DataConfig, text: TextConfig) -> list[str]:
    """The target languages that sources are tagged with; none where there is only one direction."""
    pairs = directions(data)
    if data.both_directions and any(not source or not target for source, target in pairs):
        raise ConfigError("both_directions needs source_language and target_language")
    if text.tags == "never" or (text.tags == "auto" and len(pairs) == 1):
        return []
    languages = sorted({target for _, target in pairs})
    if "" in languages:
        raise ConfigError("language tags need the target_language of every corpus (or text.tags = 'never')")
    return languages


def tested_files(data: DataConfig, folder: Path, say: Callable[[str], None]) -> list[SourceFile]:
    """The files that a model is tested on, as they are now. They are not part of what is prepared, and may change."""
    files = _files_of("test", data.test, data)
    hashes = hash_files([path for path, *_ in files], folder, say)
    pairs = Counter(pair.file for corpus in data.test for pair in read_corpus(corpus, data))
    return [
        SourceFile(str(path), hashes[path], pairs[str(counted)], licence, role)
        for path, counted, licence, role in files
    ]


def _files(data: DataConfig) -> list[tuple[Path, Path, str, str]]:
    return [*_files_of("train", data.train, data), *_files_of("valid", data.valid, data)]


def _files_of(role: str, corpora: Sequence[CorpusConfig], data: DataConfig) -> list[tuple[Path, Path, str, str]]:
    """Each input file, the file whose pairs it is counted by, its licence and its role."""
    files = []
    for corpus in corpora:
        sides, pairs = corpus_paths(corpus, data)
        files += [(path, path, corpus.licence, role) for path in pairs]
        for source, target in sides:
            files += [(source, source, corpus.licence, role), (target, source, corpus.licence, role)]
    return files


def _key(data: DataConfig, text: TextConfig, seed: int, hashes: dict[Path, str], tokenizer: Tokenizer | None) -> str:
    """Fingerprint of all that the arrays depend on; weights and licences are not in them."""

    def corpora(role: str) -> list[Any]:
        listed = []
        for corpus in getattr(data, role):
            sides, pairs = corpus_paths(corpus, data)
            paths = [*pairs, *(path for side in sides for path in side)]
            named = [[str(path), hashes[path]] for path in paths]
            listed.append([named, len(pairs), corpus_languages(corpus, data)])
        return listed

    held_out = 0 if data.valid else data.held_out
    return fingerprint(
        {
            "version": VERSION,
            "train": corpora("train"),
            "valid": corpora("valid"),
            "held_out": held_out,
            "synthetic": synthetic_files(data) if held_out else [],
            "seed": seed if held_out else 0,
            "both_directions": data.both_directions,
            "max_tokens": data.max_tokens,
            "clean": to_tables(data.clean),
            "text": tokenizer_settings(text) if tokenizer is None else tokenizer.fingerprint,
        }
    )


def _open_valid(folder: Path, source_language: str, target_language: str) -> ValidSet:
    lines = (folder / "text.tsv").read_text(encoding="utf-8").split("\n")[:-1]
    sources, targets = ([line.split("\t")[side] for line in lines] for side in (0, 1))
    return ValidSet(EncodedCorpus.open(folder), sources, targets, source_language, target_language)
