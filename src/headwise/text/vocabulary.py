"""The two kinds whose vocabulary is a plain list: whole words and single characters.

Both are easy to read in a picture and need no library. They do not spell what they have not seen: it becomes
`<unk>` and is lost, so they are for study and for closed sets of words; subwords are for translation.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Self

from headwise.errors import ConfigError
from headwise.text.parts import Parts
from headwise.text.tokenizer import UNK, WORD_START, Tokenizer, special_names


class _Listed(Tokenizer):
    """A tokenizer that looks its tokens up in a list; a subclass says what a token is."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._ids = {token: i for i, token in enumerate(parts.vocabulary, start=len(self._names))}

    @property
    def size(self) -> int:
        return len(self._names) + len(self.parts.vocabulary)

    @classmethod
    def _list(cls, tokens: Iterable[str], vocabulary: int, languages: tuple[str, ...]) -> Self:
        """The most frequent tokens; of equally frequent ones the first in code point order."""
        room = vocabulary - len(special_names(languages))
        if room < 1:
            raise ConfigError(f"text.vocabulary = {vocabulary} has room for the special tokens only")
        ranked = sorted(Counter(tokens).items(), key=lambda item: (-item[1], item[0]))
        return cls(Parts(languages, tuple(token for token, _ in ranked[:room])))

    def _token(self, i: int) -> str:
        return self.parts.vocabulary[i - len(self._names)]


class Words(_Listed):
    """Whatever stands between spaces is a token."""

    kind = "words"
    _unknown_is_word = True

    @classmethod
    def train(cls, sentences: Sequence[str], vocabulary: int, languages: tuple[str, ...]) -> Self:
        return cls._list((word for sentence in sentences for word in sentence.split()), vocabulary, languages)

    @classmethod
    def default_vocabulary(cls, sentences: int) -> int:
        """Words cannot be put together from parts, so there is no reason to have fewer in a small corpus."""
        return 32_000

    def _encode(self, text: str) -> list[int]:
        return [self._ids.get(word, UNK) for word in text.split()]

    def _decode(self, ids: list[int]) -> str:
        return " ".join(map(self._token, ids))

    def _piece(self, i: int) -> str:
        return WORD_START + self._token(i)


class Characters(_Listed):
    """Each code point is a token, the space included."""

    kind = "characters"

    @classmethod
    def train(cls, sentences: Sequence[str], vocabulary: int, languages: tuple[str, ...]) -> Self:
        return cls._list(chain.from_iterable(sentences), vocabulary, languages)

    def _encode(self, text: str) -> list[int]:
        return [self._ids.get(character, UNK) for character in text]

    def _decode(self, ids: list[int]) -> str:
        return "".join(map(self._token, ids))

    def _piece(self, i: int) -> str:
        token = self._token(i)
        return {" ": WORD_START, WORD_START: "<U+2581>"}.get(token, token)
