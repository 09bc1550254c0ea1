"""A result that is not finished, on the disk: whatever was certain when the process was killed is there, and exact.

Lines are translated in groups of similar length, out of their order. The rows of a group are appended to
`NAME.partial` as one record, which says whose rows they are and has a checksum. `NAME.partial.json` says how many bytes
of it are certain, and what made them; it is replaced only when those bytes are on the disk, and a later start cuts off
whatever came after them. When every line has its row, the rows are put in order. Processes that share a file have one
of each (`NAME.partial-2-of-8`), and put them in order together.
"""

import contextlib
import itertools
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

from headwise.errors import CheckpointError, ConfigError
from headwise.files.atomic import disk_errors, sync
from headwise.files.digest import file_digest
from headwise.files.lock import BusyError, locked
from headwise.files.tables import read_table, write_table

FORMAT = 2


@dataclass(frozen=True)
class Share:
    """What one of several processes does: group `number`, then every `count`-th."""

    number: int = 0
    count: int = 1
    together: bool = field(default=False, compare=False)
    """Whether a launcher has started them all: one of them talks, of what all have done."""

    @property
    def suffix(self) -> str:
        return "" if self.count == 1 else f"-{self.number + 1}-of-{self.count}"

    @property
    def talks(self) -> bool:
        return self.number == 0 or not self.together

    def all(self) -> "list[Share]":
        return [Share(number, self.count) for number in range(self.count)]

    def __str__(self) -> str:
        return f"part {self.number + 1} of {self.count}"


WHOLE = Share()


@dataclass(frozen=True)
class Plan:
    """How lines become groups. Kept with the result: another plan would give other groups, and they are counted."""

    window_lines: int
    window_characters: int
    """Lines that are sorted together: so many, or so much text."""
    group_tokens: int
    """About how many source tokens times beam are translated and written together."""


@dataclass(frozen=True)
class Done:
    """What is certain of a share."""

    groups: int = 0
    """All of this share's groups below this number, counted over the whole file."""
    window_line: int = 0
    window_group: int = 0
    """The first line and group of the window in which the work goes on."""
    lines: int = 0
    source_bytes: int = 0
    tokens: int = 0
    """Of the translations."""
    cut: int = 0
    """Translations that the length limit ended."""
    bytes: int = 0
    complete: bool = False


class Group(NamedTuple):
    """Lines that are translated together."""

    number: int
    """In the whole file."""
    first_line: int
    first_group: int
    """Of its window; lines are counted from 0."""
    lines: list[int]
    """Places in the window, longest line first."""
    texts: list[str]


class Partial:
    """The open result of one share. What is added becomes certain when it is saved."""

    def __init__(self, file: IO[bytes], out: Path, share: Share, begun: "Begun") -> None:
        self._file, self._path = file, partial_path(out, share)
        self._state = state_path(out, share)
        self._begun = begun
        self._unsaved = bytearray()
        self.plan, self.done = begun.plan, begun.done

    def add(self, group: Group, rows: Sequence[bytes], tokens: int = 0, cut: int = 0) -> None:
        """The rows of a group, in the order of its lines."""
        content = b"".join(rows)
        sizes = [len(row) for row in rows]
        header = {"first": group.first_line, "lines": group.lines, "bytes": sizes, "crc": zlib.crc32(content)}
        self._unsaved += json.dumps(header, separators=(",", ":")).encode() + b"\n" + content
        self.done = replace(
            self.done,
            groups=group.number + 1,
            window_line=group.first_line,
            window_group=group.first_group,
            lines=self.done.lines + len(group.lines),
            source_bytes=self.done.source_bytes + sum(len(text.encode()) for text in group.texts),
            tokens=self.done.tokens + tokens,
            cut=self.done.cut + cut,
            bytes=self._begun.done.bytes + len(self._unsaved),
        )

    def complete(self) -> None:
        """There are no more lines."""
        self.done = replace(self.done, complete=True)

    def save(self) -> None:
        """Can be called again if there was no room on the disk."""
        with disk_errors(self._path):
            self._file.truncate(self._begun.done.bytes)
            written = 0
            while written < len(self._unsaved):
                written += self._file.write(memoryview(self._unsaved)[written:])
            os.fsync(self._file.fileno())
        begun = replace(self._begun, done=self.done)
        save_state(self._state, begun)
        self._begun = begun
        self._unsaved.clear()


@dataclass(frozen=True)
class Begun:
    """What a state file says."""

    made: dict[str, Any]
    """All that the result depends on."""
    plan: Plan
    done: Done

    @classmethod
    def read(cls, path: Path) -> "Begun":
        try:
            table = read_table(path)
            if table["format"] != FORMAT:
                raise ValueError
            return cls({**table["made"]}, Plan(**table["plan"]), Done(**table["done"]))
        except (KeyError, TypeError, ValueError, CheckpointError):
            if not path.exists():
                raise
            remove = f"remove {path} and {path.with_suffix('')} to start anew"
            raise CheckpointError(f"{path}: damaged, or of another version: {remove}") from None


def _read_if_there(path: Path) -> Begun | None:
    """Another process may finish the work, and remove it, at any moment."""
    try:
        return Begun.read(path)
    except CheckpointError:
        if path.exists():
            raise
        return None


def save_state(path: Path, begun: Begun) -> None:
    write_table(path, {"format": FORMAT, **asdict(begun)})


@contextlib.contextmanager
def open_partial(out: Path, share: Share, made: dict[str, Any], plan: Plan) -> Iterator[Partial]:
    """What there is of the result already, or a new one, for this process alone. One that was made in another way, or
    that is damaged, is refused."""
    plan = plan_of(out, share, made) or plan
    path, state = partial_path(out, share), state_path(out, share)
    with claimed(path) as file:
        size = file.seek(0, os.SEEK_END)
        begun = Begun.read(state) if state.exists() else None
        if begun is not None and not (begun.done == Done() and share.count == 1):
            if size < begun.done.bytes:
                lost = f"{size:,} bytes, but {begun.done.bytes:,} were written"
                raise CheckpointError(f"{path}: {lost}: remove it and {state} to start anew")
        elif size and begun is None:
            raise CheckpointError(f"{path}: what was made is not known without {state.name}: remove it to start anew")
        else:
            begun = Begun(made, plan, Done())
            save_state(state, begun)
        yield Partial(file, out, share, begun)


def plan_of(out: Path, share: Share, made: dict[str, Any]) -> Plan | None:
    """The plan of what was begun here, by this process or those that it shares the work with; refuses what was begun
    in another way."""
    plan = None
    for path, count in _states(out):
        if count != share.count:
            raise ConfigError(
                f"{path}: begun in {count} part{'s' * (count > 1)}, not {share.count}: give the same to go on, "
                f"or remove {out}.partial* to start anew"
            )
        begun = _read_if_there(path)
        if begun is not None and not (begun.done == Done() and count == 1):  # or there is nothing to go on with
            refuse_changes(path, begun.made, made)
            plan = begun.plan
    return plan


def _states(out: Path) -> list[tuple[Path, int]]:
    """The state files that are there, and in how many parts the work was begun."""
    named = re.compile(re.escape(out.name) + r"\.partial(?:-\d+-of-(\d+))?\.json")
    try:
        found = [(path, named.fullmatch(path.name)) for path in sorted(out.parent.iterdir())]
    except OSError as error:
        raise ConfigError(f"{out}: cannot be written: {error.strerror}") from None
    return [(path, int(match[1] or 1)) for path, match in found if match]


OTHER = {"input": "another input, or it has changed", "model": "another model or shortlist", "data": "other data"}
"""What is told of a digest that is not the same."""


def refuse_changes(path: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """An error that names what is not as it was when the result was begun."""
    changes = list(_changes(before, json.loads(json.dumps(now))))  # as it was read: lists for tuples
    if changes:
        raise ConfigError(
            f"{path}: begun with {', '.join(changes)}: give the same to go on, choose another file, or remove "
            f"{path.with_suffix('')}* to start anew"
        )


def _changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys([*before, *now]):
        one, other = before.get(key), now.get(key)
        if one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _changes(one, other)
        else:
            yield OTHER.get(key, f"{key.replace('_', ' ')} {_said(one)}, not {_said(other)}")


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key.replace('_', ' ')} {each}" for key, each in value.items()) + ")"
    return "unset" if value is None or value == "" else str(value)


def progress_of(out: Path, share: Share) -> Done:
    """What all processes together have saved."""
    begun = [_read_if_there(state_path(out, each)) for each in share.all()]
    done = [each.done for each in begun if each is not None]
    counted = ("lines", "source_bytes", "tokens", "cut")
    sums = {name: sum(getattr(each, name) for each in done) for name in counted}
    return Done(**sums, complete=len(done) == share.count and all(each.complete for each in done))


Make = Callable[[Iterator[bytes]], None]


def finish(out: Path, make: Make | None = None, share: Share = WHOLE) -> bool:
    """Put the rows in order and remove the partial results; False if some of them are not complete.

    `make` makes of the rows what there is to be, and says beside it what made it; without it they become `out`, and a
    record is left.
    """
    lock = _merging(out)
    if not progress_of(out, share).complete:
        return False
    with locked(lock, f"{out}: another process is putting its lines in order"):
        if not progress_of(out, share).complete:  # another process has been here
            return False
        made = Begun.read(state_path(out, share)).made
        (make or (lambda rows: write_rows(out, rows)))(rows_in_order(out, share))
        # From here on it is finished, whatever of this is left after a kill.
        write_table(made_path(out), {"made": made, "content": file_digest(out)})
        _remove_of(out, made, finished=True)
        lock.unlink(missing_ok=True)  # one that starts now may have done it
        if make is not None and share.count == 1:
            made_path(out).unlink(missing_ok=True)
    return True


def finish_together(out: Path, made: dict[str, Any], share: Share, make: Make | None = None) -> bool:
    """Put the rows in order, if this process is the last one; False if others are still at it, or have done it."""
    try:
        if finish(out, make, share):
            return True
    except BusyError:  # the other of the last two
        return False
    is_made(out, made)  # by others, while this one started: what it has made in vain is removed
    return False


def is_made(out: Path, made: dict[str, Any], *, guarded: bool = False) -> bool:
    """Whether an earlier start, or another process of this one, has finished `out` with the same settings, and it is
    as it was then. A record that is of no more use is removed. `guarded`: what somebody has changed since then is not
    to be made again, whatever the settings."""
    path = made_path(out)
    if not path.exists():
        return False
    try:
        table = read_table(path)
    except CheckpointError:  # damaged, or another process has just removed it
        table = {}
    before = table.get("made")
    alike = before == json.loads(json.dumps(made))
    untouched = out.is_file() and (alike or guarded) and file_digest(out) == table.get("content")
    if guarded and table and out.is_file() and not untouched:
        raise ConfigError(f"{out} was changed since it was translated: choose another --output, or move it away")
    same = alike and untouched
    _remove_of(out, before, finished=same)
    (_merging(out) if same else path).unlink(missing_ok=True)
    return same


def _remove_of(out: Path, made: Any, *, finished: bool) -> None:
    """Remove the partial results of a finished work, each state last: nothing else says whose the other file is.

    One that is not complete is of a work that others have just begun anew, in the same way; if it is `finished`, there
    are none of these, and nobody writes here any more.
    """
    for path, _ in _states(out):
        begun = _read_if_there(path)
        if begun is not None and begun.made == made and begun.done.complete:
            content = path.with_suffix("")
            content.unlink(missing_ok=True)
            _lock(content).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
    written = f".{out.name}.partial", f".{made_path(out).name}."
    for path in out.parent.iterdir() if finished else ():  # what killed processes were writing
        if path.name.startswith(written) and path.name.endswith(".writing"):
            path.unlink(missing_ok=True)


def write_rows(out: Path, rows: Iterator[bytes]) -> None:
    """The file, at once: a kill leaves it as it was."""
    # Not `atomic.replacing`: its name is one a process, and processes of several machines may have the same number.
    temporary = out.with_name(f"{out.name}.partial-ordered")
    with disk_errors(out):
        with temporary.open("wb") as file:
            file.writelines(rows)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(out)
        sync(out.parent)


def rows_in_order(out: Path, share: Share = WHOLE) -> Iterator[bytes]:
    """The rows of every line. That no line is without one and none has two is checked on the way."""
    begun = {each: Begun.read(state_path(out, each)) for each in share.all()}
    first = begun[Share(0, share.count)]
    for each, state in begun.items():
        refuse_changes(state_path(out, each), state.made, first.made)
        refuse_changes(state_path(out, each), asdict(state.plan), asdict(first.plan))
    with contextlib.ExitStack() as stack:
        records = []
        for each, state in begun.items():
            file = stack.enter_context(partial_path(out, each).open("rb"))
            records.append(_records(partial_path(out, each), file, state.done.bytes))
        lines = 0
        for window in _windows(records):
            if sorted(window) != list(range(lines, lines + len(window))):
                raise CheckpointError(f"{out}.partial: lines are missing after line {lines}: remove it to start anew")
            for line in sorted(window):
                holder, place, size = window[line]
                holder.seek(place)
                yield holder.read(size)
            lines += len(window)
    if lines != sum(state.done.lines for state in begun.values()):
        raise CheckpointError(f"{out}.partial: lines are missing after line {lines}: remove it to start anew")


_Rows = dict[int, tuple[IO[bytes], int, int]]
"""Where the row of each line is: file, place, size."""


def _windows(records: Sequence[Iterator[tuple[int, _Rows]]]) -> Iterator[_Rows]:
    """The rows of each window; groups were dealt to the shares in turn."""
    first, window, number = 0, _Rows(), 0
    while (record := next(records[number % len(records)], None)) is not None:
        if record[0] != first:
            yield window
            first, window = record[0], {}
        window |= record[1]
        number += 1
    yield window


def _records(path: Path, file: IO[bytes], end: int) -> Iterator[tuple[int, _Rows]]:
    """The first line of each record's window and where its rows are, up to the last certain byte."""
    place = 0
    while place < end:
        file.seek(place)
        try:
            line = file.readline()
            header = json.loads(line)
            first, lines, sizes = int(header["first"]), list(header["lines"]), list(header["bytes"])
            content = file.read(sum(sizes))
            if zlib.crc32(content) != header["crc"]:
                raise ValueError
            starts = list(itertools.accumulate(sizes, initial=place + len(line)))[:-1]
            rows = {first + n: (file, start, size) for n, start, size in zip(lines, starts, sizes, strict=True)}
        except (ValueError, KeyError, TypeError):
            raise CheckpointError(f"{path}: damaged at byte {place:,}: remove {path}* to start anew") from None
        place += len(line) + len(content)
        yield first, rows


def partial_path(out: Path, share: Share = WHOLE) -> Path:
    return out.with_name(f"{out.name}.partial{share.suffix}")


def state_path(out: Path, share: Share = WHOLE) -> Path:
    return out.with_name(f"{out.name}.partial{share.suffix}.json")


def _merging(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial-merging")


def made_path(out: Path) -> Path:
    """Says that `out` is finished, and what made it: the same command has nothing to do then, nor has one of several
    processes that starts late."""
    return out.with_name(f"{out.name}.made.json")


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[IO[bytes]]:
    """A file, open, for this process alone: two of them would write over each other's lines."""
    try:
        file = path.open("ab+", buffering=0)  # what could not be written must not be written later
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
    with file, locked(_lock(path), f"{path}: another process is writing it"):
        yield file


def _lock(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")
