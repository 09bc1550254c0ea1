"""The table of tokenizers, and the two ways to get one: train it on a corpus, load it from a folder."""

import math
import random
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from headwise.config import TextConfig
from headwise.errors import CheckpointError, ConfigError, DataError
from headwise.text.normalise import normalise
from headwise.text.parts import read_parts
from headwise.text.subwords import Bpe, Unigram
from headwise.text.tokenizer import Tokenizer, check_languages
from headwise.text.utf8 import Bytes
from headwise.text.vocabulary import Characters, Words

TOKENIZERS: dict[str, type[Tokenizer]] = {
    "unigram": Unigram,
    "bpe": Bpe,
    "words": Words,
    "characters": Characters,
    "bytes": Bytes,
}


def train_tokenizer(config: TextConfig, sentences: Iterable[str], languages: Sequence[str]) -> Tokenizer:
    """Train on `config.sample` of the sentences: those of both sides, in any order, the whole corpus at best.

    The sentences are gone through once and need not fit in memory. The same sentences in the same order give
    the same tokenizer.
    """
    if config.kind not in TOKENIZERS:
        raise ConfigError(f"no tokenizer {config.kind!r}; text.kind is one of: {', '.join(TOKENIZERS)}")
    if config.vocabulary < 0:
        raise ConfigError(f"text.vocabulary = {config.vocabulary}: it is 0, for automatic, or more")
    known = check_languages(languages)
    sample, total = draw(sentences, config.sample)
    normalised = [text for text in map(normalise, sample) if text]
    if not normalised:
        raise DataError("a tokenizer cannot be trained without text: the corpus has no sentence")
    kind = TOKENIZERS[config.kind]
    return kind.train(normalised, config.vocabulary or kind.default_vocabulary(total), known)


def load_tokenizer(folder: Path) -> Tokenizer:
    """What `Tokenizer.save` wrote; a CheckpointError says what is wrong with the files otherwise."""
    kind, parts = read_parts(folder)
    if kind not in TOKENIZERS:
        raise CheckpointError(f"{folder}: no tokenizer {kind!r}; this Headwise has: {', '.join(TOKENIZERS)}")
    try:
        return TOKENIZERS[kind](parts)
    except CheckpointError as error:
        raise CheckpointError(f"{folder}: {error}") from None


def draw(sentences: Iterable[str], count: int) -> tuple[list[str], int]:
    """`count` sentences, each as likely as any other, and how many there are; blank ones do not count.

    Reservoir sampling, with the jumps of Li (1994) so that a sentence passed over costs next to nothing. The
    seed is fixed: the sample belongs to the corpus, not to the run.
    """
    if count < 1:
        raise ConfigError(f"text.sample = {count}: a tokenizer is trained on one sentence at least")
    rng = random.Random(0)
    texts = (sentence for sentence in sentences if sentence and not sentence.isspace())
    kept = list(islice(texts, count))
    total = upcoming = len(kept)
    weight = 1.0
    for sentence in texts:
        total += 1
        while upcoming < total:
            weight *= math.exp(math.log(1 - rng.random()) / count)
            upcoming += 1 + int(math.log(1 - rng.random()) / math.log1p(-weight))
        if upcoming == total:
            kept[rng.randrange(count)] = sentence
    return kept, total
