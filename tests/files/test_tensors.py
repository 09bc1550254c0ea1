"""Tensors on disk."""

import os
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from headwise.errors import CheckpointError
from headwise.files import tables
from headwise.files.atomic import remove_unfinished
from headwise.files.tables import check_format
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
        assert file.metadata().keys() == {"headwise"}
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
        newer.setattr(tables, "FORMAT", 2)
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


def test_equal_tensors_give_equal_files(tmp_path: Path) -> None:
    """In every process: safetensors writes the keys of its metadata in an order that differs from call to call."""
    contents = set()
    for number in range(8):
        path = tmp_path / f"{number}.safetensors"
        save_tensors(path, TENSORS)
        contents.add(path.read_bytes())
    assert len(contents) == 1


def test_tensors_outlive_a_file_that_is_overwritten_in_place(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    save_tensors(path, {"a": torch.ones(100_000)})
    loaded = load_tensors(path)["a"]
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
    assert torch.equal(loaded, torch.ones(100_000))
    os.truncate(path, 0)
    assert torch.equal(loaded, torch.ones(100_000))


@pytest.mark.parametrize("header", ["", "[]", "{}", '{"format": 1}', '{"digest": ""}', "[" * 100_000])
def test_a_damaged_header_is_refused(tmp_path: Path, header: str) -> None:
    path = tmp_path / "some.safetensors"
    save_file({"a": torch.ones(2)}, path, metadata={"headwise": header})
    with pytest.raises(CheckpointError, match=r"some\.safetensors"):
        load_tensors(path)
