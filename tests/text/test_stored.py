"""The files of a tokenizer, whole and damaged."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from headwise.errors import CheckpointError
from headwise.files.tables import FORMAT, read_table, write_table
from headwise.text.kinds import load_tokenizer
from headwise.text.stored import Parts, write_parts
from headwise.text.tokenizer import Tokenizer


@pytest.fixture
def saved(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> Path:
    tokenizers["unigram"].save(tmp_path)
    return tmp_path


def test_a_folder_holds_the_two_files_and_nothing_else(saved: Path) -> None:
    assert sorted(path.name for path in saved.iterdir()) == ["tokenizer.json", "tokenizer.model"]


def test_saving_another_kind_leaves_no_old_model(saved: Path, tokenizers: dict[str, Tokenizer]) -> None:
    tokenizers["words"].save(saved)
    assert [path.name for path in saved.iterdir()] == ["tokenizer.json"]
    assert load_tokenizer(saved) == tokenizers["words"]


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model"])
def test_a_missing_file(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name}: missing"):
        load_tokenizer(saved)


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: missing"):
        load_tokenizer(tmp_path / "nowhere")


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"null", b"\xff\xfe", b"[" * 100_000, b"1" * 5_000])
def test_json_that_is_no_tokenizer(saved: Path, content: bytes) -> None:
    (saved / "tokenizer.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: damaged"):
        load_tokenizer(saved)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_half_a_model(saved: Path, share: float) -> None:
    path = saved / "tokenizer.model"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CheckpointError, match=r"tokenizer\.model: damaged"):
        load_tokenizer(saved)


def test_a_model_of_another_tokenizer(saved: Path, tokenizers: dict[str, Tokenizer]) -> None:
    (saved / "tokenizer.model").write_bytes(tokenizers["bpe"].parts.model)
    with pytest.raises(CheckpointError, match="does not match its digest"):
        load_tokenizer(saved)


@pytest.mark.parametrize("key", ["kind", "languages", "vocabulary", "files", "digest"])
@pytest.mark.parametrize("value", [None, 3, [1], "other", ["other"], ""])
def test_a_changed_field(saved: Path, key: str, value: object) -> None:
    path = saved / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), key: value}))
    with pytest.raises(CheckpointError, match="damaged"):
        load_tokenizer(saved)


@pytest.mark.parametrize(
    "change",
    [{"kind": None}, {"kind": [1]}, {"vocabulary": 3}, {"settings": [1]}, {"files": "a"}, {"files": {"../a": ""}}],
)
def test_a_strange_field_with_the_right_digest(saved: Path, change: dict[str, Any]) -> None:
    path = saved / "tokenizer.json"
    write_table(path, {**read_table(path), **change})
    with pytest.raises(CheckpointError, match="tokenizer"):
        load_tokenizer(saved)


def test_a_newer_format(saved: Path) -> None:
    path = saved / "tokenizer.json"
    write_table(path, {**read_table(path), "format": FORMAT + 1, "surprise": True})
    with pytest.raises(CheckpointError, match="newer Headwise"):
        load_tokenizer(saved)


def test_an_unknown_kind(tmp_path: Path) -> None:
    write_parts(tmp_path, "morphemes", Parts())
    with pytest.raises(CheckpointError, match=r"'morphemes'.*unigram"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("model", [b"no model", b""])
def test_a_model_that_sentencepiece_cannot_read(tmp_path: Path, model: bytes) -> None:
    write_parts(tmp_path, "unigram", Parts(("de",), model=model))
    with pytest.raises(CheckpointError, match="SentencePiece model"):
        load_tokenizer(tmp_path)


def test_a_model_with_other_tags(tmp_path: Path, tokenizers: dict[str, Tokenizer]) -> None:
    write_parts(tmp_path, "unigram", Parts(("fr", "it", "es"), model=tokenizers["unigram"].parts.model))
    with pytest.raises(CheckpointError, match="special tokens that do not match"):
        load_tokenizer(tmp_path)


def test_a_write_that_fails_leaves_the_old_files(
    saved: Path, tokenizers: dict[str, Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="the disk is full"):
        tokenizers["bpe"].save(saved)
    monkeypatch.undo()
    assert sorted(path.name for path in saved.iterdir()) == ["tokenizer.json", "tokenizer.model"]
    assert load_tokenizer(saved) == tokenizers["unigram"]
