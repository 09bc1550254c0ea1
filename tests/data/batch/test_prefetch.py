import gc
import threading
import time
from collections.abc import Iterator
from itertools import count, islice

import pytest

from headwise.data.batch import prefetch as module
from headwise.data.batch.padded_pairs import PaddedPairStream
from headwise.data.batch.prefetch import StalledError, prefetch
from headwise.data.batch.stream import batches_from
from headwise.data.prepare.result import TrainCorpus
from tests.data import tiny
from tests.data.conftest import Encode


def workers() -> int:
    return sum(thread.name == "prefetch" for thread in threading.enumerate())


@pytest.mark.parametrize("depth", [1, 2, 10])
def test_items_come_in_order_and_the_thread_ends(depth: int) -> None:
    assert list(prefetch(iter(range(100)), depth)) == list(range(100))
    assert list(prefetch(iter(()), depth)) == []
    assert workers() == 0


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("taken", [1, 5])
def test_a_consumer_may_stop_at_any_time(depth: int, taken: int) -> None:
    closed = threading.Event()

    def items() -> Iterator[int]:
        try:
            yield from count()
        finally:
            closed.set()

    ahead = prefetch(items(), depth)
    assert list(islice(ahead, taken)) == list(range(taken))
    ahead.close()
    assert closed.is_set()
    assert workers() == 0


def test_letting_go_of_the_generator_ends_the_thread() -> None:
    for _ in prefetch(count()):
        break
    gc.collect()
    assert workers() == 0


def test_an_error_comes_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ZeroDivisionError("here")

    ahead = prefetch(items())
    seen = [next(ahead), next(ahead)]
    with pytest.raises(ZeroDivisionError, match="here"):
        next(ahead)
    assert seen == [1, 2]
    assert workers() == 0


def test_no_more_than_depth_items_are_made_ahead() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in count():
            made.append(number)
            yield number

    ahead = prefetch(items(), 3)
    assert next(ahead) == 0
    deadline = time.monotonic() + 5
    while len(made) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert len(made) == 5  # one used, three ready, one waiting for room
    ahead.close()


def test_positions_are_those_of_the_items_used(encode: Encode) -> None:
    corpus = TrainCorpus(encode([(n % 9 + 1, n % 7 + 1) for n in range(200)]), 1.0, "en", "de")
    stream = PaddedPairStream([corpus], tiny.make(), 100, 1)
    plain = list(islice(batches_from(stream), 30))
    ahead = prefetch(batches_from(stream))
    used = list(islice(ahead, 10))
    ahead.close()
    resumed = prefetch(batches_from(stream, used[-1][1]))
    used += islice(resumed, 20)
    resumed.close()
    assert [batch.examples for batch, _ in used] == [batch.examples for batch, _ in plain]
    assert [after for _, after in used] == [after for _, after in plain]


def test_depth_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        next(prefetch(count(), 0))


def test_a_thread_that_hangs_holds_nobody_who_is_asked_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(module, "GRACE", 0.05)
    asked, freed = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 1
        freed.wait()
        yield 2

    ahead = prefetch(items(), stop=asked.is_set)
    assert next(ahead) == 1
    threading.Timer(0.05, asked.set).start()
    with pytest.raises(StalledError, match="has not come"):
        next(ahead)
    freed.set()


def test_a_slow_item_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)

    def items() -> Iterator[int]:
        time.sleep(0.1)
        yield 1

    assert list(prefetch(items(), stop=lambda: True)) == [1]


def test_a_thread_that_died_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(module, "_fill", lambda items, ready, stopped: ready.put(next(items)))
    ahead = prefetch(count())
    assert next(ahead) == 0
    with pytest.raises(StalledError, match="has died"):
        next(ahead)
