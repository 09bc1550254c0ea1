"""Output of the commands on standard error: notes, and the progress of long work."""

import contextlib
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwise.decode.bulk.line_job import BulkProgress


def say(text: str) -> None:
    """Print a note to standard error; a closed terminal or pipe does not end the command."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


class Countdown:
    """Progress of long work with speed and time left: a bar on a terminal, otherwise a line every few seconds.

    If the total is unknown, progress is shown only on a terminal.
    """

    EVERY = 10.0
    """Seconds between two lines of a log."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._begun: tuple[float, int, int, int] | None = None
        self._printed = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Countdown":
        return self

    def show(self, done: int, total: int = 0, *, work: int = 0, total_work: int = 0, tokens: int = 0) -> None:
        """Show that `done` of `total` units are done.

        The time left is estimated from `work`, if given, since some units take longer than others.
        """
        now = time.monotonic()
        if not total_work:
            work, total_work = done, total
        if self._begun is None:  # what earlier starts did says nothing about the speed
            self._begun, self._printed = (now, done, work, tokens), now
            if done and total:
                self.note(f"{done:,} of {total:,} {self._unit} are done already")
            self._start_bar(work, total_work)
        since, done_before, work_before, tokens_before = self._begun
        if self._bar is None and (not total or now == since or (now - self._printed < self.EVERY and done < total)):
            return
        self._printed = now
        seconds = max(now - since, 1e-9)
        figures = f"{(done - done_before) / seconds:,.1f} {self._unit}/s"
        if tokens:
            figures += f"  {(tokens - tokens_before) / seconds:,.0f} tokens/s"
        counted = f"{done:,}/{total:,} {self._unit}" if total else f"{done:,} {self._unit}"
        with contextlib.suppress(OSError):
            if self._bar is not None:
                self._bar.update(self._task, completed=work, counted=counted, figures=figures)
                return
        left = (total_work - work) * seconds / (work - work_before) if work > work_before else None
        say(f"{counted}  {figures}  left {'?' if left is None else timedelta(seconds=round(left))}")

    def show_bulk(self, progress: "BulkProgress") -> None:
        """Show the progress of a bulk translation."""
        self.show(
            progress.lines,
            progress.total_lines,
            work=progress.source_bytes,
            total_work=progress.total_bytes,
            tokens=progress.tokens,
        )

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        with contextlib.suppress(OSError):
            if self._bar is not None:
                self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)
                return
        say(text)

    def _start_bar(self, work: int, total_work: int) -> None:
        if sys.stderr.isatty():
            try:
                from headwise.train.report.console import progress_bar
            except ModuleNotFoundError:  # rich comes with the extra `train`; lines do without it
                return
            self._bar = progress_bar(sys.stderr, "{task.fields[counted]}")
            self._task = self._bar.add_task("", total=total_work or None, completed=work, counted="", figures="")
            self._bar.start()

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar.stop()
