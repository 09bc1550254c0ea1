"""Prepared data that is kept: a folder named after a fingerprint of everything it depends on.

It is built under another name and renamed when complete: a folder that has the name is whole.
"""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from headwise.errors import CheckpointError, DataError

T = TypeVar("T")

_ABANDONED = 24 * 3600.0
"""Seconds after which an unfinished folder that nobody writes to belongs to a run that was killed."""


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
        partial.mkdir()
        build(partial)
        _publish(partial, home)
    except OSError as error:
        raise DataError(f"{folder}: cannot write the prepared data: {error.strerror or error}") from error
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
    for partial in folder.glob("*.partial-*"):
        newest = max((path.stat().st_mtime for path in [partial, *partial.rglob("*")]), default=0.0)
        if time.time() - newest > _ABANDONED:
            shutil.rmtree(partial, ignore_errors=True)
