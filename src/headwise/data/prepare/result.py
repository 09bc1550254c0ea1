"""The result of preparing sentence pairs: everything that a training run needs from its corpora."""

from dataclasses import dataclass
from pathlib import Path

from headwise.data.prepare.cleaning_report import CleaningReport
from headwise.data.prepare.encoded_corpus import EncodedCorpus
from headwise.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TrainCorpus:
    """A training corpus in one direction."""

    corpus: EncodedCorpus
    weight: float
    """How often each pair occurs in an epoch."""
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
    """Pairs (or lines, or images) as read, before cleaning."""
    licence: str
    role: str
    """train, valid or test."""


@dataclass(frozen=True)
class Prepared:
    """Prepared training and validation pairs, with their tokenizer."""

    folder: Path
    tokenizer: Tokenizer
    train: list[TrainCorpus]
    valid: list[ValidSet]
    reports: list[CleaningReport]
    """Cleaning reports of the training corpora, in the order of the recipe."""
    notes: list[str]
    """Remarks about the files, such as a header that was not understood."""
    files: list[SourceFile]
