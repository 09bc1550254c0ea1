"""Tokenizers whose vocabulary is a plain list: whole words, or single characters.

Both are easy to read in a picture and need no library. What they have not seen in training becomes `<unk>` and is
lost, so they are for study and for closed vocabularies; translation uses subwords.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Self

from headwise.errors import ConfigError
from headwise.text.specials import UNK, special_names
from headwise.text.spelling import show, words_of
from headwise.text.stored import Parts
from headwise.text.tokenizer import WORD_START, Tokenizer, TrainingSet


class _Listed(Tokenizer):
    """A tokenizer that looks its tokens up in a list; subclasses define what a token is."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._ids = {token: i for i, token in enumerate(parts.vocabulary, start=len(self._names))}

    @property
    def size(self) -> int:
        return len(self._names) + len(self.parts.vocabulary)

    @classmethod
    def _list(cls, tokens: Iterable[str], given: TrainingSet, always: str, settings: dict[str, bool]) -> Self:
        """Build a tokenizer from the tokens of `always`, then the most frequent ones; ties are in code-point order."""
        room = given.vocabulary - len(special_names(given.languages, given.mask)) - len(always)
        if room < 1:
            raise ConfigError(f"text.vocabulary = {given.vocabulary} has room for the special tokens only")
        counts = Counter(tokens)
        for token in always:
            del counts[token]
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls(Parts(given.languages, (*always, *(token for token, _ in ranked[:room])), settings=settings))

    def _token(self, i: int) -> str:
        return self.parts.vocabulary[i - len(self._names)]


class Words(_Listed):
    """A word tokenizer: tokens are separated by spaces."""

    kind = "words"
    _unknown_is_word = True

    @classmethod
    def train(cls, given: TrainingSet) -> Self:
        words = (word for sentence in given.sentences for word in sentence.split())
        return cls._list(words, given, "", {"mask": given.mask})

    @classmethod
    def default_vocabulary(cls, sentences: int) -> int:
        """32,000 for every corpus: words are not composed of parts, so a smaller vocabulary would gain nothing."""
        return 32_000

    def uncovered(self, text: str) -> list[str]:
        """The words of a text, each once, that are not in the vocabulary."""
        return [word for word in dict.fromkeys(self._prepared(text).split()) if word not in self._ids]

    def _encode(self, text: str) -> list[int]:
        return [self._ids.get(word, UNK) for word in text.split()]

    def _decode(self, ids: list[int]) -> str:
        return " ".join(map(self._token, ids))

    def _piece(self, i: int) -> str:
        return WORD_START + self._token(i)


class Characters(_Listed):
    """A character tokenizer: each code point is a token, the space included."""

    kind = "characters"

    @classmethod
    def train(cls, given: TrainingSet) -> Self:
        # A corpus is read by lines and shows no line ends, which a lossless tokenizer has to keep.
        always = "\n" if given.lossless else ""
        settings = {"mask": given.mask, "lossless": given.lossless}
        return cls._list(chain.from_iterable(given.sentences), given, always, settings)

    def word_ids(self, ids: Sequence[int]) -> list[int]:
        if not self.keeps_text:
            return super().word_ids(ids)
        first = len(self._names)
        return words_of([self._token(i).encode() if i >= first else b"?" if i == self.unk else None for i in ids])

    def _encode(self, text: str) -> list[int]:
        return [self._ids.get(character, UNK) for character in text]

    def _decode(self, ids: list[int]) -> str:
        return "".join(map(self._token, ids))

    def _piece(self, i: int) -> str:
        token = self._token(i)
        if self.keeps_text:
            return show(token.encode())
        return {" ": WORD_START, WORD_START: "<U+2581>"}.get(token, token)
