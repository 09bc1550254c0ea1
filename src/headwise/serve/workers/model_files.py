"""The files of a model as seen from outside: their size, and a version that changes whenever they do."""

from __future__ import annotations

from pathlib import Path

from headwise.files.digest import bytes_digest

INSIDE = ("", "int8")
"""Folders whose files make up a model: its own, and that of its int8 version."""


def files_of(folder: Path) -> list[Path]:
    """The files of a model, without the checkpoints and data of a training run."""
    if folder.is_file():
        return [folder]
    places = [folder / inside for inside in INSIDE if (folder / inside).is_dir()]
    return sorted(path for place in places for path in place.iterdir() if path.is_file())


def size_of(folder: Path) -> int:
    """Bytes of a model on disk."""
    return sum(path.stat().st_size for path in files_of(folder))


def version_of(folder: Path) -> str:
    """A string that changes when a file of the model is replaced, changed, added or removed."""
    states = []
    for path in files_of(folder):
        state = path.stat()
        states.append(f"{path} {state.st_mtime_ns} {state.st_size} {state.st_ino}")
    return bytes_digest("\n".join(states).encode("utf-8", "surrogateescape"))[:16]
