"""Prefetching: a thread makes the next items while the consumer works on this one."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

from headwise.errors import DataError

T = TypeVar("T")

LOOK_EVERY = 0.2
"""Seconds after which a waiting consumer checks that the thread is alive and that it is not to stop."""
GRACE = 5.0
"""Seconds that the next item may take once the consumer is to stop, and that the thread may take to end."""


class StalledError(DataError):
    """The next item does not come. The consumer's work on earlier ones is complete."""


class _End:
    """Marks the end of the items, with the error that ended them, if one did."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def prefetch(items: Iterator[T], depth: int = 4, stop: Callable[[], bool] = lambda: False) -> Generator[T, None, None]:
    """Iterate over `items` in order, made up to `depth` ahead by one thread.

    An item carries its own position, so nothing is lost when a run stops between making and using one. An error is
    raised where its item would have come. The thread ends with the generator: at its last item, when it is closed, or
    when it is garbage-collected. A stuck thread, for example in a read from a disk that is gone, cannot block shutdown:
    once `stop` is true, neither its next item nor its end is awaited for longer than `GRACE` seconds.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, not {depth}")
    ready: queue.Queue[T | _End] = queue.Queue(depth)
    stopped = threading.Event()
    worker = threading.Thread(target=_fill, args=(items, ready, stopped), name="prefetch", daemon=True)
    worker.start()
    grace = GRACE
    try:
        while True:
            item = _next(ready, worker, stop)
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    except (StalledError, KeyboardInterrupt):
        grace = 0.0  # it is stuck, or the user does not want to wait
        raise
    finally:
        stopped.set()
        # The worker puts at most one thing after `stopped` is set, and there is room for it once this is empty.
        while not ready.empty():
            ready.get_nowait()
        worker.join(grace)


def _next(ready: "queue.Queue[T | _End]", worker: threading.Thread, stop: Callable[[], bool]) -> "T | _End":
    deadline = 0.0
    while True:
        alive = worker.is_alive()  # read first: the last item of a thread is there once it has ended
        try:
            return ready.get(timeout=LOOK_EVERY)
        except queue.Empty:
            if not alive:
                raise StalledError("the thread that prepares the batches has died") from None
            if stop():
                deadline = deadline or time.monotonic() + GRACE
                if time.monotonic() >= deadline:
                    raise StalledError(f"the next batch has not come for {GRACE:.0f} seconds") from None


def _fill(items: Iterator[T], ready: "queue.Queue[T | _End]", stopped: threading.Event) -> None:
    error: BaseException | None = None
    try:
        for item in items:
            ready.put(item)
            if stopped.is_set():
                return
    except BaseException as caught:
        error = caught
    finally:
        if isinstance(items, Generator):
            items.close()
    if not stopped.is_set():
        ready.put(_End(error))
