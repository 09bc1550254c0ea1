"""The one walk through epochs: every batch comes with the position after it, and a position is resumed exactly."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from headwise.data.batch.stream import Planned, Position, batches_from, plans_from

EPOCHS = [3, 1, 4]


class Numbers:
    """A stream of numbers: 100 per epoch, one per batch."""

    uniform = True

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
