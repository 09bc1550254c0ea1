"""Files that are either whole or not there: written beside their place, synced, then renamed into it."""

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headwise.errors import CheckpointError

FULL = (errno.ENOSPC, errno.EDQUOT)
"""No room: on the disk, or in what this user may have of it."""
UNFINISHED = ".*.writing"
"""The names that files and folders have until they are whole."""


class DiskFullError(CheckpointError):
    """There is no room for what was to be saved; nothing else is wrong."""


def write_bytes(path: Path, content: bytes) -> None:
    """Replace the file by one with this content: even a power cut leaves the old one or the new one."""
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
    """A name to write under; what was written takes the place of `path`, or goes if the writing failed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.writing")
    with disk_errors(path):
        try:
            yield temporary
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync(path.parent)


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a failed write into an error that says what could not be saved and that nothing else was lost."""
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
    """Remove what killed processes were writing in a folder; only for the one process that may write there."""
    for path in folder.glob(UNFINISHED):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make a file's content, or the names in a folder, durable where the system can."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows cannot open folders, and does not need to
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write into, which takes its name when all is written; an empty one may have it before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.writing")
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        try:
            yield temporary
            for file in temporary.iterdir():
                sync(file)
            sync(temporary)
            if path.is_dir():
                path.rmdir()
            temporary.rename(path)
            sync(path.parent)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
