"""The benchmarks follow the code that they measure."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_all_that_a_benchmark_imports_is_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    importlib.import_module(name)


def test_a_training_step_can_be_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    few = ["--preset", "tiny", "--vocabulary", "1000", "--batches", "1", "--repeats", "1", "--batch-tokens", "512"]
    one = ["--threads", "1", "--systems", "headwise", "--json", str(tmp_path / "rows.jsonl")]
    monkeypatch.setattr(sys, "argv", ["train_cpu.py", *few, *one])
    importlib.import_module("train_cpu").main()
    assert "ms per step" in capsys.readouterr().out
    assert (tmp_path / "rows.jsonl").read_text("utf-8").count("\n") == 1
