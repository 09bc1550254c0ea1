"""The share of a step that each process computes.

Every process plans the same batches from the same seed, and makes only its own share of them. The result does not
depend on the number of processes: losses are sums, divided by the count of the whole step.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import torch

from headwise.data.batch.stream import Batch, Planned, Position, Stream, batches_from, in_order, plans_from
from headwise.train.processes.group import ProcessGroup

Plans = Iterator[tuple[Planned[Any], Position]]


@dataclass(frozen=True)
class Dummy:
    """A batch that stands in where a process has no rows of its own: it takes part in the collective operations of the
    pass, and its loss and gradient are discarded."""

    batch: Batch
    count: int = 0

    def to(self, device: torch.device) -> "Dummy":
        return Dummy(self.batch.to(device))


Job = Callable[[], tuple[Batch | Dummy, Position]]


def passes_per_step(accumulate: int, group: ProcessGroup) -> int:
    """How many batches, or parts of batches, each process computes in a step of `accumulate` batches."""
    return accumulate if accumulate % group.size else accumulate // group.size


def share(
    stream: Stream[Any], position: Position | None, accumulate: int, group: ProcessGroup
) -> Generator[tuple[Batch | Dummy, Position], None, None]:
    """The batches that this process computes, `passes_per_step` of them per step, each with the position after it.

    Whole batches are dealt out where `accumulate` is a multiple of the number of processes; otherwise the rows of each
    batch are. The position that comes with the last batch of a step is the one after the whole step.
    """
    if not group.joined:
        return batches_from(stream, position)
    plans = plans_from(stream, position)
    dealt = _whole(plans, group) if accumulate % group.size == 0 else _rows(plans, group)
    return in_order(dealt, stream.makers)


def _whole(plans: Plans, group: ProcessGroup) -> Iterator[Job]:
    """One whole batch of each `group.size`."""
    while dealt := list(islice(plans, group.size)):
        yield partial(_made, dealt[group.rank][0], slice(None), dealt[-1][1])


def _rows(plans: Plans, group: ProcessGroup) -> Iterator[Job]:
    """Every `group.size`-th row of each batch, or a dummy if it has too few."""
    for plan, following in plans:
        own = group.rank < plan.rows
        yield partial(_made, plan, slice(group.rank, None, group.size) if own else None, following)


def _made(plan: Planned[Any], rows: slice | None, following: Position) -> tuple[Batch | Dummy, Position]:
    return plan.make(rows) if rows else Dummy(plan.make(slice(0, 1))), following


def lines(stream: Stream[Any], step: Sequence[Batch | Dummy], group: ProcessGroup) -> list[str]:
    """Where the rows of a step come from, in all processes: the first ten of each batch."""
    own = [line for batch in step if not isinstance(batch, Dummy) for line in stream.lines(batch)[:10]]
    return [line for each in group.gathered(own) for line in each]
