"""The table of tokenizer kinds, training one on a corpus, and loading one from a folder."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from headwise.config import TextConfig
from headwise.errors import CheckpointError, ConfigError, DataError
from headwise.extras import packages_for
from headwise.text.normalise import normalise_all, well_formed
from headwise.text.reservoir import reservoir_sample
from headwise.text.stored import read_parts
from headwise.text.tokenizer import Tokenizer, TrainingSet, check_languages


class _Classes(Mapping[str, type[Tokenizer]]):
    """Classes of tokenizers by kind, imported on access: some need the tokenizers library, which is optional."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        self.homes = homes
        """For each kind, module and name of its class."""

    def __getitem__(self, kind: str) -> type[Tokenizer]:
        module, _, name = self.homes[kind].rpartition(".")
        with packages_for(f"a tokenizer of the kind {kind}"):
            found: type[Tokenizer] = getattr(import_module(f"headwise.text.{module}"), name)
        return found

    def __contains__(self, kind: object) -> bool:
        return kind in self.homes

    def __iter__(self) -> Iterator[str]:
        return iter(self.homes)

    def __len__(self) -> int:
        return len(self.homes)


TOKENIZERS = _Classes(
    {
        "unigram": "trained.subwords.Unigram",
        "bpe": "trained.subwords.Bpe",
        "byte_bpe": "trained.byte_bpe.ByteBpe",
        "wordpiece": "trained.wordpiece.WordPiece",
        "words": "trained.listed.Words",
        "characters": "trained.listed.Characters",
        "bytes": "trained.utf8_bytes.Bytes",
    }
)
"""The kinds that Headwise trains."""

LOADED = _Classes(
    {**TOKENIZERS.homes, "library": "published.hf_tokenizer.HfTokenizer", "mapped": "published.mapped.Mapped"}
)
"""The kinds that a folder may hold: trained ones, and the two that published tokenizers become."""

SPLIT_DIGITS = ("unigram", "bpe")
"""The kinds that can make each digit a piece of its own."""

LOSSLESS = ("characters", "bytes", "byte_bpe")
"""The kinds that can keep line ends and runs of spaces."""


def train_tokenizer(
    config: TextConfig, sentences: Iterable[str], languages: Sequence[str], mask: bool = False
) -> Tokenizer:
    """Train a tokenizer on a sample of `config.sample` sentences, taken from both sides of the corpus.

    The sentences are read once and need not fit in memory. The same sentences in the same order give the same
    tokenizer. `mask` adds a mask token, for masked language models.
    """
    if config.kind not in TOKENIZERS:
        raise ConfigError(f"unknown tokenizer {config.kind!r}; text.kind is one of: {', '.join(TOKENIZERS)}")
    if config.lossless and config.kind not in LOSSLESS:
        raise ConfigError(
            f"text.lossless: a {config.kind} tokenizer cannot keep spaces; these can: {', '.join(LOSSLESS)}"
        )
    kind = TOKENIZERS[config.kind]
    if config.split_digits and config.kind not in SPLIT_DIGITS:
        raise ConfigError(f"text.split_digits is for {' and '.join(SPLIT_DIGITS)}, not for a {config.kind} tokenizer")
    known = check_languages(languages)
    if config.sample < 1:
        raise ConfigError(f"text.sample = {config.sample}: a tokenizer needs at least one sentence to train on")
    sample, total = reservoir_sample(filter(str.strip, sentences), config.sample)
    lossless = config.lossless or kind.keeps_text
    prepared = [text for text in (map(well_formed, sample) if lossless else normalise_all(sample)) if text]
    if not prepared:
        raise DataError("no tokenizer can be trained: the corpus has no sentence")
    size = config.vocabulary or kind.default_vocabulary(total)
    return kind.train(TrainingSet(prepared, size, known, mask, lossless, config.split_digits))


def load_tokenizer(folder: Path) -> Tokenizer:
    """Load the tokenizer that `Tokenizer.save` wrote; a CheckpointError names a file that is missing or damaged."""
    kind, parts = read_parts(folder)
    if kind not in LOADED:
        raise CheckpointError(f"{folder}: unknown kind of tokenizer {kind!r}; known are: {', '.join(LOADED)}")
    try:
        return LOADED[kind](parts)
    except CheckpointError as error:
        raise CheckpointError(f"{folder}: {error}") from None
