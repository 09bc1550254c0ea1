"""Folders that appear whole, and their manifests."""

import json
import os
from pathlib import Path

import pytest
import torch

from headwise.errors import CheckpointError
from headwise.files.atomic import write_text
from headwise.files.folder import check_manifest, whole_folder, write_manifest
from headwise.files.tensors import save_tensors

TENSORS = {"a": torch.randn(3, 4)}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder"
    with whole_folder(path) as folder:
        write_text(folder / "a.txt", "a")
        save_tensors(folder / "b.safetensors", TENSORS)
        write_manifest(folder)
        assert not path.exists()
    check_manifest(path)
    assert names(path) == ["a.txt", "b.safetensors", "manifest.json"]
    assert names(tmp_path / "deep") == ["folder"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_a_folder_that_failed_leaves_nothing_and_the_old_one_alone(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "folder"
    with whole_folder(path) as folder:
        write_text(folder / "a.txt", "old")

    def fail() -> None:
        with whole_folder(path, replace=True) as folder:
            write_text(folder / "a.txt", "new")
            raise error

    with pytest.raises(CheckpointError if error is OSError else error):
        fail()
    assert (path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["folder"]


def test_what_an_earlier_attempt_left_does_not_get_in(tmp_path: Path) -> None:
    left = tmp_path / f".folder.{os.getpid()}.writing"
    left.mkdir()
    (left / "stale.txt").write_text("x")
    with whole_folder(tmp_path / "folder") as folder:
        write_text(folder / "a.txt", "a")
    assert names(tmp_path / "folder") == ["a.txt"]


def test_only_an_empty_folder_is_replaced_unless_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with whole_folder(path) as folder:
        write_text(folder / "a.txt", "a")
    with pytest.raises(CheckpointError, match="not empty"), whole_folder(path) as folder:
        write_text(folder / "b.txt", "b")
    assert names(path) == ["a.txt"]
    with whole_folder(path, replace=True) as folder:
        write_text(folder / "b.txt", "b")
    assert names(path) == ["b.txt"]
    assert names(tmp_path) == ["folder"]


def test_a_changed_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    def make() -> None:
        with whole_folder(path, replace=True) as folder:
            write_text(folder / "a.txt", "a")
            save_tensors(folder / "b.safetensors", TENSORS)
            write_manifest(folder)

    make()
    (path / "a.txt").write_text("b")
    with pytest.raises(CheckpointError, match=r"a\.txt: damaged or altered"):
        check_manifest(path)
    make()
    (path / "b.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"b\.safetensors is missing"):
        check_manifest(path)
    make()
    (path / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"manifest\.json: missing"):
        check_manifest(path)
    make()
    (path / "manifest.json").write_text(json.dumps({"format": 1, "files": 3}))
    with pytest.raises(CheckpointError, match=r"manifest\.json: damaged"):
        check_manifest(path)


def test_files_in_folders_of_a_folder_are_checked_too(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.bin").write_bytes(b"some bytes")
    (tmp_path / "b.bin").write_bytes(b"")
    write_manifest(tmp_path)
    check_manifest(tmp_path)
    (tmp_path / "deep" / "a.bin").write_bytes(b"some bites")
    with pytest.raises(CheckpointError, match=r"deep/a\.bin: damaged or altered"):
        check_manifest(tmp_path)
    (tmp_path / "deep" / "a.bin").unlink()
    with pytest.raises(CheckpointError, match=r"deep/a\.bin is missing"):
        check_manifest(tmp_path)
    for content in ("", "[]", "{}", "{"):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(CheckpointError, match=r"manifest\.json: damaged"):
            check_manifest(tmp_path)
