"""Every row of a step is computed by exactly one process."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from headwise.data.batch.stream import Planned, Position
from headwise.train.processes.batch_share import Dummy, passes_per_step, share
from headwise.train.processes.group import ProcessGroup


class Rows:
    """A stream of batches that are lists of numbers."""

    uniform = False
    makers = 1

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes

    def epoch(self, epoch: int) -> Iterator[Planned[Any]]:
        for number, size in enumerate(self.sizes):
            rows = [10 * number + row for row in range(size)]
            yield Planned(size, lambda part, rows=rows: rows[part])  # type: ignore[misc]

    def longest(self, batch_tokens: int) -> Any:
        raise AssertionError("nobody asks")

    def lines(self, batch: Any) -> list[str]:
        raise AssertionError("nobody asks")


@pytest.mark.parametrize("accumulate", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_each_row_is_one_process_s(accumulate: int, size: int) -> None:
    stream = Rows([5, 1, 3, 2, 7, 4, 1, 2, 6, 3, 1, 8])
    rounds = passes_per_step(accumulate, ProcessGroup(size=size))
    steps = 12 // accumulate
    shares: list[list[Any]] = [
        list(islice(share(stream, None, accumulate, ProcessGroup(rank, size, rank, patient=object())), steps * rounds))
        for rank in range(size)
    ]
    for step in range(steps):
        own = [each[step * rounds : (step + 1) * rounds] for each in shares]
        real = [row for each in own for batch, _ in each if not isinstance(batch, Dummy) for row in batch]
        batches = range(step * accumulate, (step + 1) * accumulate)
        assert sorted(real) == [10 * number + row for number in batches for row in range(stream.sizes[number])]
        after = (step + 1) * accumulate
        assert {each[-1][1] for each in own} == {Position(1, 0) if after == 12 else Position(0, after)}
        assert all(batch.batch for each in own for batch, _ in each if isinstance(batch, Dummy)), "never nothing"
