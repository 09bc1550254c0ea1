"""The tour names files, code and tests; they have to be there."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

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
