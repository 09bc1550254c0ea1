"""Atomic writes, and full disks."""

import errno
import itertools
import os
import resource
from pathlib import Path

import pytest
import torch

from headwise.errors import CheckpointError, StoppedError
from headwise.files import atomic
from headwise.files.atomic import (
    DiskFullError,
    disk_errors,
    move,
    remove_unfinished,
    sync,
    write_text,
    write_when_there_is_room,
)
from headwise.files.folder import whole_folder
from headwise.files.tensors import load_tensors, save_tensors

TENSORS = {
    "float": torch.randn(3, 4),
    "half": torch.randn(5).to(torch.bfloat16),
    "bytes": torch.arange(7, dtype=torch.uint8),
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
    "special": torch.tensor([float("nan"), float("inf"), -0.0]),
    "transposed": torch.randn(4, 6).T,
}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_errors_of_the_disk_say_what_could_not_be_written(tmp_path: Path) -> None:
    full = r"could not write .*: the disk is full; what was saved before is untouched"
    with pytest.raises(CheckpointError, match=full), disk_errors(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(CheckpointError, match=r"could not write .*: Permission denied"), disk_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_text(tmp_path / "a.txt", "old")
    save_tensors(tmp_path / "b.safetensors", TENSORS)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(CheckpointError, match=r"a\.txt: the disk is full"):
            write_text(tmp_path / "a.txt", "new")
        with pytest.raises(CheckpointError, match=r"b\.safetensors: the disk is full"):
            save_tensors(tmp_path / "b.safetensors", {"a": torch.ones(1)})
    assert (tmp_path / "a.txt").read_text() == "old"
    assert load_tensors(tmp_path / "b.safetensors").keys() == TENSORS.keys()
    assert names(tmp_path) == ["a.txt", "b.safetensors"]


def test_a_rename_that_is_refused_for_a_moment_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A virus scanner on Windows has the new file open."""
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    refusals, replace = iter(range(3)), Path.replace

    def busy(source: Path, target: Path) -> Path:
        if next(refusals, None) is not None:
            raise PermissionError(errno.EACCES, "in use")
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", busy)
    with pytest.raises(PermissionError):  # elsewhere there is nothing to wait for
        move(tmp_path / "new", tmp_path / "old")
    monkeypatch.setattr(atomic, "RENAME_PATIENCE", 5.0)
    move(tmp_path / "new", tmp_path / "old")
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "new"
    monkeypatch.setattr(atomic, "RENAME_PATIENCE", 0.05)
    refusals = iter(range(10_000))
    with pytest.raises(CheckpointError, match=r"could not write .*old: in use"):
        write_text(tmp_path / "old", "newer")
    assert names(tmp_path) == ["old"]


def test_files_are_synced_as_each_system_wants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows syncs only what may be written, and does not open folders."""
    (tmp_path / "file").write_text("x")
    opened, real = list[int](), os.open

    def noted(path: Path, flags: int) -> int:
        opened.append(flags)
        return real(path, flags)

    monkeypatch.setattr(os, "open", noted)
    sync(tmp_path / "file")
    sync(tmp_path)
    with monkeypatch.context() as windows:
        windows.setattr(atomic.os, "name", "nt")
        sync(tmp_path / "file")
    assert opened == [os.O_RDONLY, os.O_RDONLY, os.O_RDWR]


def test_a_write_that_the_system_really_refuses(tmp_path: Path) -> None:
    """A limit on the size of files stops the writer in the middle, as a full disk does."""

    def fill(path: Path) -> None:
        with whole_folder(path) as folder:
            save_tensors(folder / "small.safetensors", TENSORS)
            save_tensors(folder / "big.safetensors", {"a": torch.ones(100_000)})

    save_tensors(tmp_path / "old.safetensors", TENSORS)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(CheckpointError, match=r"could not write .*big\.safetensors"):
            save_tensors(tmp_path / "big.safetensors", {"a": torch.ones(100_000)})
        with pytest.raises(CheckpointError, match=r"could not write .*: .*too large"):
            write_text(tmp_path / "big.txt", "x" * 100_000)
        with pytest.raises(CheckpointError, match="could not write"):
            fill(tmp_path / "folder")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == ["old.safetensors"]
    load_tensors(tmp_path / "old.safetensors")


def test_a_run_waits_while_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "LOOK_EVERY", 0.001)
    left, said = iter([True, True, False]), list[str]()

    def write() -> str:
        with disk_errors(Path("somewhere")):
            if next(left):
                raise OSError(errno.EDQUOT, "Disk quota exceeded")
        return "written"

    assert write_when_there_is_room(write, said.append) == "written"
    assert ["Waiting for room" in said[0], "room on the disk again" in said[1], len(said)] == [True, True, 2]


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "LOOK_EVERY", 0.001)
    monkeypatch.setattr(atomic, "PATIENCE", 0.02)

    def write() -> None:
        with disk_errors(Path("somewhere")):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskFullError, match=r"could not write somewhere: the disk is full.*Make room"):
        write_when_there_is_room(write, lambda text: None)


@pytest.mark.parametrize("looks", [0, 3])
def test_one_who_is_asked_to_stop_does_not_wait(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """Asked before, or meanwhile."""
    monkeypatch.setattr(atomic, "LOOK_EVERY", 0.001)
    asked = itertools.count()

    def write() -> None:
        with disk_errors(Path("somewhere")):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StoppedError, match=r"while the disk was full.*the same command goes on"):
        write_when_there_is_room(write, lambda text: None, lambda: next(asked) >= looks)


def test_other_errors_are_not_waited_out() -> None:
    def write() -> None:
        with disk_errors(Path("somewhere")):
            raise OSError(errno.EROFS, "Read-only file system")

    with pytest.raises(CheckpointError, match="Read-only"):
        write_when_there_is_room(write, lambda text: None)


def test_what_was_being_written_is_removed(tmp_path: Path) -> None:
    for name in (".model.safetensors.12.writing", "kept.json", ".hidden"):
        (tmp_path / name).write_text("x")
    (tmp_path / ".step-00000003.writing").mkdir()
    (tmp_path / ".step-00000003.writing" / "a").write_text("x")
    remove_unfinished(tmp_path)
    remove_unfinished(tmp_path / "none")
    assert names(tmp_path) == [".hidden", "kept.json"]
