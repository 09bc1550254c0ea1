"""Disk cache of prepared data: one folder per fingerprint of everything that the data depends on.

A folder is built under a temporary name and renamed when it is complete; its manifest detects later damage.
"""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from headwise.errors import CheckpointError, DataError
from headwise.files.atomic import UNFINISHED, DiskFullError
from headwise.files.folder import check_manifest, whole_folder, write_manifest
from headwise.files.lock import BusyError, locked, remove_lock

T = TypeVar("T")

_ABANDONED = 24 * 3600.0
"""Seconds without a write after which an unfinished folder counts as a killed run's, on a file system without locks."""


def cached(
    folder: Path,
    key: str,
    say: Callable[[str], None],
    build: Callable[[Path], None],
    open_folder: Callable[[Path], T],
) -> T:
    """Open `folder / key` with `open_folder`, after `build` has filled it if it was missing or damaged.

    A process that needs data which another one is preparing waits for it.
    """
    home = folder / key
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder, key, say) as protected:
            if home.exists():
                try:
                    check_manifest(home)
                    found = open_folder(home)
                except (DataError, CheckpointError) as error:
                    say(f"preparing the data again: {error}")
                    shutil.rmtree(home)
                else:
                    say(f"using the prepared data in {home}")
                    return found
            _remove_abandoned(folder, key, protected)
            with whole_folder(home, replace=True) as unfinished:
                build(unfinished)
                write_manifest(unfinished)
            return open_folder(home)
    except DiskFullError as error:
        advice = "the disk is full: make room, or choose another disk with data.cache"
        raise DataError(f"{folder}: cannot write the prepared data: {advice}") from error
    except OSError as error:
        raise DataError(f"{folder}: cannot write the prepared data: {error.strerror or error}") from error


@contextlib.contextmanager
def _locked(folder: Path, key: str, say: Callable[[str], None]) -> Iterator[bool]:
    """Hold the lock of a key; yields False if the file system has no locks."""
    path = _lock(folder, key)
    with contextlib.ExitStack() as stack:
        try:
            protected = stack.enter_context(locked(path))
        except BusyError:
            say("waiting for another process, which is preparing the same data")
            protected = stack.enter_context(locked(path, wait=True))
        stack.callback(remove_lock, path)
        yield protected


def _remove_abandoned(folder: Path, key: str, protected: bool) -> None:
    """Remove the unfinished folders of killed runs, each of which may be as large as the data."""
    for path in folder.glob(UNFINISHED):
        if not path.is_dir():
            continue
        other = path.name.split(".")[1]
        with contextlib.suppress(OSError, BusyError):  # OSError: another process removes it too
            if other == key:
                _remove_if_abandoned(path, protected)
                continue
            with locked(_lock(folder, other)) as held:
                _remove_if_abandoned(path, held)
                remove_lock(_lock(folder, other))


def _remove_if_abandoned(path: Path, protected: bool) -> None:
    if protected or time.time() - max(each.stat().st_mtime for each in [path, *path.rglob("*")]) > _ABANDONED:
        shutil.rmtree(path, ignore_errors=True)


def _lock(folder: Path, key: str) -> Path:
    return folder / f".{key}.lock"
