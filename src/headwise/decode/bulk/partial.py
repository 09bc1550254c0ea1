"""Partial results of a bulk translation on disk, which survive a kill at any moment.

Lines are translated in groups of similar length, out of order. The rows of a group are appended to `NAME.partial` as
one record with line numbers and a checksum. `NAME.partial.json`, the state, gives the number of bytes that are safe and
the settings that produced them; it is replaced only after those bytes are on disk, and the next start cuts off whatever
follows them. When every line has its row, `merge` puts the rows in order. Processes that share a file have one of each
(`NAME.partial-2-of-8`).
"""

import contextlib
import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from headwise.decode.bulk.grouping import Group, Plan
from headwise.decode.bulk.share import WHOLE, Share
from headwise.decode.glossary.term_report import TermReport
from headwise.errors import CheckpointError, ConfigError
from headwise.files.atomic import disk_errors
from headwise.files.lock import locked
from headwise.files.tables import MissingFileError, read_table, write_table

FORMAT = 3
NO_TERMS = TermReport()


@dataclass(frozen=True)
class Saved:
    """How much of a share is translated."""

    groups: int = 0
    """All of this share's groups below this number, counted over the whole file, are done."""
    window_line: int = 0
    window_group: int = 0
    """First line and first group of the window in which the work continues."""
    lines: int = 0
    source_bytes: int = 0
    tokens: int = 0
    """Tokens of the translations."""
    cut: int = 0
    """Translations that the length limit ended."""
    terms: TermReport = NO_TERMS
    """What became of the terms of a glossary."""
    bytes: int = 0
    """Size of the records."""
    complete: bool = False


@dataclass(frozen=True)
class PartialState:
    """Content of a state file."""

    settings: dict[str, Any]
    """Everything that the result depends on."""
    plan: Plan
    saved: Saved

    @classmethod
    def read(cls, path: Path) -> "PartialState":
        try:
            table = read_table(path)
            if table["format"] != FORMAT:
                raise ValueError
            saved = {**table["saved"]}
            terms = TermReport.from_table(saved.pop("terms")) if "terms" in saved else NO_TERMS
            return cls({**table["settings"]}, Plan(**table["plan"]), Saved(**saved, terms=terms))
        except MissingFileError:  # even if another process has written it since
            raise
        except (KeyError, TypeError, ValueError, CheckpointError):
            if not path.exists():
                raise
            remove = f"remove {path} and {path.with_suffix('')} to start anew"
            raise CheckpointError(f"{path}: damaged, or of another version: {remove}") from None

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been saved yet."""
        return self.saved == Saved()


def read_if_there(path: Path) -> PartialState | None:
    """A state, or None: another process may write it, or finish the work and remove it, at any moment."""
    try:
        return PartialState.read(path)
    except MissingFileError:
        return None
    except CheckpointError:
        if path.exists():
            raise
        return None


def save_state(path: Path, state: PartialState) -> None:
    write_table(path, {"format": FORMAT, **asdict(state)})


class Partial:
    """The open partial result of one share. Rows that are added are safe once `save` returns."""

    def __init__(self, file: IO[bytes], out: Path, share: Share, state: PartialState) -> None:
        self._file, self._path = file, partial_path(out, share)
        self._state_path = state_path(out, share)
        self._state = state
        self._unsaved = bytearray()
        self.plan, self.saved = state.plan, state.saved

    def add(
        self, group: Group, rows: Sequence[bytes], tokens: int = 0, cut: int = 0, terms: TermReport = NO_TERMS
    ) -> None:
        """Append the rows of a group, in the order of its lines."""
        content = b"".join(rows)
        sizes = [len(row) for row in rows]
        header = {"first": group.first_line, "lines": group.lines, "bytes": sizes, "crc": zlib.crc32(content)}
        self._unsaved += json.dumps(header, separators=(",", ":")).encode() + b"\n" + content
        self.saved = replace(
            self.saved,
            groups=group.number + 1,
            window_line=group.first_line,
            window_group=group.first_group,
            lines=self.saved.lines + len(group.lines),
            source_bytes=self.saved.source_bytes + sum(len(text.encode()) for text in group.texts),
            tokens=self.saved.tokens + tokens,
            cut=self.saved.cut + cut,
            terms=self.saved.terms + terms,
            bytes=self._state.saved.bytes + len(self._unsaved),
        )

    def complete(self) -> None:
        """Mark the share as done: there are no more lines."""
        self.saved = replace(self.saved, complete=True)

    def save(self) -> None:
        """Write the added rows and the state to disk; may be repeated if the disk was full."""
        with disk_errors(self._path):
            self._file.truncate(self._state.saved.bytes)
            written = 0
            while written < len(self._unsaved):
                written += self._file.write(memoryview(self._unsaved)[written:])
            os.fsync(self._file.fileno())
        state = replace(self._state, saved=self.saved)
        save_state(self._state_path, state)
        self._state = state
        self._unsaved.clear()


@contextlib.contextmanager
def open_partial(out: Path, share: Share, settings: dict[str, Any], plan: Plan) -> Iterator[Partial]:
    """The partial result of a share, existing or new, locked for this process.

    One that was produced with other settings, or that is damaged, is refused.
    """
    plan = stored_plan(out, share, settings) or plan
    path, state_file = partial_path(out, share), state_path(out, share)
    with claimed(path) as file:
        size = file.seek(0, os.SEEK_END)
        state = PartialState.read(state_file) if state_file.exists() else None
        if state is not None and not (state.is_empty and share.count == 1):
            if size < state.saved.bytes:
                lost = f"{size:,} bytes, but {state.saved.bytes:,} were written"
                raise CheckpointError(f"{path}: {lost}: remove it and {state_file} to start anew")
        elif size and state is None:
            raise CheckpointError(f"{path}: its state file {state_file.name} is missing: remove it to start anew")
        else:
            state = PartialState(settings, plan, Saved())
            save_state(state_file, state)
        yield Partial(file, out, share, state)


def stored_plan(out: Path, share: Share, settings: dict[str, Any]) -> Plan | None:
    """The plan of the partial results of `out`; None: there are none. Other settings, or shares, are refused."""
    plan = None
    for path, count in state_files(out):
        if count != share.count:
            raise ConfigError(
                f"{path}: begun in {count} part{'s' * (count > 1)}, not {share.count}: use the same number to "
                f"continue, or remove {out}.partial* to start anew"
            )
        state = read_if_there(path)
        if state is not None and not (state.is_empty and count == 1):
            refuse_changes(path, state.settings, settings)
            plan = state.plan
    return plan


def state_files(out: Path) -> list[tuple[Path, int]]:
    """The state files of `out`, each with the number of shares."""
    named = re.compile(re.escape(out.name) + r"\.partial(?:-\d+-of-(\d+))?\.json")
    try:
        found = [(path, named.fullmatch(path.name)) for path in sorted(out.parent.iterdir())]
    except OSError as error:
        raise ConfigError(f"{out}: cannot be written: {error.strerror}") from None
    return [(path, int(match[1] or 1)) for path, match in found if match]


def saved_by_all(out: Path, share: Share) -> Saved:
    """The sum of what all processes have saved."""
    states = [read_if_there(state_path(out, each)) for each in share.all()]
    saved = [each.saved for each in states if each is not None]
    counted = ("lines", "source_bytes", "tokens", "cut")
    sums = {name: sum(getattr(each, name) for each in saved) for name in counted}
    terms = sum((each.terms for each in saved), NO_TERMS)
    return Saved(**sums, terms=terms, complete=len(saved) == share.count and all(each.complete for each in saved))


# --- settings ------------------------------------------------------------------------------------------


DIGESTS = {
    "input": "another input, or it has changed",
    "model": "another model or shortlist",
    "glossary": "another glossary, or it has changed",
    "texts": "other texts, or they have changed",
}
"""Messages for settings that are digests."""


def refuse_changes(path: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise an error that names the settings that differ from those of the partial result."""
    changes = list(_changes(before, json.loads(json.dumps(now))))  # as JSON stores them: lists for tuples
    if changes:
        raise ConfigError(
            f"{path}: begun with {', '.join(changes)}: use the same settings to continue, choose another file, or "
            f"remove {path.with_suffix('')}* to start anew"
        )


def _changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys([*before, *now]):
        one, other = before.get(key), now.get(key)
        if one == other:
            continue
        if key in DIGESTS:
            yield DIGESTS[key]
        elif isinstance(one, dict) and isinstance(other, dict):
            yield from _changes(one, other)
        else:
            yield f"{key.replace('_', ' ')} {_in_words(one)}, not {_in_words(other)}"


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key.replace('_', ' ')} {_in_words(each)}" for key, each in value.items()) + ")"
    if isinstance(value, list):
        return "-".join(map(_in_words, value))
    if isinstance(value, bool):
        return "on" if value else "off"
    return "unset" if value is None or value == "" else str(value)


# --- files ---------------------------------------------------------------------------------------------


def partial_path(out: Path, share: Share = WHOLE) -> Path:
    """The records of a share."""
    return out.with_name(f"{out.name}.partial{share.suffix}")


def state_path(out: Path, share: Share = WHOLE) -> Path:
    """The state of a share."""
    return out.with_name(f"{out.name}.partial{share.suffix}.json")


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[IO[bytes]]:
    """An open file that is locked for this process."""
    try:
        file = path.open("ab+", buffering=0)  # unbuffered: a failed write must not be repeated later
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
    with file, locked(lock_path(path), f"{path}: another process is writing it"):
        yield file


def lock_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")
