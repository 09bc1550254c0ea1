"""The one walk through epochs: every batch comes with the position after it, and a position is resumed exactly."""

import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from typing import Any

import pytest

from headwise.data.batch.stream import Planned, Position, batches_from, in_order, plans_from

EPOCHS = [3, 1, 4]


class Numbers:
    """A stream of numbers: 100 per epoch, one per batch."""

    uniform = True
    makers = 1

    def __init__(self) -> None:
        self.made: list[int] = []

    def epoch(self, epoch: int) -> Iterator[Planned[Any]]:
        for number in range(EPOCHS[epoch % 3]):
            yield Planned(1, lambda rows, value=100 * epoch + number: self._make(value))  # type: ignore[misc]

    def _make(self, value: int) -> int:
        self.made.append(value)
        return value

    def longest(self, batch_tokens: int) -> Any:
        return 0

    def lines(self, batch: Any) -> list[str]:
        return []


def test_an_epoch_follows_the_other() -> None:
    taken = list(islice(batches_from(Numbers()), 9))
    assert [value for value, _ in taken] == [0, 1, 2, 100, 200, 201, 202, 203, 300]
    positions = [(0, 1), (0, 2), (1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (3, 0), (3, 1)]
    assert [position for _, position in taken] == [Position(*each) for each in positions]


def test_every_position_is_resumed_exactly() -> None:
    taken = list(islice(batches_from(Numbers()), 12))
    for number, (_, position) in enumerate(taken[:-3], 1):
        assert list(islice(batches_from(Numbers(), position), 3)) == taken[number : number + 3]


def test_a_position_behind_the_end_of_an_epoch_is_the_start_of_the_next() -> None:
    assert next(batches_from(Numbers(), Position(0, 3))) == (100, Position(2, 0))
    assert next(batches_from(Numbers(), Position(0, 1000))) == (100, Position(2, 0))


def test_what_comes_before_a_position_is_planned_and_never_made() -> None:
    stream = Numbers()
    list(islice(batches_from(stream, Position(2, 2)), 2))
    assert stream.made == [202, 203]
    list(islice(plans_from(stream), 5))
    assert stream.made == [202, 203]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_their_jobs(threads: int) -> None:
    def job(number: int) -> int:
        time.sleep(0.002 * (7 * number % 5))  # later ones may be done first
        return number

    assert list(in_order((partial(job, number) for number in range(30)), threads)) == list(range(30))


def test_several_jobs_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=10)
    assert len(list(in_order(iter([both.wait, both.wait]), 2))) == 2  # one after the other, each would wait in vain


@pytest.mark.parametrize("threads", [1, 3])
def test_the_error_of_a_job_comes_where_its_result_would(threads: int) -> None:
    def fails() -> int:
        raise ZeroDivisionError("here")

    results = in_order(iter([lambda: 1, lambda: 2, fails, lambda: 4]), threads)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ZeroDivisionError, match="here"):
        next(results)


def test_closing_ends_the_threads_that_make_batches() -> None:
    results = in_order((partial(int, number) for number in count()), 3)
    assert next(results) == 0
    results.close()
    assert not any(thread.name.startswith("make-batch") for thread in threading.enumerate())
