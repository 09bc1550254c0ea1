"""Exporting by command: what is refused, and that nothing is ever left half-made."""

import errno
import importlib.util
import os
import resource
from pathlib import Path

import pytest

from headwise.errors import CheckpointError
from headwise.models.export.export import export, whole_folder
from headwise.models.folder.load import save_model
from tests.commands import Capture, contents, ok, wrong
from tests.kinds import classifier, encoder
from tests.taught import taught

pytest.importorskip("ctranslate2", reason="CTranslate2 is an optional dependency (export)")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", taught(steps=0))
    return tmp_path / "model"


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_a_command(model: Path, precision: str, capsys: Capture) -> None:
    target = model.parent / "deep" / "exported"
    assert "README.md" in ok(capsys, "convert", model, target, "--to", "ctranslate2", "--precision", precision)
    assert precision in (target / "README.md").read_text()
    assert [path.name for path in target.parent.iterdir()] == ["exported"]


def test_what_is_there_stays(model: Path, capsys: Capture) -> None:
    full, empty, file = model.parent / "full", model.parent / "empty", model.parent / "file"
    for folder in (full, empty):
        folder.mkdir()
    (full / "notes").write_text("precious")
    file.write_text("precious")
    for place in (full, file, model):
        before = contents(model.parent)
        assert "exists already" in wrong(capsys, "convert", model, place, "--to", "ctranslate2")
        assert contents(model.parent) == before
    ok(capsys, "convert", model, empty, "--to", "ctranslate2")
    assert (empty / "translate.py").is_file()


def test_a_missing_package_is_named(model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    said = wrong(capsys, "convert", model, model.parent / "out", "--to", "ctranslate2")
    assert "needs CTranslate2: pip install 'headwise[export]'" in said


def test_models_that_do_something_else(tmp_path: Path, capsys: Capture) -> None:
    for name, loaded in {"classify": classifier(), "masked_lm": encoder()}.items():
        save_model(tmp_path / name, loaded)
        said = wrong(capsys, "convert", tmp_path / name, tmp_path / "out", "--to", "ctranslate2")
        assert f"a model for {name}, but --to ctranslate2 is for translation and causal_lm" in said
    assert not (tmp_path / "out").exists()


def test_options_that_do_not_belong_together(model: Path, capsys: Capture) -> None:
    start = ["convert", model, model.parent / "out", "--to"]
    for to, precision in (("headwise", "float16"), ("huggingface", "int8")):
        assert "ctranslate2, not --to" in wrong(capsys, *start, to, "--precision", precision)
    for to in ("ctranslate2", "headwise"):
        assert f"--as applies only to --to huggingface, not to --to {to}" in wrong(capsys, *start, to, "--as", "marian")
    assert not (model.parent / "out").exists()


def test_a_write_that_the_system_refuses_leaves_nothing(model: Path) -> None:
    """A limit on the size of files stops the writer in the middle, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(CheckpointError, match=r"could not write .*exported.*too large"):
            export(model, model.parent / "exported")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in model.parent.iterdir()] == ["model"]


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="disk is full"), whole_folder(tmp_path / "out") as folder:
        (folder / "file").write_text("content")
    assert not list(tmp_path.iterdir())
