"""What preparing the data gives: everything a training run needs to know about its corpora."""

from dataclasses import dataclass
from pathlib import Path

from headwise.data.prepare.cleaning_report import CleaningReport
from headwise.data.prepare.encoded_corpus import EncodedCorpus
from headwise.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TrainCorpus:
    """One corpus in one direction."""

    corpus: EncodedCorpus
    weight: float
    """How often an epoch sees each pair."""
    source_language: str
    target_language: str


@dataclass(frozen=True)
class ValidSet:
    """Validation pairs of one direction; `sources[i]` and `targets[i]` are the text of example i."""

    corpus: EncodedCorpus
    sources: list[str]
    targets: list[str]
    source_language: str
    target_language: str

    @property
    def direction(self) -> tuple[str, str]:
        return self.source_language, self.target_language

    def swapped(self) -> "ValidSet":
        return ValidSet(self.corpus.swapped(), self.targets, self.sources, self.target_language, self.source_language)


@dataclass(frozen=True)
class SourceFile:
    """A file that went into a model, for its card."""

    path: str
    sha256: str
    pairs: int
    """As read, before cleaning."""
    licence: str
    role: str
    """train, valid or test."""


@dataclass(frozen=True)
class Prepared:
    folder: Path
    tokenizer: Tokenizer
    train: list[TrainCorpus]
    valid: list[ValidSet]
    reports: list[CleaningReport]
    """Of the training corpora, in the order of the recipe."""
    valid_reports: list[CleaningReport]
    """One for each direction of the validation data."""
    files: list[SourceFile]
