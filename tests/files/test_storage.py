"""Files that are whole or not there."""

import errno
import itertools
import json
import os
import resource
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from headwise.errors import CheckpointError, DataError, StoppedError
from headwise.files import storage
from headwise.files.atomic import DiskFullError, disk_errors, remove_unfinished, write_json, write_text
from headwise.files.seal import check_seal, seal
from headwise.files.storage import (
    check_folder,
    check_format,
    load_tensors,
    new_folder,
    read_json,
    read_table,
    save_tensors,
    write_table,
    write_when_there_is_room,
)

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


def test_tensors_come_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    save_tensors(path, TENSORS)
    back = load_tensors(path)
    assert back.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert (back[name].dtype, back[name].shape) == (tensor.dtype, tensor.shape)
        ours, theirs = (each.contiguous().reshape(-1).view(torch.uint8) for each in (back[name], tensor))
        assert torch.equal(ours, theirs)
    with safe_open(path, framework="pt") as file:
        assert file.metadata().keys() == {"format", "digest"}
    assert names(tmp_path) == ["some.safetensors"]


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    tensors = {"a": torch.randn(2, 3), "b": torch.randn(2)}
    save_tensors(path, tensors)
    content, refused = path.read_bytes(), 0
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1
        path.write_bytes(changed)
        try:
            found = load_tensors(path)
        except CheckpointError:
            refused += 1
        else:  # a space of the header: nothing is lost with it
            assert found.keys() == tensors.keys()
            assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())
    assert refused > 0.9 * len(content)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 100, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "some.safetensors"
    save_tensors(path, TENSORS)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CheckpointError, match=r"some\.safetensors: (truncated or )?damaged"):
        load_tensors(path)


def test_a_file_without_a_digest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"a": torch.ones(2)}, path)
    with pytest.raises(CheckpointError, match="digest"):
        load_tensors(path)


def test_a_missing_file_and_a_folder_in_its_place_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"none\.safetensors: missing"):
        load_tensors(tmp_path / "none.safetensors")
    with pytest.raises(CheckpointError, match=str(tmp_path)):
        load_tensors(tmp_path)


def test_a_newer_format_is_told_from_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.safetensors"
    with monkeypatch.context() as newer:
        newer.setattr(storage, "FORMAT", 2)
        save_tensors(path, TENSORS)
    with pytest.raises(CheckpointError, match=r"newer Headwise \(format 2, this one reads up to 1\): upgrade"):
        load_tensors(path)
    with pytest.raises(CheckpointError, match="newer Headwise"):
        check_format(path, {"format": 2})
    for described in ({}, [], None, {"format": "1"}):
        with pytest.raises(CheckpointError, match="names no format"):
            check_format(path, described)
    check_format(path, {"format": 1})


def test_what_a_kill_leaves_of_tensors_is_known_as_unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """safetensors writes under names of its own."""

    class Killed(BaseException):
        pass

    def killed(content: dict[str, torch.Tensor], path: Path, metadata: dict[str, str]) -> None:
        (path.parent / ".tmpA1b2C3").touch()
        raise Killed

    monkeypatch.setattr("safetensors.torch.save_file", killed)
    monkeypatch.setattr("shutil.rmtree", lambda *given, **how: None)  # a killed process removes nothing
    with pytest.raises(Killed):
        save_tensors(tmp_path / "a.safetensors", {"a": torch.ones(2)})
    assert len(list(tmp_path.rglob("*"))) == 2, "a folder, and the library's file in it"
    monkeypatch.undo()
    remove_unfinished(tmp_path)
    assert not list(tmp_path.iterdir())


def test_text_and_json_come_back(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    value = {"text": "Größe 窓 שלום", "list": [1, 2.5, None, True], "third": 1 / 3}
    write_json(path, value)
    assert read_json(path) == value
    write_text(path, "[]")
    assert read_json(path) == []
    assert names(tmp_path) == ["some.json"]


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe", b'{"a": 1} x'])
def test_damaged_json_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "some.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"some\.json: damaged"):
        read_json(tmp_path / "some.json")
    with pytest.raises(CheckpointError, match=r"other\.json: missing"):
        read_json(tmp_path / "other.json")


# --- folders -------------------------------------------------------------------------------------------


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder"
    with new_folder(path) as folder:
        write_text(folder / "a.txt", "a")
        save_tensors(folder / "b.safetensors", TENSORS)
        assert not path.exists()
    check_folder(path)
    assert names(path) == ["a.txt", "b.safetensors", "manifest.json"]
    assert names(tmp_path / "deep") == ["folder"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_a_folder_that_failed_leaves_nothing_and_the_old_one_alone(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "folder"
    with new_folder(path) as folder:
        write_text(folder / "a.txt", "old")

    def fail() -> None:
        with new_folder(path) as folder:
            write_text(folder / "a.txt", "new")
            raise error

    with pytest.raises(CheckpointError if error is OSError else error):
        fail()
    check_folder(path)
    assert (path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["folder"]


def test_what_an_earlier_attempt_left_does_not_get_in(tmp_path: Path) -> None:
    (tmp_path / ".folder.writing").mkdir()
    (tmp_path / ".folder.writing" / "stale.txt").write_text("x")
    with new_folder(tmp_path / "folder") as folder:
        write_text(folder / "a.txt", "a")
    assert names(tmp_path / "folder") == ["a.txt", "manifest.json"]


def test_a_changed_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    def make() -> None:
        with new_folder(path) as folder:
            write_text(folder / "a.txt", "a")
            save_tensors(folder / "b.safetensors", TENSORS)

    make()
    (path / "a.txt").write_text("b")
    with pytest.raises(CheckpointError, match=r"a\.txt: damaged or altered"):
        check_folder(path)
    make()
    (path / "b.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"b\.safetensors is missing"):
        check_folder(path)
    make()
    (path / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"manifest\.json: missing"):
        check_folder(path)
    make()
    (path / "manifest.json").write_text(json.dumps({"format": 1, "files": 3}))
    with pytest.raises(CheckpointError, match=r"manifest\.json: damaged"):
        check_folder(path)


# --- a full disk ---------------------------------------------------------------------------------------


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


def test_a_write_that_the_system_really_refuses(tmp_path: Path) -> None:
    """A limit on the size of files stops the writer in the middle, as a full disk does."""

    def fill(path: Path) -> None:
        with new_folder(path) as folder:
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
    monkeypatch.setattr(storage, "LOOK_EVERY", 0.001)
    left, said = iter([True, True, False]), list[str]()

    def write() -> str:
        with disk_errors(Path("somewhere")):
            if next(left):
                raise OSError(errno.EDQUOT, "Disk quota exceeded")
        return "written"

    assert write_when_there_is_room(write, said.append) == "written"
    assert ["Waiting for room" in said[0], "room on the disk again" in said[1], len(said)] == [True, True, 2]


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LOOK_EVERY", 0.001)
    monkeypatch.setattr(storage, "PATIENCE", 0.02)

    def write() -> None:
        with disk_errors(Path("somewhere")):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskFullError, match=r"could not write somewhere: the disk is full.*Make room"):
        write_when_there_is_room(write, lambda text: None)


@pytest.mark.parametrize("looks", [0, 3])
def test_one_who_is_asked_to_stop_does_not_wait(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """Asked before, or meanwhile."""
    monkeypatch.setattr(storage, "LOOK_EVERY", 0.001)
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


def test_a_table_is_told_from_a_changed_one(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    write_table(path, {"rate": 0.001, "words": ["ä"]})
    assert read_table(path) == {"rate": 0.001, "words": ["ä"]}
    path.write_text(path.read_text().replace("0.001", "0.003"))
    with pytest.raises(CheckpointError, match=r"some\.json: damaged or altered"):
        read_table(path)
    path.write_text('{"rate": 1}')  # as it was before there were digests
    assert read_table(path) == {"rate": 1}


def test_a_sealed_folder_is_told_from_a_changed_one(tmp_path: Path) -> None:
    check_seal(tmp_path)  # none: as it was before there were seals
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.bin").write_bytes(b"some bytes")
    (tmp_path / "b.bin").write_bytes(b"")
    seal(tmp_path)
    check_seal(tmp_path)
    (tmp_path / "deep" / "a.bin").write_bytes(b"some bites")
    with pytest.raises(DataError, match=r"deep/a\.bin: damaged or altered"):
        check_seal(tmp_path)
    (tmp_path / "deep" / "a.bin").unlink()
    with pytest.raises(DataError, match=r"deep/a\.bin: cannot be read: No such file"):
        check_seal(tmp_path)
    for content in ("", "[]", "{}", "{"):
        (tmp_path / "digests.json").write_text(content)
        with pytest.raises(DataError, match=r"digests\.json: damaged"):
            check_seal(tmp_path)


def test_what_was_being_written_is_removed(tmp_path: Path) -> None:
    for name in (".model.safetensors.12.writing", "kept.json", ".hidden"):
        (tmp_path / name).write_text("x")
    (tmp_path / ".step-00000003.writing").mkdir()
    (tmp_path / ".step-00000003.writing" / "a").write_text("x")
    remove_unfinished(tmp_path)
    remove_unfinished(tmp_path / "none")
    assert names(tmp_path) == [".hidden", "kept.json"]
