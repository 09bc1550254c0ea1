"""The byte tokenizer: tokens are UTF-8 bytes, so every script is covered and nothing is learned."""

from collections.abc import Sequence
from typing import Self

from headwise.text.spelling import words_of
from headwise.text.stored import Parts
from headwise.text.tokenizer import WORD_START, Tokenizer, TrainingSet


class Bytes(Tokenizer):
    """A byte tokenizer: 256 ids after the specials. Invalid UTF-8, which only a model generates, becomes U+FFFD."""

    kind = "bytes"

    @classmethod
    def train(cls, given: TrainingSet) -> Self:
        return cls(Parts(given.languages, settings={"mask": given.mask, "lossless": given.lossless}))

    @property
    def size(self) -> int:
        return len(self._names) + 256

    def word_ids(self, ids: Sequence[int]) -> list[int]:
        if not self.keeps_text:
            return super().word_ids(ids)
        first = len(self._names)
        return words_of([bytes([i - first]) if i >= first else b"?" if i == self.unk else None for i in ids])

    def uncovered(self, text: str) -> list[str]:
        """None: bytes spell every character."""
        return []

    def _encode(self, text: str) -> list[int]:
        first = len(self._names)
        return [first + byte for byte in text.encode()]

    def _decode(self, ids: list[int]) -> str:
        first = len(self._names)
        return bytes(i - first for i in ids).decode(errors="replace")

    def _piece(self, i: int) -> str:
        byte = i - len(self._names)
        if byte == 0x20:
            return WORD_START
        return chr(byte) if 0x20 < byte < 0x7F else f"<0x{byte:02X}>"
