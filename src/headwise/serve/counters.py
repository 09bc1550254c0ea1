"""Counters of the server in Prometheus' text format; they hold no text, key, address or other data of users."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable, Mapping

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper ends of the buckets of request times."""


class Counters:
    """What has happened since the server was started."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        """Requests by route, never by address as sent, and status."""
        self.refusals: Counter[str] = Counter()
        self._times = [0] * (len(SECONDS) + 1)
        self._seconds = 0.0
        self.batches = self.sentences = self.characters = self.shared = self.cancelled = 0
        self.batch_seconds = 0.0

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.requests[route, status] += 1
        self._times[bisect.bisect_left(SECONDS, seconds)] += 1
        self._seconds += seconds

    def refused(self, reason: str) -> None:
        """Count a request that a limit refused."""
        self.refusals[reason] += 1

    def batch(self, sentences: int, characters: int, seconds: float) -> None:
        """Count a translated batch."""
        self.batches += 1
        self.sentences += sentences
        self.characters += characters
        self.batch_seconds += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """All counters, and what is measured now, as Prometheus reads them."""
        lines = list(_family("requests_total", "counter", self._requests()))
        lines += _family("request_seconds", "histogram", self._histogram())
        lines += _family("refused_total", "counter", [(f'{{reason="{k}"}}', v) for k, v in self.refusals.items()])
        for name, value in {
            "batches_total": self.batches,
            "sentences_total": self.sentences,
            "characters_total": self.characters,
            "batch_seconds_total": self.batch_seconds,
            "shared_sentences_total": self.shared,
            "cancelled_sentences_total": self.cancelled,
        }.items():
            lines += _family(name, "counter", [("", value)])
        for name, value in gauges.items():
            lines += _family(name, "gauge", [("", value)])
        return "\n".join(lines) + "\n"

    def _requests(self) -> list[tuple[str, float]]:
        return [(f'{{route="{route}",status="{status}"}}', n) for (route, status), n in sorted(self.requests.items())]

    def _histogram(self) -> list[tuple[str, float]]:
        rows: list[tuple[str, float]] = []
        total = 0
        for end, count in zip([*map(str, SECONDS), "+Inf"], self._times, strict=True):
            total += count
            rows.append((f'_bucket{{le="{end}"}}', total))
        return [*rows, ("_sum", self._seconds), ("_count", total)]


def _family(name: str, kind: str, rows: Iterable[tuple[str, float]]) -> list[str]:
    return [f"# TYPE headwise_{name} {kind}", *(f"headwise_{name}{labels} {value}" for labels, value in rows)]
