"""The unit of scheduling: one sentence, or a short text, in one direction with one set of options."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

OVERHEAD = 20
"""Characters that the fixed cost of a sentence is worth."""


@dataclass(frozen=True)
class Lane:
    """What the sentences of a batch have in common."""

    folder: str
    """The model's folder."""
    version: str
    """The state of its files."""
    source: str | None
    target: str | None
    """Languages by the model's own codes."""
    options: str
    """Search options as JSON with sorted keys."""
    operation: str = "translate"
    """What a worker does with the sentences."""


@dataclass(eq=False)
class SentenceUnit:
    """A sentence that one or several requests wait for."""

    lane: Lane
    text: str
    result: asyncio.Future[dict[str, Any]]
    waiting: dict[int, str] = field(default_factory=dict)
    """The requests that wait for it, each with its client."""
    taken: bool = False
    """Whether it is in a batch."""
    alone: bool = False
    """Whether it must be translated by itself: a worker died of a batch that it was in."""

    @property
    def cost(self) -> int:
        """How much work it is, in characters."""
        return len(self.text) + OVERHEAD

    @property
    def wanted(self) -> bool:
        """Whether it waits for a batch: not taken, and not cancelled by all who asked for it."""
        return bool(self.waiting) and not self.taken
