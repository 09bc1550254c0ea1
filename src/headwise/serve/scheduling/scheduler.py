"""The scheduler: takes sentences of all requests, gives them to the workers in batches, and hands out the results.

Sentences that several requests want at the same time are translated once. A request that is cancelled, because its
client is gone or its time is up, takes what it still waits for out of the queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol

from headwise.serve.counters import Counters
from headwise.serve.scheduling.fair_queue import FairQueue
from headwise.serve.scheduling.form_batch import Pace, form_batch
from headwise.serve.scheduling.result_cache import ResultCache
from headwise.serve.scheduling.sentence_unit import Lane, SentenceUnit
from headwise.serve.service_errors import InternalError, InvalidRequestError, ServiceError, UnavailableError
from headwise.serve.workers.worker import WorkerFailedError, WorkerLostError, WorkerRefusedError

LOG = logging.getLogger("headwise.serve")

RETRY = 2.0
"""Seconds after which a client that was refused may try again."""
UPKEEP = 10.0
"""Seconds without work after which a worker looks for models that it may close."""
BUSY_UPKEEP = 60.0
"""Seconds after which a worker looks for such models although it has work."""
SHARE = 0.5
"""Share of the queue that one client may fill."""


class AnsweringWorker(Protocol):
    """What the scheduler needs of a worker."""

    async def wait_ready(self) -> None: ...

    async def ask(self, message: dict[str, Any]) -> Any: ...


class Scheduler:
    """Queues, batches and results of all requests. `serve` runs once for each worker."""

    def __init__(
        self,
        *,
        batch_time: float = 0.1,
        queue: int = 4_000_000,
        cache: int = 0,
        timeout: float = 600.0,
        idle: float = 3600.0,
        counters: Counters | None = None,
    ) -> None:
        self._lanes: dict[Lane, FairQueue[SentenceUnit]] = {}
        self._turns: dict[Lane, int] = {}
        self._batches = 0
        self._units: dict[tuple[Lane, str], SentenceUnit] = {}
        self._admitted: defaultdict[str, int] = defaultdict(int)
        self._numbers = itertools.count()
        self._work = asyncio.Event()
        self._pace = Pace(batch_time)
        self._queue = queue
        self._timeout = timeout
        self._cache = ResultCache(cache)
        self._counters = counters or Counters()
        self._idle = idle

    @property
    def waiting(self) -> int:
        """Characters of the requests that are being answered."""
        return sum(self._admitted.values())

    async def translate(self, lane: Lane, texts: Sequence[str], client: str) -> list[dict[str, Any]]:
        """Translate sentences, or run another operation of the lane on them; the results are in their order.

        Cancelling this call cancels the work.
        """
        request = next(self._numbers)
        size = sum(map(len, texts)) + len(texts)
        self._admit(client, size)
        units: list[SentenceUnit | dict[str, Any]] = []
        try:
            units += [self._cache.get(lane, text) or self._join(lane, text, request, client) for text in texts]
            waiting = {unit.result for unit in units if isinstance(unit, SentenceUnit)}
            if waiting:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_EXCEPTION)
            return [unit.result.result() if isinstance(unit, SentenceUnit) else unit for unit in units]
        finally:
            self._admitted[client] -= size
            if not self._admitted[client]:
                del self._admitted[client]
            self._leave(lane, request, client, [unit for unit in units if isinstance(unit, SentenceUnit)])

    def _admit(self, client: str, size: int) -> None:
        if size > self._queue:
            raise InvalidRequestError(f"the request is larger than the queue of {self._queue:,} characters")
        own = self._admitted.get(client, 0)
        if self.waiting + size > self._queue or (own and own + size > self._queue * SHARE):
            self._counters.refused("queue")
            raise UnavailableError("the server is busy: its queue is full, try again later", retry_after=RETRY)
        self._admitted[client] = own + size

    def _join(self, lane: Lane, text: str, request: int, client: str) -> SentenceUnit:
        """The unit of a sentence, which may be on its way for another request already."""
        unit = self._units.get((lane, text))
        if unit is None:
            unit = SentenceUnit(lane, text, asyncio.get_running_loop().create_future())
            unit.result.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left
            self._units[lane, text] = unit
        else:
            self._counters.shared += 1
        if request not in unit.waiting:
            unit.waiting[request] = client
            if not unit.taken:
                self._enqueue(unit, client, request)
        return unit

    def _enqueue(self, unit: SentenceUnit, client: str, request: int) -> None:
        if unit.lane not in self._lanes:
            self._lanes[unit.lane] = FairQueue()
            self._turns[unit.lane] = self._batches - 1  # before the lane of the running batch, after those that wait
        self._lanes[unit.lane].add(client, request, unit)
        self._work.set()

    def _leave(self, lane: Lane, request: int, client: str, units: list[SentenceUnit]) -> None:
        """Take a request out of everything that it waits for."""
        queue = self._lanes.get(lane)
        if queue is not None:
            queue.remove_request(client, request)
            if not queue:
                self._close_lane(lane)
        for unit in units:
            unit.waiting.pop(request, None)
            if not unit.waiting and not unit.taken and not unit.result.done():
                self._counters.cancelled += 1
                self._forget(unit)

    def _close_lane(self, lane: Lane) -> None:
        del self._lanes[lane], self._turns[lane]

    def _forget(self, unit: SentenceUnit) -> None:
        if self._units.get((unit.lane, unit.text)) is unit:
            del self._units[unit.lane, unit.text]

    # --- the workers' side -----------------------------------------------------------------------------

    async def serve(self, worker: AnsweringWorker) -> None:
        """Give batches to a worker, one after the other, until cancelled; between them, let it close unused models."""
        tended = time.monotonic()
        while True:
            await worker.wait_ready()
            has_work = await self._work_within(UPKEEP)
            if not has_work or time.monotonic() - tended > BUSY_UPKEEP:
                await self._close_idle(worker)
                tended = time.monotonic()
            if not has_work:
                continue
            await asyncio.sleep(0)  # requests that have arrived in the same moment are batched together
            batch = self._next_batch()
            if batch:
                await self._run(worker, batch)

    async def _work_within(self, seconds: float) -> bool:
        """Whether there is work, now or within some seconds."""
        if not self._work.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._work.wait(), seconds)
        return self._work.is_set()

    async def _close_idle(self, worker: AnsweringWorker) -> None:
        """Let a worker that has nothing to do close models that were not used for long."""
        with contextlib.suppress(WorkerLostError, WorkerFailedError):
            await worker.ask({"do": "close_idle", "seconds": self._idle})

    def _next_batch(self) -> list[SentenceUnit]:
        """The next batch, of the lane that has waited longest for its turn."""
        while self._lanes:
            lane = min(self._turns, key=self._turns.__getitem__)
            batch = form_batch(self._lanes[lane], self._pace.budget((lane.folder, lane.options)))
            self._batches += bool(batch)
            self._turns[lane] = self._batches
            if not self._lanes[lane]:
                self._close_lane(lane)
            if batch:
                return batch
        self._work.clear()
        return []

    async def _run(self, worker: AnsweringWorker, batch: list[SentenceUnit]) -> None:
        lane = batch[0].lane
        message = {
            "do": lane.operation,
            "folder": lane.folder,
            "version": lane.version,
            "source": lane.source,
            "target": lane.target,
            "options": lane.options,
            "texts": [unit.text for unit in batch],
        }
        try:
            answer = await asyncio.wait_for(worker.ask(message), self._timeout)
        except (WorkerLostError, TimeoutError):
            self._try_again(batch)
        except WorkerRefusedError as error:
            LOG.error("a batch was refused: %s", error)
            self._fail(batch, UnavailableError("the model for this direction cannot be used: see the server's log"))
        except WorkerFailedError as error:
            LOG.error("a batch failed: %s", error)
            self._fail(batch, InternalError("the translation failed: see the server's log"))
        except asyncio.CancelledError:
            self._fail(batch, UnavailableError("the server stops", retry_after=RETRY))
            raise
        except Exception as error:  # a bug must cost one batch, not the worker
            LOG.error("a batch was not sent or not understood: %s", type(error).__name__)
            self._fail(batch, InternalError("the translation failed: see the server's log"))
        else:
            seconds: float = answer["seconds"]
            characters = sum(unit.cost for unit in batch)
            self._pace.learn((lane.folder, lane.options), characters, seconds)
            self._counters.batch(len(batch), sum(len(unit.text) for unit in batch), seconds)
            for unit, result in zip(batch, answer["found"], strict=True):
                self._forget(unit)
                self._cache.put(lane, unit.text, result)
                unit.result.set_result(result)

    def _try_again(self, batch: list[SentenceUnit]) -> None:
        """Queue the sentences of a worker that died once more, each by itself: one may have been the reason."""
        for unit in batch:
            if unit.alone:
                self._fail([unit], UnavailableError("the worker was restarted, try again", retry_after=RETRY))
                continue
            unit.alone, unit.taken = True, False
            for request, client in unit.waiting.items():
                self._enqueue(unit, client, request)
            if not unit.waiting:
                self._forget(unit)

    def _fail(self, batch: list[SentenceUnit], error: ServiceError) -> None:
        for unit in batch:
            self._forget(unit)
            unit.result.set_exception(error)
