"""Steps whose loss or gradient is not finite: skipped and told; the same in a run that is killed in between."""

import functools
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from headwise.models.folder.run_layout import checkpoints
from headwise.train.checkpoint.run_state import read_state
from tests.system.faults import At, Undisturbed, check_same_end, events_of, newest_step, start, undisturbed
from tests.system.runs import best_of_validations, write_recipe

SPOILT = (3, 77, 200)
"""Training pairs whose batches have a loss or a gradient that is NaN, whenever they come up."""


def spoil_batches(factor: float) -> None:
    """In the process: multiply the loss of some batches."""
    from headwise.train.tasks import translation_task as translation

    forcing = translation.teacher_forcing

    def spoilt(*settings: Any) -> Any:
        objective = forcing(*settings)

        def with_bad_pairs(model: Any, batch: Any) -> Any:
            loss = objective(model, batch)
            bad = any(index in SPOILT for _, index in batch.examples) and model.training
            return loss._replace(loss=loss.loss * factor) if bad else loss

        return with_bad_pairs

    translation.teacher_forcing = spoilt  # type: ignore[assignment]


def run_spoilt(folder: Path, name: str, factor: float, fault: At | None = None) -> Any:
    tables = best_of_validations(folder)
    return start(write_recipe(folder, tables, name), fault=fault, prepare=functools.partial(spoil_batches, factor))


@pytest.mark.parametrize("factor", [float("nan"), float("inf")])
def test_a_spoilt_run_that_is_killed_is_the_spoilt_run(tmp_path: Path, factor: float) -> None:
    whole = run_spoilt(tmp_path, "undisturbed", factor)
    assert whole.wait(60) == 0, whole.said()
    skipped = read_state(checkpoints(tmp_path / "undisturbed")[-1]).nonfinite
    assert skipped >= len(SPOILT)
    assert whole.said().count(": skipped. Its lines: ") == skipped
    assert f"{tmp_path}/train.tsv:" in next(line for line in whole.said().splitlines() if "skipped" in line)
    writes = events_of(whole)["writing a checkpoint"]
    for count in (writes // 3, writes // 4, writes // 5):
        child = run_spoilt(tmp_path, "run", factor, At("writing a checkpoint", count))
        assert child.wait(60) == -signal.SIGKILL, child.said()
    last = run_spoilt(tmp_path, "run", factor)
    assert last.wait(60) == 0, last.said()
    check_same_end(tmp_path / "undisturbed", tmp_path / "run")


@pytest.fixture
def whole(tmp_path: Path) -> Undisturbed:
    return undisturbed(tmp_path, best_of_validations(tmp_path))


def test_spoilt_weights_end_the_run_and_the_good_ones_are_still_there(whole: Undisturbed, tmp_path: Path) -> None:
    """A learning rate that destroys the weights in one step: every loss after it is NaN."""
    recipe, run = write_recipe(tmp_path, whole.tables), tmp_path / "run"
    child = start(recipe, fault=At("writing a checkpoint", whole.events["writing a checkpoint"] // 2))
    assert child.wait(60) == -signal.SIGKILL, child.said()
    good = newest_step(run)
    wild = start(recipe, "--set", "train.learning_rate=1e30")
    assert wild.wait(60) == 1, wild.said()
    last = wild.said().strip().splitlines()[-1]
    assert "5 steps in a row had a non-finite loss or gradient" in last
    assert "the last good checkpoint is of step" in last
    assert "train.learning_rate" in last
    assert good in [int(path.name[5:]) for path in checkpoints(run)], "the good one is gone"
    for path in checkpoints(run):  # as the message says
        if int(path.name[5:]) > good:
            shutil.rmtree(path)
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    check_same_end(whole.folder, run)
