"""Making the next items in the background while the consumer works on this one."""

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

T = TypeVar("T")


class _End:
    """After the last item: with the error that ended the items, if one did."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def prefetch(items: Iterator[T], depth: int = 4) -> Generator[T, None, None]:
    """The same items in the same order, made up to `depth` ahead by one thread.

    An item carries its own position, so nothing is lost when a run stops between making and using one. An
    error comes out where its item would have. The thread ends with the generator: at its last item, when it
    is closed, or when the consumer lets go of it.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, not {depth}")
    ready: queue.Queue[T | _End] = queue.Queue(depth)
    stop = threading.Event()
    worker = threading.Thread(target=_fill, args=(items, ready, stop), name="prefetch", daemon=True)
    worker.start()
    try:
        while True:
            item = ready.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        stop.set()
        # The worker puts at most one thing after `stop` is set, and there is room for it once this is empty.
        while not ready.empty():
            ready.get_nowait()
        worker.join()


def _fill(items: Iterator[T], ready: "queue.Queue[T | _End]", stop: threading.Event) -> None:
    error: BaseException | None = None
    try:
        for item in items:
            ready.put(item)
            if stop.is_set():
                return
    except BaseException as caught:
        error = caught
    finally:
        if isinstance(items, Generator):
            items.close()
    if not stop.is_set():
        ready.put(_End(error))
