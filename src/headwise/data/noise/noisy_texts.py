"""Making noisy pairs out of token ids: decode, change the text, encode. A pure function, for one process or several."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from headwise.data.noise.dice import Dice
from headwise.data.noise.inserted import bulleted, copied, emoji, same, tagged
from headwise.data.noise.letters import Texts, hyphenated, lower, title, typos, unpunctuated, upper
from headwise.data.noise.terms import Terms, with_terms
from headwise.data.prepare.encoded_corpus import Flat
from headwise.text.tokenizer import Ids, Keys, Tokenizer

CHANGES: dict[str, Callable[[Dice, Texts, Texts], Texts]] = {
    "same": same,
    "lower": lower,
    "upper": upper,
    "title": title,
    "unpunctuated": unpunctuated,
    "typos": typos,
    "hyphenated": hyphenated,
    "tags": tagged,
    "copied": copied,
    "emoji": emoji,
    "bullets": bulleted,
}
"""The kinds of noise that change a pair, in the order in which they are applied: what is to be copied comes after the
change of case."""

JOINED = "joined"
WORDS = "words"
TERMS = "terms"
KINDS = (WORDS, JOINED, *CHANGES, TERMS)
"""All kinds, named as the keys of `data.noise`; the bits of a mask are in this order."""

Words = Mapping[tuple[str, str], Sequence[Texts]]
"""Word translations of each direction."""

ID = np.dtype("<u4")


class NoiseTask(NamedTuple):
    """Pairs that are to be changed, as arrays."""

    directions: Ids
    """The direction of each pair, as an index of `Noisemaker.directions`."""
    keys: Keys
    """The random key of each pair."""
    masks: Ids
    """The kinds of noise of each pair, as bits."""
    sentences: Ids
    """Sentences per pair: more than one where they are joined."""
    source: Flat
    """The ids of each sentence."""
    target: Flat

    def parts(self, count: int) -> list["NoiseTask"]:
        """The task in at most `count` parts of nearly the same number of pairs."""
        edges = np.linspace(0, len(self.keys), min(count, len(self.keys)) + 1).astype(np.int64)
        firsts = np.append(0, np.cumsum(self.sentences))[edges]
        bounds = [np.append(0, np.cumsum(side.lengths))[firsts] for side in (self.source, self.target)]
        made = []
        for part in range(len(edges) - 1):
            pairs, lines = slice(*edges[part : part + 2]), slice(*firsts[part : part + 2])
            source, target = (
                Flat(side.ids[slice(*ends[part : part + 2])], side.lengths[lines])
                for side, ends in zip((self.source, self.target), bounds, strict=True)
            )
            columns = self.directions[pairs], self.keys[pairs], self.masks[pairs], self.sentences[pairs]
            made.append(NoiseTask(*columns, source, target))
        return made


@dataclass(frozen=True)
class Noisemaker:
    """All that the noise of a pair depends on, beside its key and its kinds."""

    tokenizer: Tokenizer
    directions: tuple[Texts, ...]
    """The languages of each direction."""
    longest: int
    """Tokens that a side may have. A pair that noise would make longer stays as it is."""
    words: Words
    terms: Mapping[Texts, Terms] = field(default_factory=dict)
    """The terms of each direction that sources are annotated with."""

    def texts(self, direction: int, key: int, mask: int, source: Sequence[str], target: Sequence[str]) -> Texts:
        """A pair with noise, from the sentences of its two sides."""
        dice, languages = Dice(key), self.directions[direction]
        if mask & 1:
            return _word(dice, self.words[languages])
        texts = " ".join(source), " ".join(target)
        for bit, change in enumerate(CHANGES.values(), 2):
            if mask >> bit & 1:
                texts = change(dice, texts, languages)
        if mask >> KINDS.index(TERMS) & 1:
            texts = with_terms(dice, texts, self.terms[languages])
        return texts


def make_noisy(maker: Noisemaker, task: NoiseTask) -> tuple[Flat, Flat]:
    """The ids of the pairs with their noise. A pair that cannot have it comes back as it was, its first sentence alone.

    That is one with an unknown word, whose text is lost, and one that would become empty or too long.
    """
    tokenizer = maker.tokenizer
    sources, targets = (_split(side) for side in (task.source, task.target))
    made: tuple[list[list[int]], list[list[int]]] = ([], [])
    first = 0
    for direction, key, mask, sentences in zip(
        task.directions.tolist(), task.keys.tolist(), task.masks.tolist(), task.sentences.tolist(), strict=True
    ):
        lines = slice(first, first + sentences)
        ids = sources[first], targets[first]
        if not any(tokenizer.unk in each for side in (sources, targets) for each in side[lines]):
            decoded = ([tokenizer.decode(each) for each in side[lines]] for side in (sources, targets))
            source, target = maker.texts(direction, key, mask, *decoded)
            noisy = tokenizer.encode(source), tokenizer.encode_target(target)
            if all(0 < len(side) <= maker.longest for side in noisy):
                ids = noisy
        for side, each in zip(made, ids, strict=True):
            side.append(each)
        first += sentences
    return Flat.of(made[0], ID), Flat.of(made[1], ID)


def _split(side: Flat) -> list[list[int]]:
    ids, ends = side.ids.tolist(), np.cumsum(side.lengths).tolist()
    return [ids[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _word(dice: Dice, words: Sequence[Texts]) -> Texts:
    """A word and its translation, sometimes with capital initials as at the start of a sentence."""
    texts = dice.pick(words)
    return title(dice, texts, ("", "")) if dice.one_in(3) else texts
