"""The scheduler, with a worker that answers when the test lets it: batches, fairness, sharing, cancelling, bounds."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from headwise.serve.counters import Counters
from headwise.serve.scheduling.scheduler import Scheduler
from headwise.serve.scheduling.sentence_unit import Lane
from headwise.serve.service_errors import InvalidRequestError, UnavailableError
from headwise.serve.workers.worker import WorkerLostError, WorkerRefusedError

LANE = Lane("folder", "1", "en", "de", "{}")
OTHER = Lane("folder", "1", "de", "en", "{}")


class StepWorker:
    """Stands for the process of a worker: it holds each batch until `step` lets it go."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.tended = 0
        self._asked = asyncio.Event()
        self._go: asyncio.Queue[Exception | None] = asyncio.Queue()

    async def wait_ready(self) -> None:
        return

    async def ask(self, message: dict[str, Any]) -> Any:
        if message["do"] == "close_idle":
            self.tended += 1
            return 0
        self.batches.append(message["texts"])
        self._asked.set()
        error = await self._go.get()
        if error is not None:
            raise error
        return {"found": [{"text": text.upper()} for text in message["texts"]], "seconds": 0.1}

    async def asked(self) -> list[str]:
        """The batch that the worker is at, once it is."""
        await asyncio.wait_for(self._asked.wait(), 5)
        return self.batches[-1]

    async def step(self, error: Exception | None = None) -> None:
        """Let the current batch end, and everything that follows from it happen."""
        await self.asked()
        self._asked.clear()
        self._go.put_nowait(error)
        await settle()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def with_worker(test: Any, **settings: Any) -> None:
    """Run an asynchronous test with a scheduler and its worker."""

    async def run() -> None:
        scheduler, worker = Scheduler(**settings), StepWorker()
        serving = asyncio.create_task(scheduler.serve(worker))
        assert not serving.done()
        try:
            await asyncio.wait_for(test(scheduler, worker), 10)
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    asyncio.run(run())


def start(work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
    return asyncio.create_task(work)


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [each["text"] for each in found]


def test_a_free_worker_starts_at_once_and_what_arrives_meanwhile_is_one_batch() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        first = start(scheduler.translate(LANE, ["a"], "one"))
        assert await worker.asked() == ["a"]
        others = [start(scheduler.translate(LANE, [text], f"client {text}")) for text in "bcd"]
        await settle()
        await worker.step()
        assert texts(await first) == ["A"]
        assert await worker.asked() == ["b", "c", "d"]
        await worker.step()
        assert [texts(await each) for each in others] == [["B"], ["C"], ["D"]]

    with_worker(test)


def test_requests_of_the_same_moment_are_one_batch() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        both = [start(scheduler.translate(LANE, [text], text)) for text in "ab"]
        assert await worker.asked() == ["a", "b"]
        await worker.step()
        await asyncio.gather(*both)

    with_worker(test)


def test_a_short_request_waits_for_one_batch_of_a_book() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        book = start(scheduler.translate(LANE, [f"sentence {number} of a book" for number in range(1000)], "reader"))
        running = await worker.asked()
        assert 1 <= len(running) < 100
        short = start(scheduler.translate(LANE, ["a short one"], "other"))
        same_client = start(scheduler.translate(LANE, ["another short one"], "reader"))
        await settle()
        await worker.step()
        following = await worker.asked()
        assert set(following) == {"a short one", "another short one"}, "it must not wait for sentences of the book"
        await worker.step()
        assert texts(await short) == ["A SHORT ONE"]
        assert texts(await same_client) == ["ANOTHER SHORT ONE"]
        assert not book.done()
        book.cancel()

    with_worker(test)


def test_short_requests_without_end_do_not_stop_a_book() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        book = start(scheduler.translate(LANE, [f"sentence {number} of a book" for number in range(8)], "reader"))
        shorts = [start(scheduler.translate(LANE, ["short 0"], "other"))]
        for number in range(1, 60):
            shorts.append(start(scheduler.translate(LANE, [f"short {number}"], "other")))
            await worker.step()
        assert book.done()
        for each in shorts:
            each.cancel()

    with_worker(test)


def test_directions_take_turns() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        book = start(scheduler.translate(LANE, [f"sentence {number} of a book" for number in range(1000)], "reader"))
        await worker.asked()
        back = start(scheduler.translate(OTHER, ["zurück"], "reader"))
        await settle()
        await worker.step()
        assert await worker.asked() == ["zurück"]
        await worker.step()
        await back
        book.cancel()

    with_worker(test)


def test_identical_sentences_are_translated_once() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        waiting = [start(scheduler.translate(LANE, ["same", "same"], f"client {n}")) for n in range(5)]
        assert await worker.asked() == ["same"]
        late = start(scheduler.translate(LANE, ["same"], "late"))
        await settle()
        await worker.step()
        assert [texts(await each) for each in waiting] == [["SAME", "SAME"]] * 5
        assert texts(await late) == ["SAME"]
        assert worker.batches == [["same"]]

    with_worker(test)


def test_results_are_kept_for_the_next_request_if_wanted() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        first = start(scheduler.translate(LANE, ["a", "b"], "one"))
        await worker.step()
        await first
        assert texts(await scheduler.translate(LANE, ["b"], "two")) == ["B"]
        third = start(scheduler.translate(LANE, ["a"], "two"))  # only one is kept
        await worker.asked()
        third.cancel()

    with_worker(test, cache=1)


def test_a_cancelled_request_leaves_the_queue() -> None:
    counters = Counters()

    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        running = start(scheduler.translate(LANE, ["running"], "one"))
        await worker.asked()
        gone = start(scheduler.translate(LANE, ["gone", "shared"], "two"))
        stays = start(scheduler.translate(LANE, ["shared"], "three"))
        await settle()
        gone.cancel()
        await settle()
        await worker.step()
        assert await worker.asked() == ["shared"]
        await worker.step()
        assert texts(await stays) == ["SHARED"]
        await running
        assert counters.cancelled == 1
        assert scheduler.waiting == 0

    with_worker(test, counters=counters)


def test_the_one_who_came_second_does_not_lose_a_shared_sentence() -> None:
    """The first who asked for it has a book before it, and then is gone."""

    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        book = start(scheduler.translate(LANE, [*map(str, range(500)), "shared"], "reader"))
        await worker.asked()
        short = start(scheduler.translate(LANE, ["shared"], "other"))
        await settle()
        book.cancel()
        await worker.step()
        assert await worker.asked() == ["shared"]
        await worker.step()
        assert texts(await short) == ["SHARED"]

    with_worker(test)


def test_a_full_queue_refuses_and_one_client_cannot_fill_it() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        first = start(scheduler.translate(LANE, ["a" * 40], "greedy"))
        await worker.asked()
        with pytest.raises(UnavailableError) as caught:
            await scheduler.translate(LANE, ["b" * 20], "greedy")
        assert caught.value.status == 503
        assert caught.value.retry_after
        other = start(scheduler.translate(LANE, ["c" * 40], "other"))
        await settle()
        with pytest.raises(UnavailableError):
            await scheduler.translate(LANE, ["d" * 40], "third")
        with pytest.raises(InvalidRequestError):
            await scheduler.translate(LANE, ["e" * 200], "third")
        await worker.step()
        await worker.step()
        await asyncio.gather(first, other)
        again = start(scheduler.translate(LANE, ["d" * 40], "third"))
        await worker.step()
        await again

    with_worker(test, queue=100)


def test_sentences_of_a_lost_worker_are_tried_once_more_each_alone() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        good = start(scheduler.translate(LANE, ["good"], "one"))
        poison = start(scheduler.translate(LANE, ["poison"], "two"))
        assert await worker.asked() == ["good", "poison"]
        await worker.step(WorkerLostError())
        assert await worker.asked() == ["good"]
        await worker.step()
        assert await worker.asked() == ["poison"]
        await worker.step(WorkerLostError())
        assert texts(await good) == ["GOOD"]
        with pytest.raises(UnavailableError, match="the worker was restarted, try again"):
            await poison
        later = start(scheduler.translate(LANE, ["later"], "two"))
        await worker.step()
        assert texts(await later) == ["LATER"]

    with_worker(test)


def test_a_refusal_is_for_its_batch_alone_and_names_no_path() -> None:
    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        refused = start(scheduler.translate(LANE, ["a"], "one"))
        await worker.step(WorkerRefusedError("/secret/folder: damaged"))
        with pytest.raises(UnavailableError) as caught:
            await refused
        assert "secret" not in str(caught.value)
        fine = start(scheduler.translate(OTHER, ["b"], "one"))
        await worker.step()
        assert texts(await fine) == ["B"]

    with_worker(test)


def test_batches_become_as_large_as_their_time_allows() -> None:
    """The worker needs 0.1 s for any batch, so those of a second can be ten times as large, and grow step by step."""

    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        book = start(scheduler.translate(LANE, [f"sentence {number} of a book" for number in range(3000)], "reader"))
        for _ in range(3):
            await worker.step()
        sizes = [len(batch) for batch in worker.batches]
        assert sizes[-1] > sizes[0]
        book.cancel()

    with_worker(test, batch_time=1.0)


def test_a_worker_that_always_has_work_closes_idle_models_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwise.serve.scheduling.scheduler.BUSY_UPKEEP", 0.0)

    async def test(scheduler: Scheduler, worker: StepWorker) -> None:
        book = start(scheduler.translate(LANE, [f"sentence {number} of a book" for number in range(200)], "reader"))
        for _ in range(3):
            await worker.step()
        assert worker.tended >= 2
        book.cancel()

    with_worker(test)
