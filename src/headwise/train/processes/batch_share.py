"""The share of a step that each process computes.

Every process plans the same batches from the same seed, and makes only its own share of them. The result does not
depend on the number of processes: losses are sums, divided by the count of the whole step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from headwise.data.batch.stream import Batch, Position, Stream, batches_from, plans_from
from headwise.train.processes.group import ProcessGroup


@dataclass(frozen=True)
class Dummy:
    """A batch that stands in where a process has no rows of its own: it takes part in the collective operations of the
    pass, and its loss and gradient are discarded."""

    batch: Batch
    count: int = 0

    def to(self, device: torch.device) -> "Dummy":
        return Dummy(self.batch.to(device))


def passes_per_step(accumulate: int, group: ProcessGroup) -> int:
    """How many batches, or parts of batches, each process computes in a step of `accumulate` batches."""
    return accumulate if accumulate % group.size else accumulate // group.size


def share(
    stream: Stream[Any], position: Position | None, accumulate: int, group: ProcessGroup
) -> Iterator[tuple[Batch | Dummy, Position]]:
    """The batches that this process computes, `passes_per_step` of them per step, each with the position after it.

    Whole batches are dealt out where `accumulate` is a multiple of the number of processes; otherwise the rows of each
    batch are. The position that comes with the last batch of a step is the one after the whole step.
    """
    if not group.joined:
        yield from batches_from(stream, position)
    elif accumulate % group.size == 0:
        plans = plans_from(stream, position)
        while dealt := list(islice(plans, group.size)):
            yield dealt[group.rank][0].make(slice(None)), dealt[-1][1]
    else:
        for plan, following in plans_from(stream, position):
            if group.rank < plan.rows:
                yield plan.make(slice(group.rank, None, group.size)), following
            else:
                yield Dummy(plan.make(slice(0, 1))), following


def lines(stream: Stream[Any], step: Sequence[Batch | Dummy], group: ProcessGroup) -> list[str]:
    """Where the rows of a step come from, in all processes: the first ten of each batch."""
    own = [line for batch in step if not isinstance(batch, Dummy) for line in stream.lines(batch)[:10]]
    return [line for each in group.gathered(own) for line in each]
