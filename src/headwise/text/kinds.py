"""The table of tokenizer kinds, training one on a corpus, and loading one from a folder."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from headwise.config import TextConfig
from headwise.errors import CheckpointError, ConfigError, DataError
from headwise.text.normalise import normalise_all, well_formed
from headwise.text.published.hf_tokenizer import HfTokenizer
from headwise.text.published.mapped import Mapped
from headwise.text.reservoir import reservoir_sample
from headwise.text.stored import read_parts
from headwise.text.tokenizer import Tokenizer, TrainingSet, check_languages
from headwise.text.trained.byte_bpe import ByteBpe
from headwise.text.trained.listed import Characters, Words
from headwise.text.trained.subwords import Bpe, Subwords, Unigram
from headwise.text.trained.utf8_bytes import Bytes
from headwise.text.trained.wordpiece import WordPiece

TOKENIZERS: dict[str, type[Tokenizer]] = {
    "unigram": Unigram,
    "bpe": Bpe,
    "byte_bpe": ByteBpe,
    "wordpiece": WordPiece,
    "words": Words,
    "characters": Characters,
    "bytes": Bytes,
}
"""The kinds that Headwise trains."""

LOADED: dict[str, type[Tokenizer]] = {**TOKENIZERS, "library": HfTokenizer, "mapped": Mapped}
"""The kinds that a folder may hold: trained ones, and the two that published tokenizers become."""

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
    if config.split_digits and not issubclass(kind, Subwords):
        raise ConfigError(f"text.split_digits is for unigram and bpe, not for a {config.kind} tokenizer")
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
