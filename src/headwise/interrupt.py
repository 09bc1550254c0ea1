"""Signals as requests to stop: after Ctrl-C, SIGTERM or SIGHUP, the current step is completed and saved.

On Windows, these are Ctrl-C and Ctrl-Break: a program that is ended in another way there is not told.
"""

import signal
import threading
from types import FrameType
from typing import Any

from headwise.errors import StoppedError


def _known(*names: str) -> list[int]:
    """Those of these signals that the system has."""
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


KEYBOARD = _known("SIGINT", "SIGBREAK")
"""Signals that all processes of a terminal receive: Ctrl-C, and Ctrl-Break on Windows."""
SIGNALS = [*KEYBOARD, *_known("SIGTERM", "SIGHUP")]


class StopRequest:
    """True once the process has received a signal to stop; a second Ctrl-C stops it immediately."""

    def __init__(self, *, once: bool = True) -> None:
        """`once`: signals come from a user, and a second one stops immediately. A launcher such as torchrun repeats the
        signal that its processes have already received from the terminal, and kills those that take too long."""
        self.requested = False
        self._once = once
        self.number = 0
        """The signal that was received."""
        self._previous: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self.requested

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if number != signal.SIGINT and signal.getsignal(number) == signal.SIG_IGN:
                    continue  # nohup: the run must outlive its terminal
                self._previous[number] = signal.signal(number, self._request)
        return self

    @property
    def status(self) -> int:
        """The exit status of a command that was stopped, as shells and schedulers expect it: 130 after Ctrl-C."""
        return 128 + (self.number or signal.SIGINT)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, StoppedError):
            error.signal = self.number or signal.SIGINT
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested and self._once:
            raise KeyboardInterrupt
        self.requested, self.number = True, number
