"""The probability of each word of a translation, and the other words that the model might have written there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwise.decode.framing import DirectionFrame, Framer
from headwise.decode.sentence_search import SentenceSearch
from headwise.decode.translation import TranslateOptions
from headwise.errors import DataError

SPARE = 4
"""First tokens that are tried beyond those asked for: some lead to the same word, or to none."""


@dataclass(frozen=True)
class WordProbability:
    """A word of a translation, and the probability that the model gives it after the words before it."""

    word: str
    probability: float


@dataclass(frozen=True)
class WordChoice:
    """A word that may stand at some place of a translation, and the translation that goes on from it."""

    word: str
    probability: float
    """The probability of the first tokens that lead to this word, together."""
    text: str
    """The whole translation: the words before, this one, and the most probable rest."""


@dataclass(frozen=True)
class WordForecast:
    """A translation of one sentence, its tokens, and the model's probabilities for each of them."""

    sentences: SentenceSearch
    frame: DirectionFrame
    source: list[int]
    tokens: list[int]
    """The translation's, without special tokens."""
    text: str

    @classmethod
    def of(
        cls, sentences: SentenceSearch, framer: Framer, frame: DirectionFrame, text: str, translation: str
    ) -> WordForecast:
        """The forecast of a translation of one sentence; a text that is too long to be taken whole is an error."""
        tokens = sentences.tokenizer.encode_target(translation)
        source = framer.source_ids(text, frame)
        for ids in (source, [frame.sos, *frame.start, *tokens]):
            framer.check_length(ids)
        return cls(sentences, frame, source, tokens, sentences.tokenizer.decode(tokens))

    def words(self) -> list[WordProbability]:
        """The probability of each word: the product of those of its tokens."""
        table = self._table(self.tokens)
        chosen = table[np.arange(len(self.tokens)), self.tokens]
        owners = np.array(self.sentences.tokenizer.word_ids(self.tokens))
        return [
            WordProbability(word, math.exp(min(0.0, float(chosen[owners == number].sum()))))
            for number, word in enumerate(self.text.split())
        ]

    def choices(self, number: int, count: int, options: TranslateOptions) -> list[WordChoice]:
        """The likeliest words in the place of word `number`, best first, each with the translation that follows."""
        words = self.text.split()
        if not 0 <= number < len(words):
            raise DataError(f"the translation has {len(words)} words: there is none with the number {number}")
        first = self.sentences.tokenizer.word_ids(self.tokens).index(number)
        row = self._table(self.tokens[:first])[-1]
        row[[*self.sentences.tokenizer.specials, self.sentences.tokenizer.eos]] = -math.inf
        likely = [int(token) for token in np.argsort(-row)[: count + SPARE]]
        prefixes = [[*self.frame.start, *self.tokens[:first], token] for token in likely]
        found = self.sentences.candidates([self.source] * len(likely), prefixes, self.frame, options, None)
        return _merged(
            words[:number],
            number,
            [(each[0].text, math.exp(row[token])) for each, token in zip(found, likely, strict=True)],
        )[:count]

    def _table(self, tokens: Sequence[int]) -> NDArray[Any]:
        """Log-probabilities [T + 1, V] of the token after each of these, and of the first."""
        start = self.frame.start
        return self.sentences.next_tokens(self.source, [self.frame.sos, *start, *tokens])[len(start) :]


def _merged(before: list[str], number: int, found: Sequence[tuple[str, float]]) -> list[WordChoice]:
    """Choices by their word; translations that change a word before it are left out."""
    choices: dict[str, WordChoice] = {}
    for text, probability in found:
        words = text.split()
        if len(words) <= number or words[:number] != before:
            continue
        known = choices.get(words[number])
        if known is None:
            choices[words[number]] = WordChoice(words[number], probability, text)
        else:  # the likelier of both came first: its rest is kept
            choices[words[number]] = WordChoice(known.word, known.probability + probability, known.text)
    return sorted(choices.values(), key=lambda each: -each.probability)
