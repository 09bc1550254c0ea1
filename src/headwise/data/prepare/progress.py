"""Progress messages of long work, at most one every few seconds."""

import time
from collections.abc import Callable, Iterable, Iterator

from headwise.data.read.pairs import Pair

SECONDS = 5.0
_LOOK = 4096  # pairs between two looks at the clock


class Throttle:
    """Passes a message on to `say` if the last one was a few seconds ago."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._last = time.monotonic()

    def tick(self, message: str) -> None:
        now = time.monotonic()
        if now - self._last >= SECONDS:
            self._last = now
            self._say(message)


def counted(pairs: Iterable[Pair], counts: dict[str, int], throttle: Throttle) -> Iterator[Pair]:
    """Pass pairs through while counting them by file and reporting progress."""
    file, count = "", 0
    try:
        for pair in pairs:
            if pair.file != file:
                if file:
                    counts[file] = counts.get(file, 0) + count
                file, count = pair.file, 0
            count += 1
            if count % _LOOK == 0:
                throttle.tick(f"reading {file}: {count:,} pairs")
            yield pair
    finally:
        if file:
            counts[file] = counts.get(file, 0) + count
