"""Forming a batch: how many of the waiting sentences are translated together.

A worker that is free starts at once with what there is; what arrives while it works is the next batch. A batch of a
long text takes about `batch_time`, so nobody waits long for the running one. Where many requests wait, each gives a
sentence before any gives a second, and a batch that completes a request is not filled up with the sentences of a book,
which would only delay its answer.
"""

from __future__ import annotations

from headwise.serve.scheduling.fair_queue import FairQueue
from headwise.serve.scheduling.sentence_unit import SentenceUnit

CROWD = 6.0
"""How many times as large a batch may be while each of its sentences is of another request, as all of them would wait
anyway."""
FEWEST_SENTENCES = 4
"""Sentences of a long text that are translated together however long it takes: smaller batches waste the processor."""
SHORT = 4
"""The most sentences that a short request has left."""
CROWD_SENTENCES = 16
"""Sentences of different requests that are translated together however long it takes: on a slow or busy machine, too
small batches would make everyone wait longer still."""


def form_batch(queue: FairQueue[SentenceUnit], budget: float) -> list[SentenceUnit]:
    """Take the next batch out of a queue; `budget` is its size in characters, and its first sentence always fits."""
    batch: list[SentenceUnit] = []
    size = turns = 0
    longest = _let_pass(queue)
    requests = queue.requests(longest)
    completes = False
    while (unit := queue.peek(longest)) is not None:
        if not unit.wanted:
            queue.take(longest)
            continue
        crowd = turns < requests
        size += unit.cost
        if crowd:
            full = size > budget * CROWD and len(batch) >= CROWD_SENTENCES
        else:
            full = (size > budget and len(batch) >= FEWEST_SENTENCES) or completes
        if batch and (full or unit.alone):
            break
        _, last = queue.take(longest)
        unit.taken = True
        batch.append(unit)
        completes |= last
        turns += 1
        if unit.alone:
            break
    return batch


def _let_pass(queue: FairQueue[SentenceUnit]) -> int | None:
    """How long the requests of the next batch may be: long ones let short ones pass, but never twice in a row."""
    short, everyone = queue.requests(SHORT), queue.requests()
    queue.passed = not queue.passed and 0 < short < everyone
    return SHORT if queue.passed else None


class Pace:
    """How long a character takes, learned from the batches of each model, and so how large a batch may be."""

    FIRST = 0.0005
    """Seconds per character before anything is known."""
    WEIGHT = 0.2
    """Weight of the newest batch."""

    def __init__(self, batch_time: float) -> None:
        self._batch_time = batch_time
        self._seconds: dict[tuple[str, str], float] = {}

    def budget(self, kind: tuple[str, str]) -> float:
        """Characters of a batch that takes `batch_time`, for this model and these options."""
        return self._batch_time / self._seconds.get(kind, self.FIRST)

    def learn(self, kind: tuple[str, str], characters: int, seconds: float) -> None:
        """Take a finished batch into account."""
        measured = max(seconds, 1e-4) / max(characters, 1)
        known = self._seconds.get(kind)
        if known is None and len(self._seconds) >= 1000:  # options are the client's choice: forget rather than grow
            self._seconds.clear()
        self._seconds[kind] = measured if known is None else known + self.WEIGHT * (measured - known)
