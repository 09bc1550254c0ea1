"""Exporting by command: what is refused, and that nothing is ever left half-made."""

import errno
import importlib.util
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from headwise.errors import CheckpointError
from headwise.models.export.export import export, whole_folder
from headwise.models.folder.load import save_model
from tests.commands import Capture, contents, ok, wrong
from tests.kinds import classifier, encoder, language_model
from tests.taught import taught

for package in ("ctranslate2", "onnx"):
    pytest.importorskip(package, reason=f"{package} is an optional dependency (export)")

TARGETS = ("ctranslate2", "onnx")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", taught(steps=0))
    return tmp_path / "model"


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_a_command(model: Path, to: str, precision: str, capsys: Capture) -> None:
    target = model.parent / "deep" / "exported"
    assert "README.md" in ok(capsys, "convert", model, target, "--to", to, "--precision", precision)
    assert precision in (target / "README.md").read_text()
    assert [path.name for path in target.parent.iterdir()] == ["exported"]


@pytest.mark.parametrize("to", TARGETS)
def test_what_is_there_stays(model: Path, to: str, capsys: Capture) -> None:
    full, empty, file = model.parent / "full", model.parent / "empty", model.parent / "file"
    for folder in (full, empty):
        folder.mkdir()
    (full / "notes").write_text("precious")
    file.write_text("precious")
    for place in (full, file, model):
        before = contents(model.parent)
        assert "is there already" in wrong(capsys, "convert", model, place, "--to", to)
        assert contents(model.parent) == before
    ok(capsys, "convert", model, empty, "--to", to)
    assert (empty / "translate.py").is_file()


@pytest.mark.parametrize("to", TARGETS)
def test_a_missing_package_is_named(model: Path, to: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    said = wrong(capsys, "convert", model, model.parent / "out", "--to", to)
    assert f"needs the package {to}: pip install 'headwise[export]'" in said


@pytest.mark.parametrize(("to", "other"), [TARGETS, TARGETS[::-1]])
def test_a_target_needs_its_own_package_alone(model: Path, to: str, other: str) -> None:
    code = (
        f"import sys; sys.modules[{other!r}] = None; from headwise.cli import main; "
        f"sys.exit(main(['convert', {str(model)!r}, {str(model.parent / 'out')!r}, '--to', {to!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (model.parent / "out" / "README.md").is_file()


def test_models_that_do_something_else(tmp_path: Path, capsys: Capture) -> None:
    for name, loaded in {"classify": classifier(), "masked_lm": encoder(), "causal_lm": language_model()}.items():
        save_model(tmp_path / name, loaded)
        said = wrong(capsys, "convert", tmp_path / name, tmp_path / "out", "--to", "onnx")
        assert f"is for {name}: --to onnx takes models for translation" in said
    said = wrong(capsys, "convert", tmp_path / "classify", tmp_path / "out", "--to", "ctranslate2")
    assert "takes models for translation or causal_lm" in said
    assert not (tmp_path / "out").exists()


def test_options_that_do_not_belong_together(model: Path, capsys: Capture) -> None:
    start = ["convert", model, model.parent / "out", "--to"]
    for to, precision in (("headwise", "float16"), ("huggingface", "int8")):
        assert "ctranslate2 or onnx, not --to" in wrong(capsys, *start, to, "--precision", precision)
    for to in ("onnx", "headwise"):
        assert f"--to {to} has none" in wrong(capsys, *start, to, "--as", "marian")
    assert not (model.parent / "out").exists()


@pytest.mark.parametrize("to", TARGETS)
def test_a_write_that_the_system_refuses_leaves_nothing(model: Path, to: str) -> None:
    """A limit on the size of files stops the writer in the middle, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(CheckpointError, match=r"could not write .*exported.*too large"):
            export(model, model.parent / "exported", to)
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
