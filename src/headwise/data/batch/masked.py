"""Rows of text with masked tokens, for masked language models. Masks are drawn anew each epoch."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwise.config import LanguageConfig
from headwise.data.batch.stream import Planned, Position, to_device
from headwise.data.batch.text_rows import RowOrder, cut_rows
from headwise.data.prepare.plain_text import TokenText
from headwise.errors import ConfigError
from headwise.text.tokenizer import WORD_START, Tokenizer

Rows = NDArray[np.int64]

HIDDEN, REPLACED = 0.8, 0.1
"""The shares of the chosen tokens that become the mask token and a random one; the rest stay as they are."""

_FIRST, _SECOND = -1, -2


@dataclass(frozen=True, eq=False)
class MaskedBatch:
    """Rows of text with masked tokens."""

    tokens: Tensor
    """[B, T] int64: framed rows, with tokens masked."""
    segments: Tensor
    """[B, T] int64: 1 in the second half of a row where there are two, 0 elsewhere."""
    places: Tensor
    """[N] int64: the positions of the tokens to predict, counted through all rows."""
    targets: Tensor
    """[N] int64: the tokens before masking."""
    follows: Tensor | None
    """[B] int64, with the next-sentence task: 0 where the second half follows the first, 1 where it does not."""
    starts: Rows
    """The index of each row's first token in the text."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def count(self) -> int:
        return len(self.targets)

    def part(self, rows: slice) -> "MaskedBatch":
        width = self.tokens.size(1)
        number = self.tokens.new_full((len(self.tokens),), -1)
        number[rows] = torch.arange(len(self.tokens[rows]), device=number.device)
        row, column = number[self.places // width], self.places % width
        chosen = row >= 0
        return MaskedBatch(
            self.tokens[rows],
            self.segments[rows],
            (row * width + column)[chosen],
            self.targets[chosen],
            None if self.follows is None else self.follows[rows],
            self.starts[rows],
        )

    def to(self, device: torch.device) -> "MaskedBatch":
        return to_device(self, device)


class Frame:
    """The special tokens around the one or two texts of a row, as the tokenizer frames them."""

    def __init__(self, tokenizer: Tokenizer, block: int, pair: bool) -> None:
        ids, segments = tokenizer.frame([_FIRST], [_SECOND] if pair else None)
        room = block - (len(ids) - 1 - pair)
        self.first = room // 2 if pair else room
        self.second = room - self.first
        if self.first < 1 or (pair and self.second < 1):
            raise ConfigError("language.block has no room for text between the special tokens")
        widths = [{_FIRST: self.first, _SECOND: self.second}.get(i, 1) for i in ids]
        self._template = np.repeat(np.array(ids), widths)
        self.segments = np.repeat(np.array(segments), widths)

    def rows(self, first: Rows, second: Rows) -> Rows:
        """[B, first], [B, second] -> [B, block]."""
        framed = np.tile(self._template, (len(first), 1))
        framed[:, self._template == _FIRST] = first
        framed[:, self._template == _SECOND] = second
        return framed


class Masks:
    """Which tokens of a row are masked, and what they are replaced with."""

    def __init__(self, tokenizer: Tokenizer, whole_words: bool) -> None:
        if tokenizer.mask is None:
            raise ConfigError(f"this {tokenizer.kind} tokenizer has no mask token")
        self.mask = tokenizer.mask
        special = [tokenizer.is_special(i) or i == tokenizer.mask for i in range(tokenizer.size)]
        self.ordinary = np.flatnonzero(~np.array(special))
        self.special = np.array(special)
        self.begins = np.ones(tokenizer.size, bool)
        if whole_words:
            pieces = tokenizer.pieces(range(tokenizer.size))
            self.begins = np.array([piece.startswith(WORD_START) for piece in pieces]) | self.special

    def words(self, rows: Rows) -> Rows:
        """[B, T]: the number of each token's word in its row; a special token is a word of its own."""
        begins = self.begins[rows]
        begins[:, 1:] |= self.special[rows[:, :-1]]
        return np.cumsum(begins, axis=1)

    def choose(self, rows: Rows, wanted: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """[B, T] True for tokens to predict: `wanted` of each row, up to the end of a word, no special tokens.

        Each word draws a number, and the words with the lowest numbers are chosen until there are enough tokens.
        """
        numbers = np.take_along_axis(rng.random((len(rows), rows.shape[1] + 1)), self.words(rows), axis=1)
        numbers[self.special[rows]] = 2.0  # above all others
        last = np.sort(numbers, axis=1)[:, wanted - 1, None]
        return (numbers <= last) & (numbers < 2)

    def hide(self, rows: Rows, chosen: NDArray[np.bool_], rng: np.random.Generator) -> Rows:
        """The rows with the chosen tokens masked, replaced by random ones, or left."""
        draws = rng.random(rows.shape)
        others = rng.choice(self.ordinary, rows.shape)
        hidden = np.where(chosen & (draws < HIDDEN), self.mask, rows)
        return np.where(chosen & (draws >= HIDDEN) & (draws < HIDDEN + REPLACED), others, hidden)


class MaskedStream:
    """Batches of framed rows of `language.block` tokens, some of them masked."""

    makers = 1

    def __init__(
        self, text: TokenText, tokenizer: Tokenizer, language: LanguageConfig, batch_tokens: int, seed: int
    ) -> None:
        self.text = text
        self.seed = seed
        self.pairs = language.next_sentence
        self.size = max(1, batch_tokens // language.block)
        self.frame = Frame(tokenizer, language.block, self.pairs)
        self.masks = Masks(tokenizer, language.whole_words)
        width = self.frame.first + self.frame.second
        self.wanted = max(1, round(language.mask * width))
        self.uniform = not language.whole_words
        """Whether all batches have the same shapes, but for the last of an epoch."""
        self.order = RowOrder(len(text), width, 0, seed)

    def epoch(self, epoch: int) -> Iterator[Planned[MaskedBatch]]:
        for number, starts in enumerate(self.order.batches(self.size, epoch)):
            yield self._plan(starts, Position(epoch, number))

    def _plan(self, starts: Rows, at: Position) -> Planned[MaskedBatch]:
        """The masks of all rows are drawn together: parts are cut out of the whole batch."""
        return Planned(len(starts), lambda rows: self.batch(starts, at).part(rows))

    def batch(self, starts: Rows, at: Position) -> MaskedBatch:
        rng = np.random.default_rng([self.seed, at.epoch, at.batch, 1])
        first = cut_rows(self.text, starts, self.frame.first)
        following = starts + self.frame.first
        follows = None
        if self.pairs:
            other = rng.random(len(starts)) < 0.5
            elsewhere = rng.integers(len(self.text) - self.frame.second + 1, size=len(starts))
            following = np.where(other, elsewhere, following)
            follows = torch.from_numpy(other.astype(np.int64))
        rows = self.frame.rows(first, cut_rows(self.text, following, self.frame.second))
        chosen = self.masks.choose(rows, self.wanted, rng)
        return MaskedBatch(
            torch.from_numpy(self.masks.hide(rows, chosen, rng)),
            torch.from_numpy(np.tile(self.frame.segments, (len(rows), 1))),
            torch.from_numpy(np.flatnonzero(chosen)),
            torch.from_numpy(rows[chosen]),
            follows,
            starts,
        )

    def longest(self, batch_tokens: int) -> MaskedBatch:
        """A batch of this budget: all are equally large."""
        rows = max(1, batch_tokens // len(self.frame.segments))
        return self.batch(np.zeros(rows, np.int64), Position())

    def lines(self, batch: MaskedBatch) -> list[str]:
        return [self.text.where(int(start)) for start in batch.starts]

    def in_order(self, limit: int) -> Iterator[MaskedBatch]:
        """The first `limit` rows (0: all) of the text, always with the same masks: for validation."""
        width = self.frame.first + self.frame.second
        rows = len(self.text) // width
        for number, start in enumerate(range(0, min(limit or rows, rows), self.size)):
            members = np.arange(start, min(start + self.size, limit or rows, rows), dtype=np.int64)
            yield self.batch(members * width, Position(0, number))
