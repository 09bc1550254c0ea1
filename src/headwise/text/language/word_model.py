"""The word model: how probable a word is in each of five languages, by word lists and letter trigrams.

A word that is listed has its relative frequency in the corpora; the letters of any word, listed or not, have a
probability each, given the two before. The probability of a word is a mixture of the two:
P(word) = LISTED * P(listed word) + (1 - LISTED) * product of P(letter | two letters before).

The file, made by `scripts/make_word_model.py`, is xz-compressed text: the language codes; the listed words; one line
per language with a character per word; the trigrams, one after the other; one line per language with a character per
trigram. A character is a log-probability in steps of `STEP`, `ABSENT` a word that the language's list does not have.
"""

import lzma
import math
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path

FILE = Path(__file__).parent / "word_model.txt.xz"

STEP = 1 / 6
LOWEST = ord("!")
ABSENT = "~"
BEGIN, END = "^", "$"
LISTED = 0.97
"""Share of running words that the lists are taken to cover."""
UNKNOWN_WORD, UNKNOWN_LETTER = 6.0, 2.4
"""Negative log-probability of a word in an unknown language: for itself, and for each letter."""
WEIGHT, LARGEST = 0.5, 8.0
"""Weight of the words' evidence beside py3langid's, and the most that one word counts."""


def trigrams(word: str) -> list[str]:
    """Each letter of a word, and its end, with the two characters before."""
    framed = f"{BEGIN}{BEGIN}{word}{END}"
    return [framed[place : place + 3] for place in range(len(word) + 1)]


class WordModel:
    """Log-probabilities of words in each of `languages`."""

    def __init__(self, path: Path) -> None:
        lines = lzma.decompress(path.read_bytes()).decode().split("\n")
        self.languages = tuple(lines[0].split())
        count = len(self.languages)
        self._words = {word: place for place, word in enumerate(lines[1].split(" "))}
        self._listed = lines[2 : 2 + count]
        grams = lines[2 + count]
        self._grams = {grams[place : place + 3]: place // 3 for place in range(0, len(grams), 3)}
        self._letters = lines[3 + count : 3 + 2 * count]
        self._alphabet = frozenset(grams) - {BEGIN, END}
        self.word = lru_cache(maxsize=1 << 14)(self._word)
        """Log-probability of a word in each language."""

    def can_spell(self, word: str) -> bool:
        """Whether a word has a letter of a known script; else its probability means nothing."""
        return not self._alphabet.isdisjoint(word)

    def score(self, words: Iterable[str], language: str) -> float:
        """Log-probability of words in a language."""
        column = self.languages.index(language)
        return sum(self.word(word)[column] for word in words)

    def evidence(self, words: Sequence[str], language: str) -> float:
        """How much more probable words are in this language than in one that is not listed: a mean per word.

        In an unknown language a word's probability is taken to depend on its length alone.
        """
        column = self.languages.index(language)
        ratios = (self.word(word)[column] + UNKNOWN_WORD + UNKNOWN_LETTER * len(word) for word in words)
        return WEIGHT * sum(min(max(ratio, -LARGEST), LARGEST) for ratio in ratios) / len(words)

    def _word(self, word: str) -> tuple[float, ...]:
        place = self._words.get(word)
        places = [self._grams.get(gram) for gram in trigrams(word)]
        scores = []
        for listed, letters in zip(self._listed, self._letters, strict=True):
            spelt = sum(_NEVER if at is None else _LOG[letters[at]] for at in places)
            score = math.log(1 - LISTED) + spelt
            if place is not None and listed[place] != ABSENT:
                score = math.log(LISTED * math.exp(_LOG[listed[place]]) + math.exp(score))
            scores.append(score)
        return tuple(scores)


_LOG = {chr(code): -STEP * (code - LOWEST) for code in range(LOWEST, ord(ABSENT))}
_NEVER = -STEP * (ord(ABSENT) - LOWEST)
"""Log-probability of a trigram that no language has."""


@cache
def word_model() -> WordModel:
    """The model in the package."""
    return WordModel(FILE)
