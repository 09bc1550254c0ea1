"""JSON tables with digests."""

from pathlib import Path

import pytest

from headwise.errors import CheckpointError
from headwise.files.atomic import write_json, write_text
from headwise.files.tables import read_json, read_table, write_table


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_and_json_come_back(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    value = {"text": "Größe 窓 שלום", "list": [1, 2.5, None, True], "third": 1 / 3}
    write_json(path, value)
    assert read_json(path) == value
    write_text(path, "[]")
    assert read_json(path) == []
    assert names(tmp_path) == ["some.json"]


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe", b'{"a": 1} x', b"[" * 100_000, b"1" * 5_000])
def test_damaged_json_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "some.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"some\.json: damaged"):
        read_json(tmp_path / "some.json")
    with pytest.raises(CheckpointError, match=r"other\.json: missing"):
        read_json(tmp_path / "other.json")


def test_a_table_is_told_from_a_changed_one(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    write_table(path, {"rate": 0.001, "words": ["ä"]})
    assert read_table(path) == {"rate": 0.001, "words": ["ä"]}
    path.write_text(path.read_text().replace("0.001", "0.003"))
    with pytest.raises(CheckpointError, match=r"some\.json: damaged or altered"):
        read_table(path)
    path.write_text('{"rate": 1}')
    with pytest.raises(CheckpointError, match=r"some\.json: damaged or altered"):
        read_table(path)
