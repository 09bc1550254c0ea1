"""Rows of tokens cut from one long text, in an order that a seed determines and a position resumes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwise.data.batch.stream import Planned, to_device
from headwise.data.prepare.plain_text import TokenText
from headwise.errors import DataError


@dataclass(frozen=True, eq=False)
class TextBatch:
    """Rows of running text."""

    tokens: Tensor
    """[B, T+1] int64: [:, :-1] goes in, [:, 1:] is predicted."""
    starts: NDArray[np.int64]
    """The index of each row's first token in the text."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def count(self) -> int:
        return self.tokens.size(0) * (self.tokens.size(1) - 1)

    def part(self, rows: slice) -> "TextBatch":
        return TextBatch(self.tokens[rows], self.starts[rows])

    def to(self, device: torch.device) -> "TextBatch":
        return to_device(self, device)


class RowOrder:
    """Rows of `width` tokens cut from a text end to end, in random order; `more` tokens must follow each row.

    The first row begins at another token each epoch, so no two epochs cut the text alike. Less than two rows are left
    over at the two ends.
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

    def batches(self, size: int, epoch: int) -> Iterator[NDArray[np.int64]]:
        """The first tokens of the rows of each batch of an epoch."""
        starts = self.starts(epoch)
        for first in range(0, self.rows, size):
            yield starts[first : first + size]


class TextRowStream:
    """Batches of rows of `block` tokens, each token to be predicted from those before it in its row."""

    uniform = True
    makers = 1
    """All batches have the same shape, but for the last of an epoch."""

    def __init__(self, text: TokenText, block: int, batch_tokens: int, seed: int) -> None:
        self.text = text
        self.block = block
        self.size = max(1, batch_tokens // block)
        self.order = RowOrder(len(text), block, 1, seed)

    def epoch(self, epoch: int) -> Iterator[Planned[TextBatch]]:
        for starts in self.order.batches(self.size, epoch):
            yield self._plan(starts)

    def _plan(self, starts: NDArray[np.int64]) -> Planned[TextBatch]:
        def make(rows: slice) -> TextBatch:
            return TextBatch(torch.from_numpy(cut_rows(self.text, starts[rows], self.block + 1)), starts[rows])

        return Planned(len(starts), make)

    def longest(self, batch_tokens: int) -> TextBatch:
        """A batch of this budget: all are equally large."""
        return self._plan(np.zeros(max(1, batch_tokens // self.block), np.int64)).make(slice(None))

    def lines(self, batch: TextBatch) -> list[str]:
        return [self.text.where(int(start)) for start in batch.starts]


def cut_rows(text: TokenText, starts: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """The tokens from each of `starts` on: [rows, width]."""
    rows: NDArray[np.int64] = text.ids[starts[:, None] + np.arange(width)].astype(np.int64)
    return rows


def ordered_rows(text: TokenText, block: int, batch_tokens: int, limit: int = 0) -> Iterator[TextBatch]:
    """The rows of a text in order (the first `limit`, 0: all); a last, shorter row is a batch of its own.

    Each token but the first is predicted once, from those before it in its row.
    """
    whole, rest = divmod(max(len(text) - 1, 0), block)
    rows, size = min(limit or whole, whole), max(1, batch_tokens // block)
    for first in range(0, rows, size):
        starts = np.arange(first, min(first + size, rows), dtype=np.int64) * block
        yield TextBatch(torch.from_numpy(cut_rows(text, starts, block + 1)), starts)
    if rest and (not limit or rows < limit):
        starts = np.array([whole * block], np.int64)
        yield TextBatch(torch.from_numpy(cut_rows(text, starts, rest + 1)), starts)
