"""Workers as processes: they translate, refuse without dying, and come back after kill -9."""

import asyncio
import errno
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from headwise.serve.workers.messages import pack, receive
from headwise.serve.workers.model_files import version_of
from headwise.serve.workers.worker import Worker, WorkerFailedError, WorkerLostError, WorkerOptions, WorkerRefusedError
from tests.taught import SOURCES, TARGETS


def with_process(test: Callable[[Worker], Awaitable[None]]) -> None:
    async def run() -> None:
        worker = Worker(WorkerOptions(threads=1, memory=1e9))
        running = asyncio.create_task(worker.run())
        try:
            await asyncio.wait_for(worker.wait_ready(), 60)
            await asyncio.wait_for(test(worker), 20)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(run())


def message(folder: Path, texts: list[str], **other: Any) -> dict[str, Any]:
    made = {"do": "translate", "folder": str(folder), "version": version_of(folder), "texts": texts}
    return {**made, "source": "en", "target": "de", "options": '{"candidates": 2}', **other}


def test_a_worker_translates_refuses_and_comes_back_after_a_kill(small_folder: Path, tmp_path: Path) -> None:
    async def test(worker: Worker) -> None:
        answer = await worker.ask(message(small_folder, SOURCES))
        assert [each["text"] for each in answer["found"]] == TARGETS
        assert all(len(each["alternatives"]) == 1 for each in answer["found"])
        assert worker.bytes > 10_000
        with pytest.raises(WorkerRefusedError, match="xx"):
            await worker.ask(message(small_folder, ["a"], target="xx"))
        with pytest.raises(WorkerFailedError, match=r"KeyError\n.*in run") as caught:
            await worker.ask({"do": "a text of a user"})
        assert "a text of a user" not in str(caught.value)
        odd = await worker.ask(message(small_folder, ["", "\x00", "\ud800", "A" * 5000]))
        assert len(odd["found"]) == 4
        assert await worker.ask({"do": "close_idle", "seconds": 0}) == 0

        asked = asyncio.create_task(worker.ask(message(small_folder, SOURCES * 100)))
        await asyncio.sleep(0.05)
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerLostError):
            await asked
        await worker.wait_ready()
        again = await worker.ask(message(small_folder, SOURCES[:1]))
        assert [each["text"] for each in again["found"]] == TARGETS[:1]
        assert worker.restarts == 1

    with_process(test)


def test_a_worker_outlives_signals_to_the_group_and_ends_with_its_server(small_folder: Path) -> None:
    pids = []

    async def test(worker: Worker) -> None:
        assert worker.pid is not None
        pids.append(worker.pid)
        os.kill(worker.pid, signal.SIGTERM)
        os.kill(worker.pid, signal.SIGINT)
        answer = await worker.ask(message(small_folder, SOURCES[:1]))
        assert answer["found"]

    with_process(test)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_messages_come_back_as_they_were() -> None:
    given = {"texts": ["ä\x00\ud800", "x" * 100_000], "number": 0.1}

    async def read() -> Any:
        stream = asyncio.StreamReader()
        stream.feed_data(pack(given))
        return await receive(stream)

    assert asyncio.run(read()) == given


def test_a_worker_that_could_not_be_started_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    start = asyncio.create_subprocess_exec
    refusals = [OSError(errno.EAGAIN, "no more processes"), OSError(errno.EMFILE, "too many open files")]

    async def sometimes(*command: Any, **options: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return await start(*command, **options)

    async def test(worker: Worker) -> None:
        assert await worker.ask({"do": "close_idle", "seconds": 0}) == 0

    monkeypatch.setattr(asyncio, "create_subprocess_exec", sometimes)
    with_process(test)


def test_a_worker_whose_answer_makes_no_sense_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nonsense(stream: asyncio.StreamReader) -> Any:
        await receive(stream)
        raise ValueError("no JSON")

    async def test(worker: Worker) -> None:
        with monkeypatch.context() as patch:
            patch.setattr("headwise.serve.workers.worker.receive", nonsense)
            with pytest.raises(WorkerLostError):
                await worker.ask({"do": "close_idle", "seconds": 0})
        await worker.wait_ready()
        assert await worker.ask({"do": "close_idle", "seconds": 0}) == 0

    with_process(test)
