"""Bulk translation of lines: a kill at any moment costs a few seconds, and no line is lost or written twice.

Lines are translated in groups of a few seconds each, after which the work can be stopped and saved. Processes that
share a job each take every n-th group.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.decode.bulk.grouping import Group, Plan, default_plan, groups
from headwise.decode.bulk.merge import WriteRows, merge_if_last
from headwise.decode.bulk.partial import NO_TERMS, Saved, open_partial, saved_by_all, stored_plan
from headwise.decode.bulk.share import WHOLE, Share
from headwise.decode.glossary.term_report import TermReport
from headwise.decode.translation import TranslateOptions, Translation
from headwise.files.atomic import write_when_there_is_room

if TYPE_CHECKING:
    from headwise.decode.translator import Translator

SAVE_EVERY = 2.0
"""Seconds between two saves, which take some milliseconds."""
STOP_WITHIN = 3.0
"""Seconds after a request to stop until the current group is abandoned; the current batch is always completed."""
LOOK_EVERY = 1.0
"""Seconds between two looks at the progress of other processes."""

Row = Callable[[int, str, Translation], str]
"""Output for a line, from its number (from 1), its text and its translation; without the final line end."""


@dataclass(frozen=True)
class LineJob:
    """Lines to translate, and the file for the result."""

    lines: Callable[[], Iterable[str]]
    """Gives the same lines at every call."""
    out: Path
    settings: dict[str, Any]
    """Everything that the result depends on: a partial result of other settings is refused."""
    options: TranslateOptions
    row: Row
    source: str | None = None
    target: str | None = None
    prefix: str = ""
    size: tuple[int, int] = (0, 0)
    """Number of lines and of their bytes; 0 bytes: not counted."""
    check: Callable[[], None] = lambda: None
    """Called before the output is written: refuses input that has changed meanwhile."""
    write: WriteRows | None = None
    """Writes the output from the rows; None: the rows are the output."""


@dataclass(frozen=True)
class BulkProgress:
    """How far a bulk translation is."""

    lines: int
    total_lines: int
    source_bytes: int
    total_bytes: int
    """0: not counted. Otherwise a better measure of the work than lines."""
    tokens: int
    """Tokens generated."""


@dataclass(frozen=True)
class BulkControl:
    """How a bulk translation is shared, watched and stopped."""

    share: Share = WHOLE
    progress: Callable[[BulkProgress], None] = lambda progress: None
    """Called at the start, with the work of earlier runs included, and after each group. Of several processes that a
    launcher started, the first reports for all."""
    stop: Callable[[], bool] = bool
    say: Callable[[str], None] = lambda text: None

    def note(self, text: str) -> None:
        """Pass on a note once, however many processes a launcher has started."""
        if self.share.reports:
            self.say(text)


@dataclass(frozen=True)
class BulkResult:
    """How a bulk translation ended."""

    stopped: bool = False
    """Stopped early, everything saved: the same call continues."""
    written: bool = False
    """This process wrote the output: of several, the last to end does."""
    cut: int = 0
    """Translations that the length limit ended."""
    terms: TermReport = NO_TERMS
    """What became of the terms of a glossary."""


class _GroupAbandonedError(Exception):
    """A request to stop ended the current group."""


def run_jobs(translator: Translator, jobs: Sequence[LineJob], control: BulkControl) -> BulkResult:
    """Translate this process's share of some jobs, one after the other; the last process to end writes the output."""
    share = control.share
    sizes = [share_size(translator, job, share) if share.separate else job.size for job in jobs]
    if share.separate:
        lines = sum(job.size[0] for job in jobs)
        control.say(f"{share}: {sum(size[0] for size in sizes):,} of {lines:,} lines")
    report = _Report(control, sizes)
    cut, terms, written = 0, NO_TERMS, True
    for job in jobs:
        if not translate_lines(translator, job, control, report.show):
            return BulkResult(stopped=True)
        job.check()
        report.next_job()
        saved = saved_by_all(job.out, share)
        cut, terms = cut + saved.cut, terms + saved.terms
        written = merge_if_last(job.out, job.settings, share, job.write) and written
    return BulkResult(written=written, cut=cut, terms=terms)


class _Report:
    """Progress over several jobs."""

    def __init__(self, control: BulkControl, sizes: Sequence[tuple[int, int]]) -> None:
        self._progress = control.progress
        self._lines = sum(lines for lines, _ in sizes)
        counted = all(size or not lines for lines, size in sizes)
        self._bytes = sum(size for _, size in sizes) if counted else 0
        self._earlier, self._current = Saved(), Saved()

    def show(self, saved: Saved) -> None:
        self._current = saved
        now = self._sum()
        self._progress(BulkProgress(now.lines, self._lines, now.source_bytes, self._bytes, now.tokens))

    def next_job(self) -> None:
        self._earlier, self._current = self._sum(), Saved()

    def _sum(self) -> Saved:
        both = self._earlier, self._current
        return Saved(
            **{name: sum(getattr(each, name) for each in both) for name in ("lines", "source_bytes", "tokens")}
        )


def translate_lines(
    translator: Translator,
    job: LineJob,
    control: BulkControl,
    report: Callable[[Saved], None],
    *,
    plan: Plan | None = None,
    save_every: float | None = None,
) -> bool:
    """Translate this process's share of a job into its partial result; False if stopped before the end.

    Each group has its own random seed, so that samples do not depend on who translates it.
    """
    share, deadline, report = control.share, _Deadline(control.stop), _report_of_all(report, job.out, control.share)

    def translated(group: Group) -> list[Translation]:
        drawing = replace(job.options, seed=(job.options.seed + group.number) % 2**63)
        return translator.translate(
            group.texts, source=job.source, target=job.target, prefix=job.prefix, options=drawing, progress=deadline
        )

    with open_partial(job.out, share, job.settings, plan or default_plan(translator._on_gpu)) as partial:
        before, last_save = partial.saved, time.monotonic()
        report(before)
        if before.complete:  # nothing may be written any more: another process may be merging
            return True
        for group in _remaining(job, partial.plan, before):
            if group.number < before.groups or group.number % share.count != share.number:
                continue
            try:
                found = translated(group)
            except _GroupAbandonedError:
                break
            rows = [
                f"{job.row(group.first_line + place + 1, text, each)}\n".encode(errors="backslashreplace")
                for place, text, each in zip(group.lines, group.texts, found, strict=True)
            ]
            cut = sum(not each.complete for each in found)
            uses = (
                (group.first_line + place + 1, use)
                for place, each in zip(group.lines, found, strict=True)
                for use in each.terms
            )
            partial.add(group, rows, sum(len(each.tokens) for each in found), cut, TermReport.of(uses))
            report(partial.saved)
            if control.stop():
                break
            if time.monotonic() - last_save >= (SAVE_EVERY if save_every is None else save_every):
                write_when_there_is_room(partial.save, control.say, control.stop)
                last_save = time.monotonic()
        else:
            partial.complete()
        write_when_there_is_room(partial.save, control.say, control.stop)
        return partial.saved.complete


def share_size(translator: Translator, job: LineJob, share: Share) -> tuple[int, int]:
    """Number of lines, and of their bytes, in a share; all lines have to be grouped once to know it."""
    plan = stored_plan(job.out, share, job.settings) or default_plan(translator._on_gpu)
    count, size = 0, 0
    for group in _remaining(job, plan, Saved()):
        if group.number % share.count == share.number:
            count += len(group.texts)
            size += sum(len(text.encode()) for text in group.texts)
    return count, size


def _remaining(job: LineJob, plan: Plan, saved: Saved) -> Iterator[Group]:
    """The groups of a job, from the window on in which the work stopped."""
    return groups(job.lines(), plan, job.options.width, first_line=saved.window_line, first_group=saved.window_group)


def _report_of_all(report: Callable[[Saved], None], out: Path, share: Share) -> Callable[[Saved], None]:
    """Where a launcher started several processes, the first reports the sum of all, from their files."""
    if not share.together:
        return report
    looked = 0.0

    def look(saved: Saved) -> None:
        nonlocal looked
        if share.reports and time.monotonic() - looked >= LOOK_EVERY:
            looked = time.monotonic()
            report(saved_by_all(out, share))

    return look


class _Deadline:
    """Called after each batch: abandons a group that takes too long after a request to stop."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._requested: float | None = None

    def __call__(self, sentences: int) -> None:
        if not self._stop():
            return
        now = time.monotonic()
        self._requested = now if self._requested is None else self._requested
        if now - self._requested >= STOP_WITHIN:
            raise _GroupAbandonedError
