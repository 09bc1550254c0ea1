"""Merging partial results: the rows of all shares, in the order of the lines, become the output file."""

import contextlib
import itertools
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from headwise.decode.bulk.partial import (
    PartialState,
    lock_path,
    partial_path,
    read_if_there,
    refuse_changes,
    saved_by_all,
    state_files,
    state_path,
)
from headwise.decode.bulk.share import WHOLE, Share
from headwise.errors import CheckpointError, ConfigError
from headwise.files.atomic import disk_errors, move, sync
from headwise.files.digest import file_digest
from headwise.files.lock import BusyError, locked, remove_lock
from headwise.files.tables import read_table, write_table

WriteRows = Callable[[Iterator[bytes]], None]


def merge(out: Path, write: WriteRows | None = None, share: Share = WHOLE) -> bool:
    """Write the output and remove the partial results; False if some of them are not complete.

    `write` turns the rows into the output and records beside it what produced it; without it the rows are the output,
    and a record is left.
    """
    lock = _lock_path(out)
    if not saved_by_all(out, share).complete:
        return False
    with locked(lock, f"{out}: another process is merging its lines"):
        if not saved_by_all(out, share).complete:  # another process has merged them meanwhile
            return False
        settings = PartialState.read(state_path(out, share)).settings
        (write or (lambda rows: write_rows(out, rows)))(rows_in_order(out, share))
        # From here on the output is finished, whichever of these files a kill leaves.
        write_table(record_path(out), {"settings": settings, "content": file_digest(out)})
        _remove_partial(out, settings, finished=True)
        remove_lock(lock)
        if write is not None and share.count == 1:
            record_path(out).unlink(missing_ok=True)
    return True


def merge_if_last(out: Path, settings: dict[str, Any], share: Share, write: WriteRows | None = None) -> bool:
    """Merge, if this process is the last to end; False if others are still at work, or have merged."""
    try:
        if merge(out, write, share):
            return True
    except BusyError:  # the other of the last two
        return False
    is_finished(out, settings)  # if others finished while this process started, its own partial result is removed
    return False


def is_finished(out: Path, settings: dict[str, Any], *, protect_edits: bool = False) -> bool:
    """Whether `out` was finished with these settings, and has not been changed since.

    A record that no longer applies is removed. `protect_edits`: an output that was edited since it was written is an
    error, whatever the settings, so that it is not overwritten.
    """
    path = record_path(out)
    if not path.exists():
        return False
    try:
        table = read_table(path)
    except CheckpointError:  # damaged, or another process has just removed it
        table = {}
    before = table.get("settings")
    alike = before == json.loads(json.dumps(settings))
    untouched = out.is_file() and (alike or protect_edits) and file_digest(out) == table.get("content")
    if protect_edits and table and out.is_file() and not untouched:
        raise ConfigError(f"{out} was changed since it was translated: choose another --output, or move it away")
    same = alike and untouched
    _remove_partial(out, before, finished=same)
    remove_lock(_lock_path(out)) if same else path.unlink(missing_ok=True)
    return same


def _remove_partial(out: Path, settings: Any, *, finished: bool) -> None:
    """Remove the partial results of finished work, each state file last: it alone identifies the records.

    An incomplete one belongs to work that others have just begun again with the same settings. If the work is
    `finished`, there are none of these, and nobody writes here any more.
    """
    for path, _ in state_files(out):
        state = read_if_there(path)
        if state is not None and state.settings == settings and state.saved.complete:
            records = path.with_suffix("")
            try:
                records.unlink(missing_ok=True)
            except PermissionError:  # on Windows, another process that has just finished still has it open
                continue
            remove_lock(lock_path(records))
            path.unlink(missing_ok=True)
    written = f".{out.name}.partial", f".{record_path(out).name}."
    for path in out.parent.iterdir() if finished else ():  # temporary files of killed processes
        if path.name.startswith(written) and path.name.endswith(".writing"):
            path.unlink(missing_ok=True)


def write_rows(out: Path, rows: Iterator[bytes]) -> None:
    """Write a file atomically: a kill leaves the old content."""
    # Not `atomic.replacing`: it names files by process number, which processes on several machines may share.
    temporary = out.with_name(f"{out.name}.partial-ordered")
    with disk_errors(out):
        with temporary.open("wb") as file:
            file.writelines(rows)
            file.flush()
            os.fsync(file.fileno())
        move(temporary, out)
        sync(out.parent)


def rows_in_order(out: Path, share: Share = WHOLE) -> Iterator[bytes]:
    """The row of every line. A line without a row, or with two, is an error."""
    states = {each: PartialState.read(state_path(out, each)) for each in share.all()}
    first = states[Share(0, share.count)]
    for each, state in states.items():
        refuse_changes(state_path(out, each), state.settings, first.settings)
        refuse_changes(state_path(out, each), asdict(state.plan), asdict(first.plan))
    with contextlib.ExitStack() as stack:
        records = []
        for each, state in states.items():
            file = stack.enter_context(partial_path(out, each).open("rb"))
            records.append(_records(partial_path(out, each), file, state.saved.bytes))
        lines = 0
        for window in _windows(records):
            if sorted(window) != list(range(lines, lines + len(window))):
                raise CheckpointError(f"{out}.partial: lines are missing after line {lines}: remove it to start anew")
            for line in sorted(window):
                holder, offset, size = window[line]
                holder.seek(offset)
                yield holder.read(size)
            lines += len(window)
    if lines != sum(state.saved.lines for state in states.values()):
        raise CheckpointError(f"{out}.partial: lines are missing after line {lines}: remove it to start anew")


_Rows = dict[int, tuple[IO[bytes], int, int]]
"""File, offset and size of each line's row."""


def _windows(records: Sequence[Iterator[tuple[int, _Rows]]]) -> Iterator[_Rows]:
    """The rows of each window; its groups were dealt to the shares in turn."""
    first, window, number = 0, _Rows(), 0
    while (record := next(records[number % len(records)], None)) is not None:
        if record[0] != first:
            yield window
            first, window = record[0], {}
        window |= record[1]
        number += 1
    yield window


def _records(path: Path, file: IO[bytes], end: int) -> Iterator[tuple[int, _Rows]]:
    """The first line of each record's window and the offsets of its rows, up to the last saved byte."""
    offset = 0
    while offset < end:
        file.seek(offset)
        try:
            line = file.readline()
            header = json.loads(line)
            first, lines, sizes = int(header["first"]), list(header["lines"]), list(header["bytes"])
            content = file.read(sum(sizes))
            if zlib.crc32(content) != header["crc"]:
                raise ValueError
            starts = list(itertools.accumulate(sizes, initial=offset + len(line)))[:-1]
            rows = {first + n: (file, start, size) for n, start, size in zip(lines, starts, sizes, strict=True)}
        except (ValueError, KeyError, TypeError):
            raise CheckpointError(f"{path}: damaged at byte {offset:,}: remove {path}* to start anew") from None
        offset += len(line) + len(content)
        yield first, rows


def record_path(out: Path) -> Path:
    """The record of a finished output: its settings and digest, so that the same command has nothing to do."""
    return out.with_name(f"{out.name}.made.json")


def _lock_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial-merging")
