"""The interface between data and training: batches in an order that a seed determines and a position resumes.

A stream plans the batches of one epoch; `plans_from` and `batches_from` walk through epochs without end. A plan costs
little, so batches before a position are skipped without being made, and a process makes only its own rows.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

import torch

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

B = TypeVar("B", bound="Batch")
T = TypeVar("T")
D = TypeVar("D", bound="DataclassInstance")


class Batch(Protocol):
    """Rows to learn from: a dataclass whose tensors are the input of a forward pass."""

    @property
    def count(self) -> int:
        """The divisor of the summed loss: tokens to predict, or examples."""

    def __len__(self) -> int:
        """The number of rows."""

    def part(self, rows: slice) -> Self:
        """Some of the rows."""

    def to(self, device: torch.device) -> "Batch": ...


@dataclass(frozen=True)
class Planned(Generic[T]):
    """A batch that is planned but not made yet: where several processes share the work, each makes its own rows."""

    rows: int
    make: Callable[[slice], T]
    """Make the batch of some rows, at least one. A row is the same whichever others are made with it."""


class Stream(Protocol[B]):
    """Training batches, epoch by epoch."""

    @property
    def uniform(self) -> bool:
        """Whether all batches have the same few shapes, so that a CUDA graph can be replayed for each."""

    @property
    def makers(self) -> int:
        """How many batches are worth making at the same time: more than one if child processes share the work."""

    def epoch(self, epoch: int) -> Iterator[Planned[B]]:
        """The batches of an epoch, at least one; the same for the same number, whenever it is called."""

    def lines(self, batch: B) -> list[str]:
        """Where each row of a batch comes from, for messages: file and line."""

    def longest(self, batch_tokens: int) -> B:
        """The batch of this budget that takes the most memory."""


@dataclass(frozen=True)
class Position:
    """The batch that comes next. JSON holds it as `dataclasses.asdict`; `Position(**table)` reads it back."""

    epoch: int = 0
    batch: int = 0


def to_device(batch: D, device: torch.device) -> D:
    """A batch with its tensors on a device; to a GPU they are copied asynchronously from pinned memory."""
    values = {each.name: getattr(batch, each.name) for each in fields(batch)}
    tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
    if device.type == "cuda":
        tensors = {name: value if value.is_cuda else value.pin_memory() for name, value in tensors.items()}
    return replace(batch, **{name: value.to(device, non_blocking=True) for name, value in tensors.items()})


def plans_from(stream: Stream[B], position: Position | None = None) -> Iterator[tuple[Planned[B], Position]]:
    """Plan each batch from `position` on, without end; each comes with the position after it."""
    epoch, first = (position.epoch, position.batch) if position else (0, 0)
    while True:
        plans = enumerate(stream.epoch(epoch))
        following = next(plans, None)
        while following is not None:
            (number, plan), following = following, next(plans, None)
            if number >= first:
                yield plan, Position(epoch, number + 1) if following else Position(epoch + 1, 0)
        epoch, first = epoch + 1, 0


def batches_from(stream: Stream[B], position: Position | None = None) -> Generator[tuple[B, Position], None, None]:
    """Make each batch from `position` on, without end; each comes with the position after it."""
    return in_order((partial(_made, *planned) for planned in plans_from(stream, position)), stream.makers)


def _made(plan: Planned[B], following: Position) -> tuple[B, Position]:
    return plan.make(slice(None)), following


def in_order(jobs: Iterator[Callable[[], T]], threads: int) -> Generator[T, None, None]:
    """The results of jobs in their order; several threads make them ahead, while child processes compute for each."""
    if threads == 1:
        for job in jobs:
            yield job()
        return
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(threads, "make-batch")
    try:
        for job in jobs:
            waiting.append(pool.submit(job))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
