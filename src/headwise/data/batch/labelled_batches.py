"""Labelled examples as ids, and batches of them in an order that a seed determines and a position resumes."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from headwise.data.batch.plan import POOL, Indices, Planned, Widths, cut, epoch_batches, epoch_order, whole
from headwise.data.batch.stream import Position
from headwise.data.read.labelled import Example
from headwise.errors import ConfigError, DataError


class Framing(Protocol):
    """The part of a tokenizer that examples need."""

    @property
    def pad(self) -> int: ...
    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]: ...
    def frame(self, first: list[int], second: list[int] | None = None) -> tuple[list[int], list[int]]: ...


@dataclass(frozen=True, eq=False)
class LabelledBatch:
    tokens: torch.Tensor
    """[B, T] int64, padded."""
    segments: torch.Tensor
    """[B, T] int64: 0 in the first text and in the padding, 1 in the second where the tokenizer tells them apart."""
    labels: torch.Tensor
    """[B]: int64 classes, or float32 values of a regression."""
    examples: list[int]

    @property
    def count(self) -> int:
        """What a loss is divided by."""
        return len(self.examples)

    def to(self, device: torch.device) -> "LabelledBatch":
        return replace(
            self,
            tokens=self.tokens.to(device, non_blocking=True),
            segments=self.segments.to(device, non_blocking=True),
            labels=self.labels.to(device, non_blocking=True),
        )


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """Encoded examples, in memory."""

    ids: list[NDArray[np.int32]]
    segments: list[NDArray[np.int8]]
    labels: NDArray[Any]
    where: list[str]
    """File and line of each."""
    pad: int
    truncated: int
    """How many were too long and lost their ends."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def widths(self) -> Widths:
        return np.array([len(ids) for ids in self.ids], np.int32)

    @property
    def digest(self) -> str:
        """Tells other data, or other ids of the same data, from these."""
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
        """Every example (or the first `limit`) exactly once, sorted by length: validation is free to."""
        widths = self.widths[: limit or None]
        order = np.argsort(widths, kind="stable")
        for members in cut(order, widths[order], batch_tokens):
            yield self.batch(members)


def encode_labelled(
    examples: Sequence[Example],
    tokenizer: Framing,
    number: Callable[[Example], float],
    max_tokens: int,
    regression: bool,
) -> LabelledSet:
    """Ids as the tokenizer's models expect them, of at most `max_tokens`; `number` turns labels into numbers."""
    pairs = bool(examples) and examples[0].second is not None
    room = max_tokens - len(tokenizer.frame([], [] if pairs else None)[0])
    if room < 2:
        raise ConfigError(f"{max_tokens} positions leave no room for text: raise data.max_tokens")
    first = tokenizer.encode_batch([example.first for example in examples])
    second = tokenizer.encode_batch([example.second or "" for example in examples]) if pairs else [[]] * len(first)
    ids, segments, truncated = [], [], 0
    for left, right in zip(first, second, strict=True):
        kept = shortened(len(left), len(right), room)
        truncated += kept != (len(left), len(right))
        framed = tokenizer.frame(left[: kept[0]], right[: kept[1]] if pairs else None)
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
    """Endless shuffled batches of several sets, each as often as its weight says.

    With `examples` above 0 a batch has so many, of any lengths; otherwise as many of like lengths as fit into
    `batch_tokens`, padding included.
    """

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
        self.sets = list(sets)
        self.weights = list(weights)
        self.seed = seed
        self.batch_tokens = batch_tokens
        self.examples = examples
        self.pool = pool
        self._all = joined(self.sets)
        self._widths = self._all.widths
        if any(weight < 0 for weight in weights):
            raise DataError(f"the weight of a corpus must not be negative: {self.weights}")
        if not any(len(each) * weight for each, weight in zip(sets, weights, strict=True)):
            raise DataError("there are no training examples: all corpora are empty or have a weight of 0")

    def batches(self, position: Position | None = None) -> Iterator[tuple[LabelledBatch, Position]]:
        """Each batch from `position` on, with the position after it; past an epoch's end comes the next."""
        return whole(self.planned(position))

    def planned(self, position: Position | None = None) -> Iterator[tuple[Planned[LabelledBatch], Position]]:
        """The same, not made yet."""
        at = position or Position()
        while True:
            planned = self._plan(at.epoch)
            for number in range(at.batch, len(planned)):
                last = number + 1 == len(planned)
                following = Position(at.epoch + 1, 0) if last else Position(at.epoch, number + 1)
                yield self._planned(planned[number]), following
            at = Position(at.epoch + 1, 0)

    def _planned(self, members: Indices) -> Planned[LabelledBatch]:
        return Planned(len(members), lambda rows: self._all.batch(members[rows]))

    def longest(self, batch_tokens: int) -> LabelledBatch:
        """The largest batch that a budget can make: the longest example, again and again."""
        member = int(self._widths.argmax())
        rows = self.examples or max(1, batch_tokens // int(self._widths[member]))
        return self._all.batch(np.full(rows, member))

    def lines(self, batch: LabelledBatch) -> list[str]:
        """Where the examples of a batch come from: file and line."""
        return [self._all.where[i] for i in batch.examples]

    def epoch_length(self, epoch: int) -> int:
        """How many batches an epoch has."""
        return len(self._plan(epoch))

    def _plan(self, epoch: int) -> list[Indices]:
        order = epoch_order([len(each) for each in self.sets], self.weights, self.seed, epoch)
        if self.examples:
            return [order[start : start + self.examples] for start in range(0, len(order), self.examples)]
        widths = self._widths
        pools = epoch_batches(order, widths, widths, self.batch_tokens, self.seed, epoch, self.pool)
        return [batch for pool in pools for batch in pool]


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
