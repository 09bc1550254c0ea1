"""What scripts/demo shows before it trains."""

import runpy
from pathlib import Path

import pytest

from headwise.bundled import find
from tests.commands import Capture

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "demo.py"


def test_every_direction_is_shown(small_bundled: Path, capsys: Capture) -> None:
    demo = runpy.run_path(str(SCRIPT))
    demo["show_directions"]()
    lines = capsys.readouterr().out.splitlines()
    languages = [*demo["SENTENCES"]]
    assert [line[2:4] for line in lines if line[2:4] in languages] == languages
    shown = [line[6:8] for line in lines if line[6:8] in languages and line.startswith(" " * 6)]
    assert shown == [target for source in languages for target in languages if target != source]


def test_training_does_not_need_the_model(
    small_bundled: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "FOLDER", small_bundled / "missing")
    demo = runpy.run_path(str(SCRIPT))
    trained = []
    monkeypatch.setitem(demo["main"].__globals__, "train_small", trained.append)
    monkeypatch.setattr("sys.argv", ["demo.py"])
    demo["main"]()
    assert capsys.readouterr().out == ""
    assert len(trained) == 1
