"""Prepared data that is kept: a folder named after a fingerprint of everything it depends on.

It is built under another name, sealed, and renamed when complete: a folder that has the name is whole, and if it has
been damaged since, it is noticed.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from headwise.errors import CheckpointError, DataError
from headwise.files.atomic import FULL
from headwise.files.seal import check_seal, seal

T = TypeVar("T")

_ABANDONED = 24 * 3600.0
"""Seconds after which an unfinished folder that nobody writes to belongs to a run that was killed, where the file
system does not tell."""


def kept(
    folder: Path,
    key: str,
    say: Callable[[str], None],
    build: Callable[[Path], None],
    open_folder: Callable[[Path], T],
) -> T:
    """What `open_folder` makes of `folder / key`, which `build` fills if it is not there or not in order."""
    home = folder / key
    if home.exists():
        try:
            check_seal(home)
            found = open_folder(home)
        except (DataError, CheckpointError) as error:
            say(f"preparing the data again: {error}")
            shutil.rmtree(home)
        else:
            say(f"using the prepared data in {home}")
            return found
    _remove_abandoned(folder)
    partial = folder / f"{key}.partial-{os.getpid()}"
    try:
        shutil.rmtree(partial, ignore_errors=True)  # in a container, a killed run may have had the same number
        with _claimed(partial):
            build(partial)
            seal(partial)
            _publish(partial, home)
    except OSError as error:
        advice = ": make room, or choose another disk with data.cache" if error.errno in FULL else ""
        raise DataError(f"{folder}: cannot write the prepared data: {error.strerror or error}{advice}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return open_folder(home)


def _publish(partial: Path, home: Path) -> None:
    """Give a complete folder its name - unless another run was as fast, with the same result."""
    try:
        partial.rename(home)
    except OSError:
        if not home.is_dir():
            raise


def _remove_abandoned(folder: Path) -> None:
    """What killed runs have left: each would be as large as the data."""
    for partial in folder.glob("*.partial-*"):
        with contextlib.suppress(OSError), _locked(partial) as locked:  # OSError: another start removes it
            newest = max((path.stat().st_mtime for path in [partial, *partial.rglob("*")]), default=0.0)
            if locked or (locked is None and time.time() - newest > _ABANDONED):
                shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def _claimed(partial: Path) -> Iterator[None]:
    """A new folder that others can see is being filled."""
    while True:
        partial.mkdir()
        with _locked(partial, wait=True):
            if partial.exists():  # not if it was taken for abandoned before it was locked
                yield
                return


@contextlib.contextmanager
def _locked(folder: Path, wait: bool = False) -> Iterator[bool | None]:
    """Whether the folder could be locked: False if a living process holds it, None if the system cannot tell."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield None
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        locked: bool | None = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            locked = False
        except OSError:
            locked = None
        yield locked
    finally:
        os.close(descriptor)
