"""The pool of loaded models: bounded, least recently used first, opened anew when files change."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from headwise.serve.workers.model_files import version_of
from headwise.serve.workers.model_pool import ModelPool


@dataclass
class Opened:
    folder: Path
    closed: bool = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in "abc"]
    for folder in made:
        folder.mkdir()
        (folder / "weights").write_bytes(b"x" * 100)
    return made


def test_the_least_recently_used_is_closed_first(folders: list[Path]) -> None:
    pool = ModelPool(Opened, 250)
    a, b = (pool.get(folder, "1") for folder in folders[:2])
    assert pool.get(folders[0], "1") is a
    pool.get(folders[2], "1")
    assert (a.closed, b.closed) == (False, True)
    assert pool.bytes == 200


def test_a_model_beyond_the_limit_is_loaded_alone(folders: list[Path]) -> None:
    pool = ModelPool(Opened, 50)
    first, second = pool.get(folders[0], "1"), pool.get(folders[1], "1")
    assert first.closed
    assert not second.closed
    assert len(pool) == 1


def test_another_version_is_opened_anew(folders: list[Path]) -> None:
    pool = ModelPool(Opened, 250)
    old, new = pool.get(folders[0], "1"), pool.get(folders[0], "2")
    assert old.closed
    assert not new.closed


def test_idle_models_are_closed(folders: list[Path]) -> None:
    now = 0.0
    pool = ModelPool(Opened, 1e6, lambda: now)
    first = pool.get(folders[0], "1")
    now = 50.0
    second = pool.get(folders[1], "1")
    now = 100.0
    pool.close_idle(60)
    assert (first.closed, second.closed) == (True, False)


def test_the_version_changes_with_the_files(folders: list[Path]) -> None:
    folder = folders[0]
    versions = [version_of(folder)]
    assert version_of(folder) == versions[0]
    (folder / "weights").write_bytes(b"y" * 101)
    versions.append(version_of(folder))
    (folder / "more").touch()
    versions.append(version_of(folder))
    (folder / "int8").mkdir()
    (folder / "int8" / "weights").touch()
    versions.append(version_of(folder))
    assert len(set(versions)) == 4
