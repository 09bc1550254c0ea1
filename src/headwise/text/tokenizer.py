"""What every tokenizer can do, whatever its kind.

The first ids are the same everywhere: four specials, then one tag a language. A special is never found in
text: someone who types `<2de>` or `<eos>` gets ordinary pieces that spell it. `encode` adds no specials;
where a sentence starts and ends, and which tag leads it, is the affair of the data pipeline.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from headwise.errors import ConfigError, DataError
from headwise.text.normalise import normalise
from headwise.text.parts import Parts, fingerprint, write_parts

PAD, SOS, EOS, UNK = range(4)
SPECIALS = ("<pad>", "<sos>", "<eos>", "<unk>")
WORD_START = "▁"
"""Begins each piece that begins a word, as SentencePiece writes it."""


def special_names(languages: Sequence[str]) -> tuple[str, ...]:
    """The pieces of the first ids: the four specials and the language tags."""
    return (*SPECIALS, *(f"<2{language}>" for language in languages))


def check_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """Each language once, in order; a ConfigError for what cannot be in a tag."""
    for language in languages:
        if not re.fullmatch(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*", language):
            raise ConfigError(f"{language!r} is no language code: letters, digits, - and _ only, as in de or pt-BR")
    return tuple(dict.fromkeys(languages))


class Tokenizer(ABC):
    """Text to ids and back. Immutable, hence safe to share between threads; picklable by its parts."""

    kind: ClassVar[str]
    """Its row in the table of kinds."""
    pad: ClassVar[int] = PAD
    sos: ClassVar[int] = SOS
    eos: ClassVar[int] = EOS
    unk: ClassVar[int] = UNK

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.languages: tuple[str, ...] = parts.languages
        self.fingerprint: str = fingerprint(self.kind, parts)
        self._names = special_names(parts.languages)
        self._tags = {language: len(SPECIALS) + i for i, language in enumerate(parts.languages)}
        self.specials: tuple[int, ...] = (PAD, SOS, UNK, *self._tags.values())
        """Ids that a translation never contains, for a search to exclude; eos is not one, it ends it."""

    @classmethod
    @abstractmethod
    def train(cls, sentences: Sequence[str], vocabulary: int, languages: tuple[str, ...]) -> Self:
        """Learn at most `vocabulary` entries, specials included, from normalised, non-empty sentences."""

    @classmethod
    def default_vocabulary(cls, sentences: int) -> int:
        """The size for a corpus of so many sentences, both sides counted.

        More data can train more embeddings; with little data, short pieces that are seen often translate
        better than long rare ones. 4,000 below 30,000 pairs, 8,000 below 200,000, 16,000 below a million,
        32,000 above. It is an upper limit: a corpus that cannot fill it gets fewer.
        """
        pairs = sentences / 2
        for limit, size in ((30_000, 4_000), (200_000, 8_000), (1_000_000, 16_000)):
            if pairs < limit:
                return size
        return 32_000

    @property
    @abstractmethod
    def size(self) -> int:
        """How many ids there are, specials included."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, which is normalised first."""
        return self._encode(normalise(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for each text, as fast as this kind can."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The text, specials skipped. Always normalised, hence one line, whatever a model generated."""
        specials = len(self._names)
        return normalise(self._decode([int(i) for i in ids if i >= specials]))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What each id stands for, to look at; a piece that begins a word begins with ▁."""
        return [self._names[i] if i < len(self._names) else self._piece(i) for i in map(int, ids)]

    def piece_ids(self, pieces: Sequence[str]) -> list[int]:
        """The ids of what `pieces` gave."""
        for piece in pieces:
            if piece not in self._by_piece:
                raise DataError(f"{piece!r} is no piece of this tokenizer")
        return [self._by_piece[piece] for piece in pieces]

    @cached_property
    def _by_piece(self) -> dict[str, int]:
        return {piece: i for i, piece in enumerate(self.pieces(range(self.size)))}

    def word_ids(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word among the space-separated words of the text; -1 for specials.

        An unknown word or character is part of the text and counts. A space belongs to the word after it;
        spaces that end the text, which only a model writes, belong to none.
        """
        words: list[int] = []
        word, begun = 0, False
        for i, piece in zip(ids, self.pieces(ids), strict=True):
            if i < len(self._names) and i != UNK:
                words.append(-1)
                continue
            unknown_word = i == UNK and self._unknown_is_word
            if begun and (unknown_word or piece.startswith(WORD_START)):
                word, begun = word + 1, False
            begun = begun or piece != WORD_START
            words.append(word)
        return words if begun else [-1 if w == word else w for w in words]

    def sample(self, ids: Sequence[int], alpha: float, candidates: int, rng: np.random.Generator) -> list[int]:
        """Another segmentation of the same text, drawn with `rng` alone; the ids as they are if alpha is 0.

        Specials may stand before and after the text and stay. Kinds with one segmentation return the ids.
        """
        start, end = 0, len(ids)
        while start < end and ids[start] < len(self._names):
            start += 1
        while end > start and ids[end - 1] < len(self._names):
            end -= 1
        text = [int(i) for i in ids[start:end]]
        if alpha <= 0 or not text or min(text) < len(self._names):
            return list(ids)
        return [*ids[:start], *self._sample(text, alpha, candidates, rng), *ids[end:]]

    def tag(self, language: str) -> int:
        """The id of the tag that asks for `language`."""
        try:
            return self._tags[language]
        except KeyError:
            known = ", ".join(self.languages) or "none"
            raise ConfigError(f"no language {language!r} in this model; there are: {known}") from None

    def save(self, folder: Path) -> None:
        """Write the files that `load_tokenizer` reads."""
        write_parts(folder, self.kind, self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[type[Self], tuple[Parts]]:
        return type(self), (self.parts,)

    def __repr__(self) -> str:
        return f"<{self.kind} tokenizer of {self.size} entries, {self.fingerprint[:12]}>"

    _unknown_is_word: ClassVar[bool] = False
    """Whether `<unk>` stands for a whole word."""

    @abstractmethod
    def _encode(self, text: str) -> list[int]:
        """Of normalised text."""

    @abstractmethod
    def _decode(self, ids: list[int]) -> str:
        """Of ids without specials."""

    @abstractmethod
    def _piece(self, i: int) -> str:
        """Of an id that is no special."""

    def _sample(self, ids: list[int], alpha: float, candidates: int, rng: np.random.Generator) -> list[int]:
        """Of ids without specials, at least one."""
        return ids
