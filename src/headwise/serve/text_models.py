"""PyTorch models of the server: language models, encoders, and the insides of translators, in a worker of their own.

The worker is started with the first request that needs it, so a server that only translates pays nothing. Texts are
generated in threads of that worker, a few at a time, and fetched piece by piece.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwise.extras import command_for, installed
from headwise.serve.catalogue import ServedModel
from headwise.serve.service_errors import InternalError, InvalidRequestError, UnavailableError
from headwise.serve.settings import MEGABYTE
from headwise.serve.workers.worker import Worker, WorkerFailedError, WorkerLostError, WorkerOptions, WorkerRefusedError

if TYPE_CHECKING:
    from headwise.serve.service import Service

LOG = logging.getLogger("headwise.serve")

AT_A_TIME = 4
"""Texts that are generated at the same time."""
MOST_WAITING = 256
"""Requests that may wait for their turn; then they are refused."""
RETRY = 5.0
"""Seconds after which a client that was refused may try again."""


@dataclass(frozen=True)
class TextRequest:
    """A text to generate: the continuation of a prompt, or the answer of a chat."""

    prompt: str = ""
    messages: tuple[dict[str, str], ...] = ()
    max_tokens: int = 16
    sampling: dict[str, float] = field(default_factory=dict)
    """Temperature and top_p; empty: the most probable token at each step."""
    stop: tuple[str, ...] = ()
    seed: int = 0


@dataclass
class TextProgress:
    """A text that is being generated; complete once its pieces have come to an end."""

    prompt_tokens: int = 0
    tokens: int = 0
    reason: str = ""
    """Why it ended: `stop` or `length`."""


class TextModels:
    """The server's side of the PyTorch worker, which is asked one question at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._worker: Worker | None = None
        self._running: asyncio.Task[None] | None = None
        self._asking = asyncio.Lock()
        self._turns = asyncio.Semaphore(AT_A_TIME)
        self._waiting = 0
        self._used = 0.0

    async def generate(
        self, model: ServedModel, request: TextRequest, progress: TextProgress
    ) -> AsyncGenerator[str, None]:
        """The pieces of a generated text as they come. Leaving the iteration early ends the work."""
        given: dict[str, Any] = {"max_tokens": request.max_tokens, "stop": request.stop, "seed": request.seed}
        given |= {"messages": request.messages} if request.messages else {"prompt": request.prompt}
        async with self._turn() as ends:
            started = await self._ask(model, {"do": "start_text", "sampling": request.sampling, **given})
            number, progress.prompt_tokens = started["number"], started["prompt_tokens"]
            try:
                while not progress.reason:
                    self._check_time(ends)
                    found = await self._ask(model, {"do": "next_text", "number": number})
                    if end := found["end"]:
                        if end["reason"].startswith("failed"):
                            LOG.error("a text was not generated: %s", end["reason"])
                            raise InternalError("the text was not generated: see the server's log")
                        progress.tokens, progress.reason = end["tokens"], end["reason"]
                    if found["text"]:
                        yield found["text"]
            finally:
                if not progress.reason:
                    with contextlib.suppress(UnavailableError, InternalError):
                        await self._ask(model, {"do": "stop_text", "number": number})

    async def embed(self, model: ServedModel, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """The vectors of texts, and their number of tokens."""
        async with self._turn():
            found = await self._ask(model, {"do": "embed", "texts": list(texts)})
        return found["vectors"], found["tokens"]

    async def inside(self, model: ServedModel | None, what: str, message: dict[str, Any]) -> str:
        """Something of the inside of a model, as a JSON text."""
        async with self._turn():
            found = await self._ask(model, {"do": "inside", "what": what, **message})
        answer: str = found["json"]
        return answer

    async def close_idle(self) -> None:
        """End the worker if nobody has used it for long."""
        unused = time.monotonic() - self._used
        if self._worker is not None and not self._waiting and unused > self._service.settings.idle:
            await self.close()

    async def close(self) -> None:
        """End the worker."""
        running, self._running, self._worker = self._running, None, None
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[float]:
        """Wait for a turn, unless too many wait already; gives the time at which the request must end.

        The pieces of a stream may be fetched by several tasks, which a timeout of asyncio does not allow.
        """
        self._service.check_open()
        if not installed("torch"):
            raise UnavailableError(f"this needs PyTorch on the server: {command_for('torch')}")
        if self._waiting >= MOST_WAITING:
            self._service.counters.refused("queue")
            raise UnavailableError("the server is busy: its queue is full, try again later", retry_after=RETRY)
        ends = time.monotonic() + self._service.settings.timeout
        self._waiting += 1
        try:
            async with self._service.deadline():
                await self._turns.acquire()
            try:
                yield ends
            finally:
                self._turns.release()
        finally:
            self._waiting -= 1

    def _check_time(self, ends: float) -> None:
        if time.monotonic() > ends:
            self._service.counters.refused("timeout")
            raise UnavailableError(
                f"the request took longer than {self._service.settings.timeout:g} seconds", retry_after=60.0
            )

    async def _ask(self, model: ServedModel | None, message: dict[str, Any]) -> Any:
        """The worker's answer. A question that is on its way is waited for even if this call is cancelled."""
        given = message | (place_of(model) if model else {})
        asked = asyncio.ensure_future(self._exchange(given))
        try:
            found = await asyncio.shield(asked)
        except asyncio.CancelledError:
            await asyncio.gather(asked, return_exceptions=True)
            raise
        except (WorkerLostError, TimeoutError):
            raise UnavailableError("the worker was restarted, try again", retry_after=RETRY) from None
        except WorkerRefusedError as error:
            LOG.error("a text model was refused: %s", error)
            raise UnavailableError("the model cannot be used: see the server's log") from None
        except WorkerFailedError as error:
            LOG.error("a text model failed: %s", error)
            raise InternalError("the model failed: see the server's log") from None
        if isinstance(found, dict) and "invalid" in found:
            raise InvalidRequestError(found["invalid"])
        return found

    async def _exchange(self, message: dict[str, Any]) -> Any:
        async with self._asking, asyncio.timeout(self._service.settings.timeout):
            worker = await self._started()
            self._used = time.monotonic()
            return await worker.ask(message)

    async def _started(self) -> Worker:
        if self._worker is None:
            settings = self._service.settings
            options = WorkerOptions(settings.threads or 2, settings.memory * MEGABYTE, settings.device)
            self._worker = Worker(options)
            self._running = asyncio.create_task(self._worker.run())
        await self._worker.wait_ready()
        return self._worker


def place_of(model: ServedModel) -> dict[str, str]:
    """Where a worker finds a model, and which version of it."""
    return {"folder": str(model.folder), "version": model.version}
