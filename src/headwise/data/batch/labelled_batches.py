"""Labelled examples as token ids, and batches of them."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from headwise.data.batch.plan import POOL, Indices, Mixture, Widths, cut, epoch_batches
from headwise.data.batch.stream import Planned, to_device
from headwise.data.read.labelled import Example
from headwise.errors import ConfigError


class TextFramer(Protocol):
    """The part of a tokenizer that examples need."""

    @property
    def pad(self) -> int: ...
    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]: ...
    def frame(self, first: list[int], second: list[int] | None = None) -> tuple[list[int], list[int]]: ...


@dataclass(frozen=True, eq=False)
class LabelledBatch:
    """Texts, or pairs of texts, with their labels."""

    tokens: torch.Tensor
    """[B, T] int64, padded."""
    segments: torch.Tensor
    """[B, T] int64: 0 in the first text and in the padding, 1 in the second if the tokenizer distinguishes them."""
    labels: torch.Tensor
    """[B]: int64 classes, or float32 values of a regression."""
    examples: list[int]
    """The number of each row in its set."""

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def count(self) -> int:
        return len(self.examples)

    def part(self, rows: slice) -> "LabelledBatch":
        return LabelledBatch(self.tokens[rows], self.segments[rows], self.labels[rows], self.examples[rows])

    def to(self, device: torch.device) -> "LabelledBatch":
        return to_device(self, device)


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """Encoded examples, in memory."""

    ids: list[NDArray[np.int32]]
    segments: list[NDArray[np.int8]]
    labels: NDArray[Any]
    where: list[str]
    """The file and line of each example."""
    pad: int
    truncated: int
    """How many examples were too long and were cut."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def widths(self) -> Widths:
        return np.array([len(ids) for ids in self.ids], np.int32)

    @property
    def digest(self) -> str:
        """A digest of ids and labels: other data, or another tokenizer, give another."""
        content = hashlib.sha256(self.labels.tobytes())
        for ids, segments in zip(self.ids, self.segments, strict=True):
            content.update(ids.tobytes() + segments.tobytes() + b"\n")
        return content.hexdigest()

    def batch(self, members: Indices) -> LabelledBatch:
        chosen = members.tolist()
        width = max(len(self.ids[i]) for i in chosen)
        tokens = np.full((len(chosen), width), self.pad, np.int64)
        segments = np.zeros((len(chosen), width), np.int64)
        for row, i in enumerate(chosen):
            tokens[row, : len(self.ids[i])] = self.ids[i]
            segments[row, : len(self.ids[i])] = self.segments[i]
        labels = torch.from_numpy(self.labels[members])
        return LabelledBatch(torch.from_numpy(tokens), torch.from_numpy(segments), labels, chosen)

    def in_order(self, batch_tokens: int, limit: int = 0) -> Iterator[LabelledBatch]:
        """Every example (or the first `limit`) exactly once, sorted by length: their order does not matter."""
        widths = self.widths[: limit or None]
        order = np.argsort(widths, kind="stable")
        for members in cut(order, widths[order], batch_tokens):
            yield self.batch(members)


def encode_labelled(
    examples: Sequence[Example],
    tokenizer: TextFramer,
    number: Callable[[Example], float],
    max_tokens: int,
    regression: bool,
) -> LabelledSet:
    """Examples as ids in the tokenizer's frame, cut to `max_tokens`; `number` turns labels into numbers."""
    pairs = bool(examples) and examples[0].second is not None
    room = max_tokens - len(tokenizer.frame([], [] if pairs else None)[0])
    if room < 2:
        raise ConfigError(f"{max_tokens} positions leave no room for text: raise data.max_tokens")
    first = tokenizer.encode_batch([example.first for example in examples])
    second = tokenizer.encode_batch([example.second or "" for example in examples]) if pairs else [[]] * len(first)
    ids, segments, truncated = [], [], 0
    for left, right in zip(first, second, strict=True):
        lengths = shortened(len(left), len(right), room)
        truncated += lengths != (len(left), len(right))
        framed = tokenizer.frame(left[: lengths[0]], right[: lengths[1]] if pairs else None)
        ids.append(np.array(framed[0], np.int32))
        segments.append(np.array(framed[1], np.int8))
    labels = np.array([number(example) for example in examples], np.float32 if regression else np.int64)
    return LabelledSet(ids, segments, labels, [each.where for each in examples], tokenizer.pad, truncated)


def shortened(first: int, second: int, room: int) -> tuple[int, int]:
    """The lengths of two texts cut to `room` together, token by token from the longer one."""
    if first + second <= room:
        return first, second
    first = min(first, max((room + 1) // 2, room - second))
    return first, room - first


class LabelledStream:
    """Shuffled batches of several sets, each set as often as its weight.

    With `examples` above 0 a batch has that many, of any lengths; otherwise as many of nearly equal lengths as fit
    into `batch_tokens`, padding included.
    """

    uniform = False
    makers = 1

    def __init__(
        self,
        sets: Sequence[LabelledSet],
        weights: Sequence[float],
        seed: int,
        *,
        batch_tokens: int,
        examples: int = 0,
        pool: int = POOL,
    ) -> None:
        self.seed = seed
        self.batch_tokens = batch_tokens
        self.examples = examples
        self.pool = pool
        self._all = joined(sets)
        self._widths = self._all.widths
        self._mixture = Mixture([len(each) for each in sets], weights, seed)

    def epoch(self, epoch: int) -> Iterator[Planned[LabelledBatch]]:
        for members in self._members(epoch):
            yield self._plan(members)

    def _plan(self, members: Indices) -> Planned[LabelledBatch]:
        return Planned(len(members), lambda rows: self._all.batch(members[rows]))

    def longest(self, batch_tokens: int) -> LabelledBatch:
        """The batch of this budget that takes the most memory: the longest example, repeated."""
        member = int(self._widths.argmax())
        rows = self.examples or max(1, batch_tokens // int(self._widths[member]))
        return self._all.batch(np.full(rows, member))

    def lines(self, batch: LabelledBatch) -> list[str]:
        return [self._all.where[i] for i in batch.examples]

    def _members(self, epoch: int) -> Iterator[Indices]:
        """The examples of each batch of an epoch."""
        order = self._mixture.order(epoch)
        if self.examples:
            yield from (order[start : start + self.examples] for start in range(0, len(order), self.examples))
            return
        widths = self._widths
        for pool in epoch_batches(
            order, lambda those: (widths[those],) * 2, self.batch_tokens, self.seed, epoch, self.pool
        ):
            yield from pool


def joined(sets: Sequence[LabelledSet]) -> LabelledSet:
    """One set of all their examples."""
    return LabelledSet(
        [ids for each in sets for ids in each.ids],
        [segments for each in sets for segments in each.segments],
        np.concatenate([each.labels for each in sets]),
        [where for each in sets for where in each.where],
        sets[0].pad,
        sum(each.truncated for each in sets),
    )
