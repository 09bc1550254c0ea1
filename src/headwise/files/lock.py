"""Exclusive lock files: at most one process works in a folder, or on a file, at a time.

A lock is released when its process ends, however it ends. The lock file itself may stay.
"""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from headwise.errors import ConfigError

UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)
"""Error numbers of file systems without locks."""


class BusyError(ConfigError):
    """Another process holds the lock."""


@contextlib.contextmanager
def locked(path: Path, busy: str = "", *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock file `path`. If another process holds it, `wait` for it or raise `BusyError` with the text `busy`.

    Yields False on a file system without locks, where the caller runs unprotected.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except Timeout:
        raise BusyError(busy or f"{path}: another process holds this lock") from None
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def remove_lock(path: Path) -> None:
    """Remove a lock file, which this process may hold. On Windows, one that is open stays."""
    with contextlib.suppress(PermissionError):
        path.unlink(missing_ok=True)
