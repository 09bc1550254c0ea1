"""Rate limits: a token bucket for each client, by its key or its address."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from headwise.serve.service_errors import RateLimitError

MOST_CLIENTS = 100_000
"""Clients that are remembered; the least recently seen are forgotten, and begin anew."""
MINUTE = 60.0


class RateLimits:
    """How many requests each client may still send. A bucket holds a minute's requests and refills steadily."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, per_minute: int) -> None:
        """Count a request; one too many is an error with the time until the next is allowed. 0: no limit."""
        if not per_minute:
            return
        now = self._now()
        left, then = self._buckets.get(client, (float(per_minute), now))
        left = min(float(per_minute), left + (now - then) * per_minute / MINUTE)
        if left < 1.0:
            raise RateLimitError(f"Slowdown: {per_minute} per 1 minute", retry_after=(1.0 - left) * MINUTE / per_minute)
        self._buckets[client] = left - 1.0, now
        self._buckets.move_to_end(client)
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
