"""Learns a shortlist (see `shortlists.py`) from sentence pairs and from the model's own predictions.

Pairs show translations in context, but only of tokens that are frequent in them. The model predicts how it would begin
the translation of each token, if that were the whole text: this covers rare tokens too, and kinds of text that are not
in the pairs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from headwise.data.prepare.encoded_corpus import Flat
from headwise.decode.shortlist.ibm_model1 import lexical_table
from headwise.decode.shortlist.shortlists import Ids, Shortlist, Shortlists
from headwise.decode.translator import Translator
from headwise.errors import DataError
from headwise.text.language.codes import Direction
from headwise.text.reservoir import reservoir_sample
from headwise.text.tokenizer import WORD_START, Tokenizer

BEST = 100
"""Translations per source token that are taken from the pairs."""
PREDICTED = 2
"""Times as many are taken from the model: they are better, above all for rare tokens."""
FREQUENT = 0.05
"""Share of the vocabulary that is always allowed: the most frequent tokens."""
PAIRS = 500_000
"""Most pairs that a table is learnt from; more are sampled down to this number."""
HELD_OUT = 1000
"""Pairs that are held out to measure the table on."""
LONGEST = 256
"""Most tokens on either side of a pair that is learnt from: its cost is quadratic in the length."""
CHUNK = 10_000
"""Pairs that are encoded together."""
PREDICTION_BATCH = 256
"""Source tokens per batch of predictions."""

_BYTE = re.compile("<0x[0-9A-F]{2}>")


@dataclass(frozen=True)
class Quality:
    """The quality of a table on pairs that it was not learnt from."""

    pairs: int
    tokens: float
    """Mean number of allowed tokens per sentence."""
    covered: float
    """Share of the tokens of the translations that are allowed."""
    whole: float
    """Share of the sentences that are translated with the whole vocabulary."""


def learn_shortlist(
    tokenizer: Tokenizer,
    pairs: Iterable[tuple[str, str]],
    predicted: Ids | None = None,
    *,
    best: int = BEST,
    frequent: int | None = None,
    most: int = PAIRS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Shortlist, Quality]:
    """A table from sentence pairs and from the model's predictions (`predicted`), and its quality on held-out pairs.

    More than `most` pairs are sampled down to that number, always to the same sample. `progress` receives how many
    blocks are done, and of how many.
    """
    vocabulary = tokenizer.size
    sources, targets = _encoded(tokenizer, _drawn(pairs, most))
    apart = min(HELD_OUT, len(sources.lengths) // 10)
    held_out = (_first(sources, apart), _first(targets, apart))
    sources, targets = _without_first(sources, apart), _without_first(targets, apart)
    if not len(sources.lengths):
        raise DataError(f"there are no pairs to learn from: all are empty, or longer than {LONGEST} tokens")
    counts = np.bincount(targets.ids, minlength=vocabulary)
    always = _always(tokenizer, counts, int(FREQUENT * vocabulary) if frequent is None else frequent)
    table = lexical_table(sources, targets, vocabulary, best=best, skip=always, progress=progress)
    known = np.unique(sources.ids).astype(np.int64)
    listed = [known, np.repeat(np.arange(vocabulary), np.diff(table.offsets))]
    translations = [known, table.targets.astype(np.int64)]
    if predicted is not None:
        listed.append(np.repeat(np.arange(vocabulary), predicted.shape[1]))
        translations.append(predicted.reshape(-1))
    every = (np.concatenate(listed), np.concatenate(translations))
    shortlist = shortlist_of(*every, always, vocabulary, len(sources.lengths))
    return shortlist, _quality(Shortlists(tokenizer, {("", ""): shortlist}), *held_out)


def predict_first_tokens(
    translator: Translator,
    direction: Direction,
    best: int = BEST,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Ids:
    """The tokens with which the model would begin the translation of each token, likeliest first: [vocabulary,
    `PREDICTED` * best], -1 for special tokens."""
    tokenizer, count = translator.tokenizer, PREDICTED * best
    vocabulary = tokenizer.size
    tokens = [token for token in range(vocabulary) if not tokenizer.is_special(token)]
    found = np.full((vocabulary, count), -1, np.int64)
    progress(0, len(tokens))
    for first in range(0, len(tokens), PREDICTION_BATCH):
        some = tokens[first : first + PREDICTION_BATCH]
        begun = translator._first_tokens([[token] for token in some], count, *direction)
        for token, likeliest in zip(some, begun, strict=True):
            real = [each for each in likeliest if each < vocabulary]  # published models may have rows without a token
            found[token, : len(real)] = real
        progress(first + len(some), len(tokens))
    return found


def _encoded(tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> tuple[Flat, Flat]:
    """Both sides of the usable pairs as ids, encoded in chunks: lists of numbers are large."""
    kind = np.dtype(np.int32)
    parts: list[tuple[Flat, Flat]] = []
    for first in range(0, len(pairs), CHUNK):
        chunk = pairs[first : first + CHUNK]
        source = Flat.of(tokenizer.encode_batch([source for source, _ in chunk]), kind)
        target = Flat.of(tokenizer.encode_target_batch([target for _, target in chunk]), kind)
        shorter, longer = (pick(source.lengths, target.lengths) for pick in (np.minimum, np.maximum))
        fitting = (shorter > 0) & (longer <= LONGEST)
        parts.append((source.select(fitting), target.select(fitting)))
    if not parts:
        raise DataError("there are no pairs in these files")
    return Flat.joined([source for source, _ in parts]), Flat.joined([target for _, target in parts])


def _first(sequences: Flat, count: int) -> list[Ids]:
    ends = np.cumsum(sequences.lengths[:count])
    return [
        sequences.ids[end - length : end].astype(np.int64) for end, length in zip(ends, sequences.lengths, strict=False)
    ]


def _without_first(sequences: Flat, count: int) -> Flat:
    return Flat(sequences.ids[sequences.lengths[:count].sum() :], sequences.lengths[count:])


def _drawn(pairs: Iterable[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """A uniform sample of at most `most` pairs, in random order, so that the first ones are a sample too."""
    drawn, _ = reservoir_sample(pairs, most)
    random.Random(0).shuffle(drawn)
    return drawn


def shortlist_of(sources: Ids, targets: Ids, always: Ids, vocabulary: int, pairs: int) -> Shortlist:
    """A shortlist from pairs of a source token and a translation, in any order, maybe repeated; -1 is no translation.

    Each source token is listed with itself too: one whose translations are always allowed would pass for unknown.
    """
    known = np.unique(sources[targets >= 0])
    wanted = (targets >= 0) & ~np.isin(targets, always)
    cells = np.unique(np.concatenate((sources[wanted] * vocabulary + targets[wanted], known * vocabulary + known)))
    return Shortlist(np.searchsorted(cells, np.arange(vocabulary + 1) * vocabulary), cells % vocabulary, always, pairs)


def _always(tokenizer: Tokenizer, counts: Ids, frequent: int) -> Ids:
    """Tokens that are always allowed: the most frequent, numbers, punctuation, single letters, and special tokens."""
    order = np.argsort(-counts, kind="stable")[:frequent]
    chosen = set(order[counts[order] > 0].tolist())
    for token, piece in enumerate(tokenizer.pieces(range(tokenizer.size))):
        bare = piece.strip(WORD_START)
        spelling = len(bare) <= 1 or not any(map(str.isalpha, bare))  # of numbers, names and the rest
        plain = len(bare.encode()) <= 1 or _BYTE.fullmatch(piece)
        if tokenizer.is_special(token) or plain or (spelling and counts[token]):
            chosen.add(token)
    return np.array(sorted(chosen), np.int64)


def _quality(shortlists: Shortlists, sources: list[Ids], targets: list[Ids]) -> Quality:
    sizes: list[int] = []
    covered = tokens = 0
    lists = shortlists.allowed([source.tolist() for source in sources], [[]] * len(sources), ("", ""))
    for allowed, target in zip(lists, targets, strict=True):
        if allowed is not None:
            sizes.append(len(allowed.tokens))
            covered += int(np.isin(target, allowed.tokens).sum())
            tokens += len(target)
    whole = 1 - len(sizes) / max(1, len(sources))
    return Quality(len(sources), sum(sizes) / max(1, len(sizes)), covered / max(1, tokens), whole)
