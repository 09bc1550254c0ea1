"""Atomic writes: a file is written under a temporary name, synced, and renamed, so it is either complete or absent."""

import contextlib
import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from headwise.errors import CheckpointError, StoppedError

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk and of an exhausted quota."""
UNFINISHED = ".*.writing"
"""Pattern of the temporary names of files and folders."""

PATIENCE = 300.0
"""Seconds that a run waits for room on a full disk."""
LOOK_EVERY = 5.0
"""Seconds between two attempts."""

RENAME_PATIENCE = 2.0 if os.name == "nt" else 0.0
"""Seconds for which a refused rename is tried again: on Windows an open file cannot be renamed, and virus scanners and
indexers open new files for a moment."""

T = TypeVar("T")


class DiskFullError(CheckpointError):
    """There is no room for a file; nothing else is wrong."""


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file by one with this content: even a power cut leaves either the old file or the new one."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which is renamed to `path` at the end; if the writing fails it is removed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.writing")
    with disk_errors(path):
        try:
            yield temporary
            move(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync(path.parent)


def move(source: Path, target: Path) -> None:
    """Rename a file or folder in one step; a file at `target` is replaced."""
    until = time.monotonic() + RENAME_PATIENCE
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.02)


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a failed write into an error that names the file and says that nothing else was lost."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise DiskFullError(
                f"could not write {path}: the disk is full; what was saved before is untouched. Make room, then the "
                "same command goes on from there"
            ) from error
        reason = error.strerror or str(error)
        raise CheckpointError(f"could not write {path}: {reason}; what was saved before is untouched") from error


def remove_unfinished(folder: Path) -> None:
    """Remove the temporary files of killed processes; only for the one process that may write to the folder."""
    for path in folder.glob(UNFINISHED):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make the content of a file, or the names in a folder, durable where the system can."""
    try:
        descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # Windows syncs what it may write
    except PermissionError:  # Windows cannot open folders, and does not need to
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_when_there_is_room(
    write: Callable[[], T], say: Callable[[str], None], stop: Callable[[], bool] = lambda: False
) -> T:
    """Call `write`, and while the disk is full call it again, for `PATIENCE` seconds at most; returns its result.

    A run that cannot save has three options. Ending at once would waste the time until somebody looks, for a disk
    that may be full only for a moment. Going on unsaved would put ever more work at risk and end with other weights
    than an undisturbed run, as the best checkpoint, or one of those to average, would be missing. So the run waits,
    reports it, and continues once there is room. If there is none for long, or the run is asked to stop, it ends, and
    the same command continues from the last save.
    """
    until = 0.0
    while True:
        try:
            written = write()
        except DiskFullError as error:
            now = time.monotonic()
            first, until = not until, until or now + PATIENCE
            if stop():
                raise StoppedError(
                    "stopped while the disk was full; what was saved before is kept, and the same command goes on "
                    "from there"
                ) from error
            if now >= until:
                raise
            if first:
                say(f"{error}. Waiting for room, {PATIENCE:,.0f} seconds at most")
            again = min(now + LOOK_EVERY, until)
            while time.monotonic() < again and not stop():
                time.sleep(min(0.1, LOOK_EVERY))
        else:
            if until:
                say("there is room on the disk again: going on")
            return written
