"""The interface of all tokenizers.

Tokenizers that Headwise trains begin with the same ids: four special tokens, then one tag per language. In them text
never becomes a special token: `<2de>` or `<eos>` in a text is spelt with ordinary pieces. A published tokenizer has
its special tokens where its model expects them, and recognises them in text if the original does. `encode` adds no
special tokens: `frame`, `source_frame` and `target_start` give those that go around a text.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from headwise.errors import ConfigError, DataError
from headwise.text.normalise import normalise, well_formed
from headwise.text.specials import Item, Specials, own_specials
from headwise.text.stored import Parts, fingerprint, write_parts

Ids = NDArray[np.int64]
Keys = NDArray[np.uint64]

_BYTE = re.compile("<0x[0-9A-F]{2}>")

WORD_START = "▁"
"""The mark of a piece that begins a word, as in SentencePiece."""


def check_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """The languages without duplicates, in order; a ConfigError for a code that cannot be in a tag."""
    for language in languages:
        if not re.fullmatch(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*", language):
            raise ConfigError(
                f"{language!r} is not a language code: those have letters, digits, - and _ only, as in de or pt-BR"
            )
    return tuple(dict.fromkeys(languages))


class TrainingSet(NamedTuple):
    """The sentences that a tokenizer is trained on, and the properties that it is given."""

    sentences: Sequence[str]
    """Not empty, and normalised unless the tokenizer is lossless."""
    vocabulary: int
    """The most entries, special tokens included."""
    languages: tuple[str, ...] = ()
    mask: bool = False
    """Whether there is a mask token."""
    lossless: bool = False
    """Whether spaces and line ends are kept."""
    split_digits: bool = False
    """Whether each digit is a piece of its own, in SentencePiece tokenizers."""


class Tokenizer(ABC):
    """A tokenizer turns text into ids and back. It is immutable, so threads may share it, and can be pickled."""

    kind: ClassVar[str]
    """The name in the table of kinds."""
    keeps_text: bool = False
    """Whether text is encoded with all its spaces and line ends, not normalised first."""

    def __init__(self, parts: Parts, specials: Specials | None = None) -> None:
        self.parts = parts
        self.languages: tuple[str, ...] = parts.languages
        self.fingerprint: str = fingerprint(self.kind, parts)
        if parts.settings.get("lossless", False):
            self.keeps_text = True
        own = specials or own_specials(parts.languages, parts.settings.get("mask", False))
        self.pad: int = own.pad
        self.sos: int = own.sos
        """The token that begins a text ([CLS] in BERT), the decoder's first input."""
        self.eos: int = own.eos
        """The token that ends a text ([SEP] in BERT)."""
        self.unk: int = own.unk
        self.mask: int | None = own.mask
        """The mask token, in place of a token that is to be predicted; None if there is none."""
        self._names = own.names
        self._tags = own.tags
        self._framing = own.framing
        self.specials: tuple[int, ...] = own.forbidden
        """Ids that a search never generates; eos, which ends a translation, is not among them."""

    @classmethod
    def train(cls, given: TrainingSet) -> Self:
        """Learn a vocabulary."""
        raise ConfigError(f"a {cls.kind} tokenizer is read from published files, it cannot be trained")

    @classmethod
    def default_vocabulary(cls, sentences: int) -> int:
        """The vocabulary size for a corpus of this many sentences, both sides counted.

        More data can train more embeddings; with little data, short frequent pieces translate better than long rare
        ones. It is an upper limit, which a small corpus may not reach.
        """
        pairs = sentences / 2
        for limit, size in ((30_000, 4_000), (200_000, 8_000), (1_000_000, 16_000)):
            if pairs < limit:
                return size
        return 32_000

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of ids, special tokens included."""

    def encode(self, text: str) -> list[int]:
        """Encode a text, which is normalised first unless `keeps_text`, to ids without special tokens."""
        return self._encode(self._prepared(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode each text; faster than one by one in some kinds."""
        return [self.encode(text) for text in texts]

    def encode_target(self, text: str) -> list[int]:
        """Encode a text of the target side, which differs from `encode` in Marian's tokenizers only."""
        return self.encode(text)

    def encode_target_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode each text of the target side."""
        return self.encode_batch(texts)

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids to text without special tokens; it is normalised, hence one line, unless `keeps_text`."""
        text = self._decode([i for i in map(int, ids) if i not in self._names])
        return text if self.keeps_text else normalise(text)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The piece of each id, as readable text; a piece that begins a word begins with ▁."""
        shown = self._shown
        return [shown[i] if i in shown else self._show(i) for i in map(int, ids)]

    @cached_property
    def _shown(self) -> dict[int, str]:
        """A cache of pieces: translations consist of the same few thousand, again and again."""
        return {}

    def _show(self, i: int) -> str:
        return self._shown.setdefault(i, self._names.get(i) or self._piece(i))

    def alone(self, i: int) -> str:
        """The text of a single id, without spaces around it; its piece if it is special or part of a character."""
        text = self._alone(i)
        return text if text and "\ufffd" not in text else self.pieces([i])[0]

    def piece_ids(self, pieces: Sequence[str]) -> list[int]:
        """The ids of pieces that `pieces` gave."""
        for piece in pieces:
            if piece not in self._by_piece:
                raise DataError(f"{piece!r} is not a piece of this tokenizer")
        return [self._by_piece[piece] for piece in pieces]

    @cached_property
    def _by_piece(self) -> dict[str, int]:
        return {piece: i for i, piece in enumerate(self.pieces(range(self.size)))}

    def uncovered(self, text: str) -> list[str]:
        """The characters of a text, each once, that no piece of the vocabulary contains.

        They become `<unk>`, or bytes that were rare in training: the model can only guess at them.
        """
        alphabet = self._alphabet
        return [each for each in dict.fromkeys(self._surface(text)) if each not in alphabet and not each.isspace()]

    @cached_property
    def _alphabet(self) -> frozenset[str]:
        """The characters of all pieces; pieces that are bytes have none."""
        pieces = self.pieces([i for i in range(self.size) if i not in self._names])
        return frozenset(_BYTE.sub("", "".join(pieces))) | {WORD_START}

    def _surface(self, text: str) -> str:
        """The text in the form that is looked up in the vocabulary."""
        return self._prepared(text)

    def word_ids(self, ids: Sequence[int]) -> list[int]:
        """The index of each id's word among the space-separated words of the text; -1 for special tokens.

        An unknown word or character is part of the text and counts. A space belongs to the word after it;
        spaces that end the text, which only a model generates, belong to no word.
        """
        words: list[int] = []
        word, begun = 0, False
        for i, piece in zip(ids, self.pieces(ids), strict=True):
            if self.is_special(i):
                words.append(-1)
                continue
            unknown_word = i == self.unk and self._unknown_is_word
            if begun and (unknown_word or piece.startswith(WORD_START)):
                word, begun = word + 1, False
            begun = begun or piece != WORD_START
            words.append(word)
        return words if begun else [-1 if w == word else w for w in words]

    def is_special(self, i: int) -> bool:
        """Whether the id represents no text. `<unk>` is not special: it represents text, though unknown."""
        return i in self._names and (i != self.unk or i in (self.sos, self.eos))

    def sample_batch(self, ids: Ids, lengths: Ids, alpha: float, candidates: int, keys: Keys) -> tuple[Ids, Ids]:
        """Draw other segmentations of many texts, concatenated, with at least one id each; alpha is above 0.

        Returns the ids and the length of each text. What is drawn for a text depends on its random number in `keys`
        alone. Kinds with a single segmentation return the ids.
        """
        return ids, lengths

    def tag(self, language: str) -> int:
        """The id of the tag of a language."""
        try:
            return self._tags[language]
        except KeyError:
            known = ", ".join(self._tags) or "none"
            raise ConfigError(f"no language {language!r} in this model; there are: {known}") from None

    def frame(self, first: Sequence[int], second: Sequence[int] | None = None) -> tuple[list[int], list[int]]:
        """The ids of a text or a pair within the special tokens that the model expects, and the segment of each id."""
        framing = self._framing
        if second is None:
            ids = [*framing.single[0], *first, *framing.single[1]]
            return ids, [0] * len(ids)
        before, between, after = framing.pair
        middle, other, end = framing.segments
        segments = [0] * (len(before) + len(first)) + [middle] * len(between) + [other] * len(second)
        return [*before, *first, *between, *second, *after], segments + [end] * len(after)

    def source_frame(self, source: str, target: str) -> tuple[list[int], list[int]]:
        """The ids before and after a text in the language `source` that is translated to `target`.

        An empty language adds no tag.
        """
        before, after = self._framing.source
        return self._items(before, source, target), self._items(after, source, target)

    @property
    def tags_source(self) -> bool:
        """Whether the tag of the source language is part of the encoder's input."""
        return bool(self._tags) and any("source" in items for items in self._framing.source)

    def decoder_start(self, target: str) -> int:
        """The decoder's first input for translations to `target`."""
        return self.tag(target) if self._framing.first == "target" and target else self.sos

    def target_start(self, target: str) -> list[int]:
        """The ids that a translation to `target` begins with, after `decoder_start`."""
        return self._items(self._framing.start, "", target)

    def _items(self, items: Sequence[Item], source: str, target: str) -> list[int]:
        languages = {"source": source, "target": target}
        ids: list[int] = []
        for item in items:
            if isinstance(item, int):
                ids.append(item)
            elif self._tags and languages[item]:
                ids.append(self.tag(languages[item]))
        return ids

    def save(self, folder: Path) -> None:
        """Write the files that `load_tokenizer` reads."""
        write_parts(folder, self.kind, self.parts)

    def save_published(self, folder: Path, framed: bool = True) -> None:
        """Write the files of transformers, if there is a published form of this kind with the same ids.

        Without `framed` no special tokens are put around texts, as language models trained with Headwise have none.
        """
        raise ConfigError(f"a {self.kind} tokenizer has no published form; byte_bpe and wordpiece have one (text.kind)")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[type[Self], tuple[Parts]]:
        return type(self), (self.parts,)

    def __repr__(self) -> str:
        return f"<{self.kind} tokenizer of {self.size} entries, {self.fingerprint[:12]}>"

    _unknown_is_word: ClassVar[bool] = False
    """Whether `<unk>` represents a whole word."""

    def _prepared(self, text: str) -> str:
        return well_formed(text) if self.keeps_text else normalise(text)

    @abstractmethod
    def _encode(self, text: str) -> list[int]:
        """Encode prepared text."""

    @abstractmethod
    def _decode(self, ids: list[int]) -> str:
        """Decode ids without special tokens."""

    def _alone(self, i: int) -> str:
        return self.decode([i]).strip()

    @abstractmethod
    def _piece(self, i: int) -> str:
        """The piece of an id that is not special."""
