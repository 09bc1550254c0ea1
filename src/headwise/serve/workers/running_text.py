"""A text that is being generated: a thread generates, and the server asks for what there is so far."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headwise.errors import HeadwiseError
from headwise.serve.workers.stop_strings import StopStrings

WAIT = 0.2
"""Seconds that the server waits for the next piece: meanwhile it can ask for nothing else."""
ABANDONED = 60.0
"""Seconds after which a text that nobody asks for is given up."""


class Generated(Protocol):
    """The outcome of a finished generation."""

    @property
    def finished(self) -> bool: ...

    @property
    def ids(self) -> list[int]: ...


@dataclass(frozen=True)
class TextEnd:
    """The end of a generated text."""

    reason: str
    """`stop`, `length`, or `failed`."""
    tokens: int
    """Generated tokens; those of a text that a stop string ended are counted by encoding it again."""


class _StoppedError(Exception):
    """Ends the thread's generation from within."""


class RunningText:
    """One generation. `generate` receives a function that it calls with each new piece."""

    def __init__(
        self,
        generate: Callable[[Callable[[str], None]], Generated],
        stops: Sequence[str],
        count: Callable[[str], int],
    ) -> None:
        self._generate = generate
        self._stops = StopStrings(stops)
        self._count = count
        self._pieces: queue.SimpleQueue[str | TextEnd] = queue.SimpleQueue()
        self._given_up = False
        self._asked = time.monotonic()
        self._text = ""
        threading.Thread(target=self._run, daemon=True).start()

    def next(self) -> tuple[str, TextEnd | None]:
        """The text since the last call, which may be empty for now, and the end once it is reached."""
        self._asked = time.monotonic()
        pieces: list[str] = []
        try:
            piece = self._pieces.get(timeout=WAIT)
            while not isinstance(piece, TextEnd):
                pieces.append(piece)
                piece = self._pieces.get_nowait()
        except queue.Empty:
            return "".join(pieces), None
        return "".join(pieces), piece

    def stop(self) -> None:
        """Give the text up; the thread ends with its next token."""
        self._given_up = True

    def _watch(self, piece: str) -> None:
        self._text += piece
        self._pieces.put(self._stops.add(piece))
        if self._stops.found or self._given_up or time.monotonic() - self._asked > ABANDONED:
            raise _StoppedError

    def _run(self) -> None:
        try:
            found = self._generate(self._watch)
            self._pieces.put(self._stops.finish())
            end = TextEnd("stop" if found.finished else "length", len(found.ids))
        except _StoppedError:
            end = TextEnd("stop", self._count(self._text))
        except HeadwiseError as error:
            end = TextEnd(f"failed: {error}", 0)
        except Exception as error:  # a bug must cost one text, not the worker
            end = TextEnd(f"failed: {type(error).__name__}", 0)
        self._pieces.put(end)
