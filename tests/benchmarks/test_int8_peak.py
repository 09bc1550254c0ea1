"""The int8 peak, and the count of a translation's multiply-adds."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from headwise.decode.engines.native.levels import VARIABLE
from headwise.decode.engines.native.library import library, supported

FOLDER = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(not supported(), reason="needs the native engine")


@pytest.fixture
def peaks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("int8_peak")


def test_the_multiply_adds_of_a_tiny_model(peaks: ModuleType) -> None:
    made = importlib.import_module("translate_common").random_translator("tiny")
    width, hidden, layers, vocabulary = 128, 256, 4, made.tokenizer.size
    found = peaks.multiply_adds(made)
    assert found.per_source_token == layers * (4 * width**2 + 2 * width * hidden) + layers * 2 * width**2
    assert found.per_step == layers * (6 * width**2 + 2 * width * hidden) + vocabulary * width
    assert found.of(3, 2) == 3 * found.per_source_token + 2 * found.per_step


def test_every_level_has_a_peak_and_the_best_one_the_highest(
    peaks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = [name for name, runs in library().levels.items() if runs]
    found = []
    for level in levels:
        monkeypatch.setenv(VARIABLE, level)
        found.append(peaks.measured_peak(1, seconds=0.01))
    assert min(found) > 1e8
    assert len(found) == 1 or found[0] > found[-1]


def test_a_translation_is_compared_with_the_peak(
    peaks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--preset", "tiny", "--batch", "2", "--beam", "1", "2", "--length", "4", "--sentences", "2"]
    once = ["--systems", "int8", "--repeats", "1", "--threads", "1", "--json", str(tmp_path / "rows.jsonl")]
    monkeypatch.setattr(sys, "argv", ["translate_cpu.py", *few, *once])
    script = importlib.import_module("translate_cpu")
    script.main()
    head, *lines = capsys.readouterr().out.splitlines()
    assert "% of int8 peak" in head
    assert "peak GOP/s, 1 thread" in head
    assert len(lines) == 2
    loaded = importlib.import_module("translate_common").random_translator("tiny")
    done = peaks.multiply_adds(loaded).of(2 * 5, 2 * (1 + 2 * 3))
    row = script.of_peak(loaded, batch=2, beam=2, length=4, seconds=done / 1e9, peaks={1: 2e9})
    assert row["% of int8 peak"] == 50
