"""The time that a run will take: an estimate that is about right, and that changes nothing."""

import time
from pathlib import Path
from typing import Any

import pytest

from headwise.config import TrainConfig
from headwise.data.batch.padded_pairs import PaddedBatch
from headwise.models.folder.run_layout import step_folder
from headwise.train import estimate as module
from headwise.train.estimate import estimate, spoken
from headwise.train.step.loss import TokenLoss
from headwise.train.tasks.translation_task import teacher_forcing
from tests.train.small_runs import FILES, run_fit, same_tensors


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (0.2, "1 seconds"),
        (50, "50 seconds"),
        (89, "89 seconds"),
        (95, "1.6 minutes"),
        (120, "2 minutes"),
        (14.2 * 60, "14 minutes"),
        (4.5 * 3600, "4.5 hours"),
        (3 * 86400, "3 days"),
    ],
)
def test_durations(seconds: float, says: str) -> None:
    assert spoken(seconds) == says


def test_what_is_counted() -> None:
    config = TrainConfig(steps=600, validate_every=100)
    assert estimate(1.0, None, 0, config).startswith("this will take about 10 minutes (600 steps of 1 s); ")
    validated = estimate(1.0, 20.0, 0, config)
    assert "about 13 minutes (600 steps of 1 s, 6 validations)" in validated  # 600 s, and 9 times 20 s
    assert "300 steps of 1 s, 3 validations" in estimate(1.0, 20.0, 300, config)
    assert "at most about" in estimate(1.0, None, 0, TrainConfig(patience=2))


@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_steps_are_the_same_with_an_estimate(
    tmp_path: Path, accumulate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights, gradients, dropout and the place in the data: bit for bit."""
    settings: dict[str, Any] = {"steps": 6, "accumulate": accumulate}
    _, reporter, _ = run_fit(tmp_path / "plain", **settings)
    assert not reporter.notes, "a run of 6 steps is too short to pay for an estimate"
    monkeypatch.setattr(module, "PRICE", 2)
    _, reporter, _ = run_fit(tmp_path / "estimated", **settings)
    assert [note for note in reporter.notes if note.startswith("this will take")]
    for step in (1, 6):
        for name in FILES:
            assert same_tensors(*(step_folder(tmp_path / run, step) / name for run in ("plain", "estimated"))), name


def test_it_is_about_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes that take 10 ms each, of which a step has two; the first one takes a second, which is no rule."""
    calls = 0

    def slow(model: Any, batch: PaddedBatch) -> TokenLoss:
        nonlocal calls
        calls += 1
        time.sleep(1.0 if calls == 1 else 0.01)
        return teacher_forcing(0.1)(model, batch)

    told: list[float] = []
    monkeypatch.setattr(module, "estimate", lambda step, *rest: told.append(step) or "")  # type: ignore[func-returns-value]
    state, _, _ = run_fit(tmp_path, objective=slow, steps=40, accumulate=2, checkpoint_every=1000, log_every=1000)
    assert told[0] == pytest.approx(state.seconds / 40, rel=0.5)


def test_few_steps_are_timed_if_they_are_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 0.0)
    calls: list[int] = []

    def counted(model: Any, batch: PaddedBatch) -> TokenLoss:
        calls.append(1)
        return teacher_forcing(0.1)(model, batch)

    run_fit(tmp_path, objective=counted, steps=100, checkpoint_every=1000, validate_every=1000)
    assert len(calls) == 100 + 2, "one to warm up, and one that is timed"


def test_a_finished_run_is_not_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_fit(tmp_path, steps=40, checkpoint_every=40, validate_every=40)
    _, reporter, _ = run_fit(tmp_path, steps=40, checkpoint_every=40, validate_every=40)
    assert not [note for note in reporter.notes if note.startswith("this will take")]
