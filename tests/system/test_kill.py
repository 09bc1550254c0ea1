"""A run that is killed, again and again, loses nothing but the steps since its last checkpoint."""

import signal
from pathlib import Path

import pytest

from tests.system.faults import NAMED, At, check_folder_is_whole, check_same_end, start, undisturbed
from tests.system.kills import kill_runs
from tests.system.runs import OFTEN, VARIANTS, best_of_validations, write_recipe


@pytest.mark.slow
def test_kill_9_at_random_moments(tmp_path: Path) -> None:
    """`python -m tests.system --kills 200` is the same with more of them."""
    tally = kill_runs(tmp_path, 6, seed=4, variants=list(VARIANTS), most_in_a_run=3)
    assert tally.kills.total() >= 6
    assert tally.runs >= 2
    assert max(tally.lost, default=0) <= OFTEN["checkpoint_every"]


@pytest.mark.slow
def test_a_kill_in_every_phase_of_one_run(tmp_path: Path) -> None:
    """Also in those moments that chance seldom finds, such as when half of an old checkpoint is gone."""
    whole = undisturbed(tmp_path, best_of_validations(tmp_path))
    recipe, run = write_recipe(tmp_path, whole.tables), tmp_path / "run"
    counts = {
        "start-up": 1,
        "preparing data": whole.events["preparing data"] // 2,
        "training the tokenizer": 1,
        "resuming": 2,
        "training steps": 3,
        "writing a checkpoint": 50,
        "removing old checkpoints": 7,
        "validating": 1,
        "writing the model folder": whole.events["writing the model folder"] // 2,
    }
    assert counts.keys() == set(whole.events) == set(NAMED)
    for phase, count in counts.items():
        child = start(recipe, fault=At(phase, count))
        assert child.wait(60) == -signal.SIGKILL, f"{phase}: {child.said()}"
        check_folder_is_whole(run)
    last = start(recipe)
    assert last.wait(60) == 0, last.said()
    check_same_end(whole.folder, run)
    assert not [path for path in run.rglob("*") if path.name.endswith(".writing")]
