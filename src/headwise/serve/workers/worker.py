"""A worker as the server sees it: a process that answers one message at a time, and is started again if it dies."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from dataclasses import dataclass
from typing import Any

from headwise.serve.workers.messages import pack, receive

LOG = logging.getLogger("headwise.serve")

LONGEST_PAUSE = 10.0
"""Seconds between two starts of a worker that dies at once."""


class WorkerLostError(Exception):
    """The process died, or was killed, before it answered."""


class WorkerRefusedError(Exception):
    """The request cannot be answered; the message says why, and may name paths."""


class WorkerFailedError(Exception):
    """The worker made a mistake; the message is for the log."""


@dataclass(frozen=True)
class WorkerOptions:
    """How the processes of workers are started."""

    threads: int
    memory: float
    """Bytes of models that each keeps loaded."""
    device: str = "auto"


class Worker:
    """One worker. `run` keeps its process alive; `ask` sends a message and waits for the answer."""

    def __init__(self, options: WorkerOptions) -> None:
        self._options = options
        self._process: asyncio.subprocess.Process | None = None
        self._ready = asyncio.Event()
        self._restarts = -1
        self.bytes = 0
        """Bytes of the models that it has loaded, as of its last answer."""

    @property
    def ready(self) -> bool:
        """Whether the process is up."""
        return self._ready.is_set()

    @property
    def restarts(self) -> int:
        """How often the process had to be started again."""
        return max(self._restarts, 0)

    @property
    def pid(self) -> int | None:
        """The id of the process, if there is one."""
        return self._process.pid if self._process else None

    async def wait_ready(self) -> None:
        """Wait until the process is up."""
        await self._ready.wait()

    async def run(self) -> None:
        """Start the process, and start it again whenever it ends, until cancelled."""
        pause = 0.0
        try:
            while True:
                began = asyncio.get_running_loop().time()
                try:
                    process = await self._start()
                    ended = f"ended with status {await process.wait()}"
                except OSError as error:  # no memory, processes or file descriptors are left
                    ended = f"could not be started: {error}"
                self._ready.clear()
                lived = asyncio.get_running_loop().time() - began
                pause = 0.0 if lived > LONGEST_PAUSE else min(max(2 * pause, 0.1), LONGEST_PAUSE)
                LOG.warning("a worker %s: starting it again", ended)
                await asyncio.sleep(pause)
        finally:
            self._ready.clear()
            await self._end()

    async def ask(self, message: dict[str, Any]) -> Any:
        """The answer to a message; only one may be on its way."""
        process = self._process
        if not self.ready or process is None or process.stdin is None or process.stdout is None:
            raise WorkerLostError("the worker is not up")
        try:
            process.stdin.write(pack(message))
            await process.stdin.drain()
            found = await receive(process.stdout)
        except (ConnectionError, asyncio.IncompleteReadError, ValueError) as error:
            if process is self._process:  # it may still run, if what it wrote was no message
                self.kill()
            raise WorkerLostError("the worker ended before it answered") from error
        except asyncio.CancelledError:  # its answer would be taken for that of the next message
            self.kill()
            raise
        self.bytes = found.get("bytes", self.bytes)
        if "refused" in found:
            raise WorkerRefusedError(found["refused"])
        if "failed" in found:
            raise WorkerFailedError(found["failed"])
        return found["answer"]

    def kill(self) -> None:
        """Kill the process; `run` starts another."""
        self._ready.clear()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _start(self) -> asyncio.subprocess.Process:
        options = self._options
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "headwise.serve.workers.worker_process",
            str(options.memory),
            options.device,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": str(options.threads)},
        )
        self._restarts += 1
        assert process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await receive(process.stdout)
            self._ready.set()
        return process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 2.0)
        except (TimeoutError, asyncio.CancelledError):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
