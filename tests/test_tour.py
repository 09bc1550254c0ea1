"""The tour names files, code and tests; they have to be there."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import headwise
from tests.taught import PAIRS

KNOWN = ("I ate an apple.", "Ich aß einen Apfel.")
SCRIPT = Path(__file__).parent.parent / "docs" / "make_tour.py"


@pytest.fixture
def make_tour() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_tour", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_that_the_tour_names_is_there(make_tour: ModuleType) -> None:
    assert make_tour.check() == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("`test_is_the_formula`", "`test_is_no_formula`", "no test_is_no_formula in ../tests/train/step/test_loss.py"),
        ("`PostNorm`", "`PastNorm`", "no PastNorm in ../src/headwise/nn/norms.py"),
        ("../src/headwise/nn/masks.py", "../src/headwise/nn/mask.py", "no file ../src/headwise/nn/mask.py"),
        ("(#13-linear)", "(#13-liner)", "no section #13-liner"),
        ("(tour/warmup.png)", "(tour/warm.png)", "picture tour/warmup.png is in no section"),
        ("**Test** [test_plain.py]", "[test_plain.py]", "section '14. Softmax' has no test"),
        ("In training the right", "In training the wrong", "tour.md is older than tour.template.md"),
    ],
)
def test_what_is_missing_is_told(
    make_tour: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, problem: str
) -> None:
    text = make_tour.TOUR.read_text("utf-8")
    assert old in text
    broken = tmp_path / "tour.md"
    broken.write_text(text.replace(old, new), "utf-8")
    monkeypatch.setattr(make_tour, "TOUR", broken)
    assert problem in make_tour.check()


def test_the_tour_of_any_small_run_can_be_made(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{source}\t{target}\n" for source, target in [*PAIRS, KNOWN]), "utf-8")
    headwise.train(
        pairs=pairs, source="en", target="de", out=tmp_path / "run", device="cpu", preset="tiny", steps=100,
        settings={"model.width": 32, "model.layers": 1, "text.vocabulary": 400, "train.learning_rate": 5e-3,
                  "train.warmup": 10, "train.validate_every": 100},
    )  # fmt: skip
    docs = tmp_path / "docs"
    shutil.copytree(SCRIPT.parent / "tour", docs / "tour", ignore=shutil.ignore_patterns("*.png"))
    for name in ("make_tour.py", "tour.template.md"):
        shutil.copy(SCRIPT.parent / name, docs / name)
    done = subprocess.run(
        [sys.executable, docs / "make_tour.py", "--model", tmp_path / "run"], capture_output=True, text=True
    )
    assert done.stderr == "", done.stderr
    written = (docs / "tour.md").read_text("utf-8")
    assert "{{" not in written
    assert all((docs / "tour" / f"{name}.png").stat().st_size > 10_000 for name in ("machine", "cross_attention"))
