"""Worker processes for preparing data: pure functions of chunks, with results in the order of the chunks.

The workers are child processes with a pipe each, not forks: a fork of a program with threads or a GPU may hang, and
multiprocessing's other start methods run the user's script a second time. A child ends when its pipe is closed, hence
with its parent, however that ends. A child that is killed costs nothing but time: the parent processes its chunk,
with the same result.
"""

import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from types import TracebackType
from typing import IO, Any, NamedTuple, Self, TypeVar

from headwise.devices import usable_cpus
from headwise.interrupt import KEYBOARD

FEW = 4
"""Chunks that the parent processes before it starts children: a small corpus is done before they would be ready."""
MOST = 8
AHEAD = 2
"""Chunks that wait for each child, which bounds the memory."""

_IMPORT = "from headwise.data.prepare.workers import child_main; child_main()"
_START = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); {_IMPORT}"

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")


def available() -> int:
    """How many child processes are worth starting on this machine; may be 0."""
    cores = len(usable_cpus())
    return min(cores, MOST) if cores > 1 and sys.executable else 0


class WorkerJob(NamedTuple):
    """The function that is applied to each chunk, and its shared argument."""

    number: int
    function: Callable[[Any, Any], Any]
    shared: Any
    pickled: bytes


class _Child:
    def __init__(self) -> None:
        command = [sys.executable, "-c", _START, json.dumps(sys.path)]
        environment = {**os.environ, "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.job = -1

    def call(self, job: WorkerJob, task: Any) -> tuple[bool, Any]:
        """Whether the call succeeded, and its result or error; raises OSError or EOFError if the child has ended."""
        tasks, replies = self.process.stdin, self.process.stdout
        assert tasks is not None
        assert replies is not None
        if self.job != job.number:
            tasks.write(job.pickled)
            self.job = job.number
        tasks.write(pickle.dumps((False, task), pickle.HIGHEST_PROTOCOL))
        tasks.flush()
        reply: tuple[bool, Any] = pickle.load(replies)
        return reply

    def end(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self.process.wait()


class Workers:
    """A pool of `count` child processes, as a context manager; with 0, all work is done in this process."""

    def __init__(self, count: int, say: Callable[[str], None] = lambda text: None) -> None:
        self.count = count
        self._say = say
        self._jobs = 0
        self._children: list[_Child] = []
        self._idle: queue.Queue[_Child | None] = queue.Queue()
        self._threads: ThreadPoolExecutor | None = None
        self._starting = threading.Lock()
        """Several threads may run jobs at the same time."""
        self._closed = False

    @property
    def callers(self) -> int:
        """Threads that are worth running jobs at the same time, so that child processes always have work."""
        return 3 if self.count else 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the children."""
        self._closed = True
        for child in self._children:
            child.end()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def map(
        self, function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task]
    ) -> Generator[tuple[Task, Result], None, None]:
        """Each task with `function(shared, task)`, in order. The function must be importable by name."""
        remaining = iter(tasks)
        here = FEW if self.count and self._threads is None else 0
        for task in islice(remaining, here) if self.count else remaining:
            yield task, function(shared, task)
        first = next(remaining, None)
        if first is not None:
            yield from self.run(self.job(function, shared), chain([first], remaining))

    def job(self, function: Callable[[Shared, Task], Result], shared: Shared) -> WorkerJob:
        """A job for `run`. Its shared argument is sent to each child once, however often it is run."""
        self._jobs += 1
        pickled = pickle.dumps((True, (function, shared)), pickle.HIGHEST_PROTOCOL) if self.count else b""
        return WorkerJob(self._jobs, function, shared, pickled)

    def run(self, job: WorkerJob, tasks: Iterable[Task]) -> Generator[tuple[Task, Any], None, None]:
        """Each task with its result, in order."""
        if not self.count:
            for task in tasks:
                yield task, job.function(job.shared, task)
            return
        remaining = iter(tasks)
        following = next(remaining, None)
        threads = self._started()
        waiting: deque[tuple[Task, Future[Any]]] = deque()
        try:
            while following is not None:
                waiting.append((following, threads.submit(self._compute, job, following)))
                if len(waiting) > AHEAD * self.count:
                    task, future = waiting.popleft()
                    yield task, future.result()
                following = next(remaining, None)
            while waiting:
                task, future = waiting.popleft()
                yield task, future.result()
        finally:
            for _, future in waiting:
                future.cancel()

    def _started(self) -> ThreadPoolExecutor:
        with self._starting:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self.count, "data-worker")
                for _ in range(self.count):
                    try:
                        self._children.append(_Child())
                        self._idle.put(self._children[-1])
                    except OSError:  # no more processes can be started
                        self._idle.put(None)
            return self._threads

    def _compute(self, job: WorkerJob, task: Any) -> Any:
        child = self._idle.get()
        reply: tuple[bool, Any] | None = None
        try:
            if child is not None and not self._closed:
                reply = child.call(job, task)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            child = None
            if not self._closed:
                self._say("a worker process has ended: its part of the data is prepared without it")
        finally:
            self._idle.put(child)  # in any case, as others wait for it
        if self._closed:
            raise RuntimeError("closed")
        if reply is None:
            return job.function(job.shared, task)
        good, result = reply
        if good:
            return result
        raise result


def child_main() -> None:
    """Run the loop of a child process: read jobs and tasks, write results, until the pipe is closed."""
    for number in KEYBOARD:
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C reaches both; the parent decides
    replies: IO[bytes] = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the replies
    function: Callable[[Any, Any], Any] | None = None
    shared: Any = None
    with contextlib.suppress(EOFError, OSError):
        while True:
            new_job, value = pickle.load(sys.stdin.buffer)
            if new_job:
                function, shared = value
                continue
            assert function is not None
            try:
                reply = (True, function(shared, value))
            except Exception as error:
                reply = (False, error)
            replies.write(_pickled(reply))
            replies.flush()


def _pickled(reply: tuple[bool, Any]) -> bytes:
    try:
        return pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return pickle.dumps((False, RuntimeError(f"{reply[1]!r} cannot be sent: {error}")))
