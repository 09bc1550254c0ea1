"""The probability of each word of a translation, and the other words that the model might have written there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwise.decode.framing import DirectionFrame, Framer
from headwise.decode.search.options import SearchOptions, SearchRequest
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
    """The probability that the model gives it after the words before it."""
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
        before = self.tokens[:first]
        table = self._table(before)
        row = table[-1].copy()
        row[[*self.sentences.tokenizer.specials, self.sentences.tokenizer.eos]] = -math.inf
        likely = [int(token) for token in np.argsort(-row)[: count + SPARE]]
        prefixes = [[*self.frame.start, *before, token] for token in likely]
        found = self.sentences.candidates([self.source] * len(likely), prefixes, self.frame, options, None)
        texts = _by_word([each[0].text for each in found], words[:number])
        ways = [[*before, *self._word_tokens(text, number)] for text in texts.values()]
        reached = float(table[np.arange(first), before].sum())
        made = [
            WordChoice(word, math.exp(min(0.0, total - reached)), text)
            for (word, text), total in zip(texts.items(), self._log_probabilities(ways), strict=True)
        ]
        return sorted(made, key=lambda each: -each.probability)[:count]

    def _word_tokens(self, text: str, number: int) -> list[int]:
        """The tokens of one word of a text."""
        tokens = self.sentences.tokenizer.encode_target(text)
        owners = self.sentences.tokenizer.word_ids(tokens)
        return [token for token, owner in zip(tokens, owners, strict=True) if owner == number]

    def _log_probabilities(self, ways: Sequence[Sequence[int]]) -> list[float]:
        """Log-probabilities of beginnings of a translation: searches that have nothing left to choose."""
        start, tokenizer = self.frame.start, self.sentences.tokenizer
        options = SearchOptions(self.frame.sos, tokenizer.eos, unscored=len(start))
        prefixes = [[*start, *way] for way in ways]
        request = SearchRequest([self.source] * len(ways), [*map(len, prefixes)], options, prefixes)
        return [found.log_probability for [found] in self.sentences.engine.search(request)]

    def _table(self, tokens: Sequence[int]) -> NDArray[Any]:
        """Log-probabilities [T + 1, V] of the token after each of these, and of the first."""
        start = self.frame.start
        return self.sentences.next_tokens(self.source, [self.frame.sos, *start, *tokens])[len(start) :]


def _by_word(texts: Sequence[str], before: Sequence[str]) -> dict[str, str]:
    """Translations by their word after those before it; the first, which is the likeliest, of several with one word.

    Translations that change a word before it are left out.
    """
    found: dict[str, str] = {}
    for text in texts:
        words = text.split()
        if len(words) > len(before) and words[: len(before)] == list(before):
            found.setdefault(words[len(before)], text)
    return found
