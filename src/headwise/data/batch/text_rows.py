"""Rows of tokens cut from one long text, in an order that a seed determines and a position resumes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwise.data.batch.plan import Planned, whole
from headwise.data.batch.stream import Position
from headwise.data.prepare.plain_text import Text
from headwise.errors import DataError


@dataclass(frozen=True, eq=False)
class TextBatch:
    tokens: Tensor
    """[B, T+1] int64: [:, :-1] goes in, [:, 1:] comes out."""
    starts: NDArray[np.int64]
    """Of each row, the index of its first token."""

    @property
    def count(self) -> int:
        return self.tokens.size(0) * (self.tokens.size(1) - 1)

    def to(self, device: torch.device) -> "TextBatch":
        return replace(self, tokens=to_device(self.tokens, device))


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """To a GPU without waiting for it: from memory that does not move."""
    if device.type == "cuda" and not tensor.is_cuda:
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


class RowOrder:
    """Rows of `width` tokens, end to end, each of which needs `more` tokens after it (the one it is to predict).

    They begin at another place each epoch and come in another order: no two epochs cut the text alike. What
    is left over at the two ends is less than two rows.
    """

    def __init__(self, tokens: int, width: int, more: int, seed: int) -> None:
        if tokens < width + more:
            raise DataError(f"the training text has {tokens:,} tokens, fewer than one row (language.block) needs")
        self.width = width
        self.seed = seed
        self.rows = max(1, (tokens - more) // width - 1)
        self.slack = tokens - more - self.rows * width

    def starts(self, epoch: int) -> NDArray[np.int64]:
        rng = np.random.default_rng([self.seed, epoch])
        offset = int(rng.integers(self.slack + 1))
        return offset + self.width * rng.permutation(self.rows)

    def batches(self, size: int, at: Position) -> Iterator[tuple[NDArray[np.int64], Position, Position]]:
        """The starts of the rows of each batch from `at` on, its own position and the one after it."""
        count = -(-self.rows // size)
        while True:
            starts = self.starts(at.epoch)
            for number in range(at.batch, count):
                own = Position(at.epoch, number)
                following = Position(at.epoch, number + 1) if number + 1 < count else Position(at.epoch + 1, 0)
                yield starts[number * size : (number + 1) * size], own, following
            at = Position(at.epoch + 1, 0)


class PackedStream:
    """Endless batches of rows of `block` tokens, each to be predicted from those before it in its row."""

    uniform = True
    """All batches have the same shape, but for the last of an epoch."""

    def __init__(self, text: Text, block: int, batch_tokens: int, seed: int) -> None:
        self.text = text
        self.block = block
        self.size = max(1, batch_tokens // block)
        self.order = RowOrder(len(text), block, 1, seed)

    def batches(self, position: Position | None = None) -> Iterator[tuple[TextBatch, Position]]:
        return whole(self.planned(position))

    def planned(self, position: Position | None = None) -> Iterator[tuple[Planned[TextBatch], Position]]:
        """The same, not made yet."""
        for starts, _, following in self.order.batches(self.size, position or Position()):
            yield self._plan(starts), following

    def _plan(self, starts: NDArray[np.int64]) -> Planned[TextBatch]:
        def make(rows: slice) -> TextBatch:
            return TextBatch(torch.from_numpy(cut_rows(self.text, starts[rows], self.block + 1)), starts[rows])

        return Planned(len(starts), make)

    def longest(self, batch_tokens: int) -> TextBatch:
        """The largest batch that a budget can make; here all are."""
        return self._plan(np.zeros(max(1, batch_tokens // self.block), np.int64)).make(slice(None))

    def lines(self, batch: TextBatch) -> list[str]:
        return [self.text.where(int(start)) for start in batch.starts]


def cut_rows(text: Text, starts: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """[rows, width]"""
    rows: NDArray[np.int64] = text.ids[starts[:, None] + np.arange(width)].astype(np.int64)
    return rows


def ordered_rows(text: Text, block: int, batch_tokens: int, limit: int = 0) -> Iterator[TextBatch]:
    """A text from its beginning (the first `limit` rows, 0: all): each token but the first is predicted once, from
    those before it in its row. A last, shorter row is a batch of its own."""
    whole, rest = divmod(max(len(text) - 1, 0), block)
    rows, size = min(limit or whole, whole), max(1, batch_tokens // block)
    for first in range(0, rows, size):
        starts = np.arange(first, min(first + size, rows), dtype=np.int64) * block
        yield TextBatch(torch.from_numpy(cut_rows(text, starts, block + 1)), starts)
    if rest and (not limit or rows < limit):
        starts = np.array([whole * block], np.int64)
        yield TextBatch(torch.from_numpy(cut_rows(text, starts, rest + 1)), starts)
