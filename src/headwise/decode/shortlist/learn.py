"""Making a shortlist (see `shortlist`): from sentence pairs, and by asking the model.

Pairs tell what a token is in context, but only of tokens that are frequent in them. The model is asked for what it
would begin the translation of each token with, if that were all of the text: so rare tokens are served too, and those
of a kind of text that the pairs have not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headwise.data.prepare.encoded_corpus import Flat
from headwise.decode.shortlist.ibm_model1 import lexical_table
from headwise.decode.shortlist.shortlists import Direction, Ids, Shortlist, Shortlists
from headwise.decode.translator import Translator
from headwise.errors import DataError
from headwise.text.reservoir import reservoir_sample
from headwise.text.tokenizer import WORD_START, Tokenizer

BEST = 100
"""Translations of a source token that are allowed by the pairs."""
ASKED = 2
"""Times as many by the model: they are better, above all for rare tokens."""
FREQUENT = 0.05
"""Share of the vocabulary that always is: the most frequent tokens."""
PAIRS = 500_000
"""That a table is learnt from; of more, as many are drawn."""
HELD_OUT = 1000
"""Pairs that are not learnt from but measured on."""
LONGEST = 256
"""Tokens of a pair that is learnt from: the cost of one is quadratic in its length."""
CHUNK = 10_000
"""Pairs that are encoded together."""
ASKED_AT_ONCE = 256
"""Tokens whose translations the model is asked for together."""

_BYTE = re.compile("<0x[0-9A-F]{2}>")


@dataclass(frozen=True)
class Quality:
    """How well a table serves pairs that it was not learnt from."""

    pairs: int
    tokens: float
    """The mean number that a sentence may use."""
    covered: float
    """The share of the tokens of the translations that are among them."""
    whole: float
    """The share of the sentences that are translated with the whole vocabulary."""


def learn_shortlist(
    tokenizer: Tokenizer,
    pairs: Iterable[tuple[str, str]],
    asked: Ids | None = None,
    *,
    best: int = BEST,
    frequent: int | None = None,
    most: int = PAIRS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Shortlist, Quality]:
    """A table from sentence pairs and from what was `asked` of the model, and how good it is on some pairs that were
    kept apart.

    Of more than `most` pairs, so many are drawn; the same each time. `progress` is told how much of the learning is
    done, and of how much.
    """
    sources, targets = _encoded(tokenizer, _drawn(pairs, most))
    apart = min(HELD_OUT, len(sources.lengths) // 10)
    held_out = (_first(sources, apart), _first(targets, apart))
    sources, targets = _without_first(sources, apart), _without_first(targets, apart)
    if not len(sources.lengths):
        raise DataError(f"there are no pairs to learn from: all are empty, or longer than {LONGEST} tokens")
    counts = np.bincount(targets.ids, minlength=tokenizer.size)
    always = _always(tokenizer, counts, int(FREQUENT * tokenizer.size) if frequent is None else frequent)
    table = lexical_table(sources, targets, tokenizer.size, best=best, skip=always, progress=progress)
    known = np.unique(sources.ids).astype(np.int64)
    listed = [known, np.repeat(np.arange(tokenizer.size), np.diff(table.offsets))]
    translations = [known, table.targets.astype(np.int64)]
    if asked is not None:
        listed.append(np.repeat(np.arange(tokenizer.size), asked.shape[1]))
        translations.append(asked.reshape(-1))
    every = (np.concatenate(listed), np.concatenate(translations))
    shortlist = _shortlist(*every, always, tokenizer.size, len(sources.lengths))
    return shortlist, _quality(Shortlists(tokenizer, {("", ""): shortlist}), *held_out)


def ask(
    translator: Translator,
    direction: Direction,
    best: int = BEST,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Ids:
    """What the model would begin the translation of each token with, the likeliest first: [vocabulary, `ASKED` * best],
    -1 for a special."""
    tokenizer, count = translator.tokenizer, ASKED * best
    tokens = [token for token in range(tokenizer.size) if not tokenizer.is_special(token)]
    found = np.full((tokenizer.size, count), -1, np.int64)
    for first in range(0, len(tokens), ASKED_AT_ONCE):
        some = tokens[first : first + ASKED_AT_ONCE]
        for token, begun in zip(
            some, translator._first_tokens([[token] for token in some], count, *direction), strict=True
        ):
            spoken = [each for each in begun if each < tokenizer.size]  # published models may have rows of no token
            found[token, : len(spoken)] = spoken
        progress(first + len(some), len(tokens))
    return found


def _encoded(tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> tuple[Flat, Flat]:
    """Both sides of the pairs that can be learnt from, some at a time: lists of numbers are large."""
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
    return _joined([source for source, _ in parts]), _joined([target for _, target in parts])


def _joined(parts: Sequence[Flat]) -> Flat:
    return Flat(np.concatenate([part.ids for part in parts]), np.concatenate([part.lengths for part in parts]))


def _first(sequences: Flat, count: int) -> list[Ids]:
    ends = np.cumsum(sequences.lengths[:count])
    return [
        sequences.ids[end - length : end].astype(np.int64) for end, length in zip(ends, sequences.lengths, strict=False)
    ]


def _without_first(sequences: Flat, count: int) -> Flat:
    return Flat(sequences.ids[sequences.lengths[:count].sum() :], sequences.lengths[count:])


def _drawn(pairs: Iterable[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """At most so many of them, each with the same chance, in an order of chance: the first are as good as any."""
    drawn, _ = reservoir_sample(pairs, most)
    random.Random(0).shuffle(drawn)
    return drawn


def _shortlist(sources: Ids, targets: Ids, always: Ids, vocabulary: int, pairs: int) -> Shortlist:
    """Of source tokens with a translation each, in any order; some may be there twice, and -1 is none.

    Each is listed with itself too: one whose translations are always allowed would pass for unknown.
    """
    known = np.unique(sources[targets >= 0])
    wanted = (targets >= 0) & ~np.isin(targets, always)
    places = np.unique(np.concatenate((sources[wanted] * vocabulary + targets[wanted], known * vocabulary + known)))
    return Shortlist(
        np.searchsorted(places, np.arange(vocabulary + 1) * vocabulary), places % vocabulary, always, pairs
    )


def _always(tokenizer: Tokenizer, counts: Ids, frequent: int) -> Ids:
    """The most frequent tokens, those that any text may have - numbers, punctuation, single letters - and specials."""
    order = np.argsort(-counts, kind="stable")[:frequent]
    chosen = set(order[counts[order] > 0].tolist())
    for token, piece in enumerate(tokenizer.pieces(range(tokenizer.size))):
        bare = piece.strip(WORD_START)
        spelling = len(bare) <= 1 or not any(map(str.isalpha, bare))  # of numbers, names, anything
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
