"""A cache of translated sentences: the most recently used ones, in memory only."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from headwise.serve.scheduling.sentence_unit import Lane

LONGEST = 2_000
"""Characters of the longest text that is kept."""


class ResultCache:
    """The last `size` results; 0 keeps none."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[tuple[Lane, str], dict[str, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, lane: Lane, text: str) -> dict[str, Any] | None:
        """The result for a sentence, if it is kept. Another version of the model is another lane."""
        found = self._kept.get((lane, text))
        if found is not None:
            self._kept.move_to_end((lane, text))
        return found

    def put(self, lane: Lane, text: str, result: dict[str, Any]) -> None:
        """Keep a result, and drop the least recently used one beyond the limit."""
        if self._size and len(text) <= LONGEST:
            self._kept[lane, text] = result
            self._kept.move_to_end((lane, text))
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
