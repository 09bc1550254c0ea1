"""A tokenizer without training that counts the texts that it encodes, and a text of given tokens."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwise.data.prepare.plain_text import TokenText
from headwise.text.stored import Parts, read_parts
from headwise.text.tokenizer import Tokenizer


class TinyTokenizer(Tokenizer):
    """Each character is a token; id 10 and up, by its code point."""

    kind = "tiny"
    whole = 300
    encoded = 0
    """Texts that any tokenizer of this class was given. Tests set it to 0."""

    @property
    def size(self) -> int:
        return self.whole

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        TinyTokenizer.encoded += len(texts)
        return super().encode_batch(texts)

    def _encode(self, text: str) -> list[int]:
        return [10 + ord(character) % (self.whole - 10) for character in text]

    def _decode(self, ids: list[int]) -> str:
        return "".join(chr(i - 10) for i in ids)

    def _piece(self, i: int) -> str:
        return chr(i - 10)


def load(folder: Path) -> TinyTokenizer:
    return TinyTokenizer(read_parts(folder)[1])


def make(languages: Sequence[str] = ()) -> TinyTokenizer:
    return TinyTokenizer(Parts(tuple(languages)))


def token_text(ids: Sequence[int] | NDArray[Any]) -> TokenText:
    return TokenText(np.asarray(ids, np.uint16), ("a.txt",), (0,))
