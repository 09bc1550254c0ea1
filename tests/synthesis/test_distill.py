"""`headwise.distill`: a small model from a large one, in one call."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

import headwise
from headwise.errors import ConfigError
from headwise.models.folder.load import save_model
from headwise.synthesis.teacher_translations import translate_sources
from tests.commands import lines_file
from tests.taught import PAIRS, taught

STUDENT: dict[str, Any] = {
    "preset": "tiny",
    "steps": 2,
    "device": "cpu",
    "vocabulary": 350,
    "settings": {"model.width": 16, "train.batch_tokens": 256, "train.validate_bleu": False},
}


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "en-de"
    save_model(folder, taught())
    return folder


def test_one_call(teacher: Path, tmp_path: Path) -> None:
    pairs = lines_file(tmp_path / "pairs.tsv", [f"{source}\t{target}" for source, target in PAIRS])
    notes = list[str]()
    result = headwise.distill(
        teacher, pairs=pairs, out=tmp_path / "out", beam=1, teacher_device="cpu", say=notes.append, **STUDENT
    )
    assert result.outcome is not None
    assert result.comparison is not None
    assert not result.stopped
    assert headwise.Translator(tmp_path / "out", device="cpu").directions == (("en", "de"),)
    assert not any("cut off" in note for note in notes)


def test_translations_that_were_cut_off_are_named(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are left out, and not called pairs with an empty side."""
    pairs = lines_file(tmp_path / "pairs.tsv", [f"{source}\t{target}" for source, target in PAIRS])
    notes = list[str]()

    def short(teacher: Any, data: Any, chosen: Any, paths: Any, options: Any, control: Any) -> bool:
        from dataclasses import replace

        return translate_sources(teacher, data, chosen, paths, replace(options, max_ratio=0.0, max_extra=8), control)

    monkeypatch.setattr("headwise.synthesis.distill.translate_sources", short)
    with contextlib.suppress(headwise.HeadwiseError):  # too few may be left to train on
        headwise.distill(teacher, pairs=pairs, out=tmp_path / "out", beam=1, say=notes.append, **STUDENT)
    [note] = [note for note in notes if "cut off at the length limit and are not used" in note]
    assert "of 26 translations" in note
    assert not any("empty side" in note for note in notes)


def test_what_cannot_be(teacher: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no output folder"):
        headwise.distill(teacher, pairs="x.tsv")
    with pytest.raises(ConfigError, match="nothing to translate"):
        headwise.distill(teacher, out=tmp_path / "out")
    loaded = headwise.Translator(taught(), device="cpu")
    pairs = lines_file(tmp_path / "x.tsv", ["a\tb"])
    with pytest.raises(ConfigError, match="must be a model folder"):
        headwise.distill(loaded, pairs=pairs, out=tmp_path / "out")
