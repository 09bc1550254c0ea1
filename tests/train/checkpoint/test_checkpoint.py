"""Checkpoints: exact, whole or not there, and never in the way of the one before."""

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from safetensors import SafetensorError

from headwise.data.batch.stream import Position
from headwise.errors import CheckpointError
from headwise.files import atomic, tables
from headwise.files.tables import read_json, read_table, write_table
from headwise.files.tensors import load_tensors
from headwise.models.folder.run_layout import checkpoints, step_folder
from headwise.train.checkpoint.checkpoint import restore_checkpoint, write_checkpoint
from headwise.train.checkpoint.run_checkpoints import Background
from headwise.train.checkpoint.run_state import RunState
from headwise.train.step.averages import MovingAverage
from headwise.train.step.optimiser import make_optimiser
from headwise.train.tasks.translation_task import teacher_forcing
from tests.train.small_runs import FILES, fit_recipe, run_fit, same_tensors, some_batches, tiny_model, weights

STATE = RunState(
    step=17,
    position=Position(3, 5),
    tokens=1234,
    seconds=1.5,
    best_step=12,
    best_metric=2.25,
    stale=1,
    nonfinite=4,
    nonfinite_row=2,
    interval_loss=0.1 + 0.2,
    interval_nll=1 / 3,
    interval_tokens=99,
)


def save(run: Path, *trained: Any, **how: Any) -> Path:
    path = step_folder(run, STATE.step)
    write_checkpoint(path, STATE, *trained, **how)
    return path


def trained(steps: int = 2) -> tuple[torch.nn.Module, torch.optim.Optimizer, MovingAverage]:
    """A model, its optimiser and its average after a few steps."""
    model = tiny_model(dropout=0.1).train()
    optimiser, average = make_optimiser(model, fit_recipe()), MovingAverage(model, 0.9)
    for group in optimiser.param_groups:
        group["lr"] = 0.01
    for step, batch in enumerate(some_batches(steps), 1):
        torch.autograd.backward(teacher_forcing(0.1)(model, batch).loss)
        optimiser.step()
        optimiser.zero_grad()
        average.update(model, step, torch.tensor(True))
    return model, optimiser, average


def test_a_round_trip_is_exact(tmp_path: Path) -> None:
    model, optimiser, average = trained()
    path = save(tmp_path, model, optimiser, average)
    drawn = torch.rand(5)
    other, other_optimiser, other_average = trained(steps=1)
    assert restore_checkpoint(path, other, other_optimiser, other_average) == STATE
    assert torch.equal(torch.rand(5), drawn), "the random numbers go on where they were"
    for name, tensor in weights(model).items():
        assert torch.equal(weights(other)[name], tensor)
        assert torch.equal(other_average.weights[name], average.weights[name])
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        state = optimiser.state[ours]
        assert state.keys() == other_optimiser.state[theirs].keys()
        assert all(torch.equal(state[key], other_optimiser.state[theirs][key]) for key in state)


def test_what_is_written_in_the_background_is_the_moment_it_was_asked_for(tmp_path: Path) -> None:
    model, optimiser, average = trained()
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    background, go = Background(), threading.Event()

    def when_told(write: Callable[[], None]) -> None:
        assert go.wait(20)
        write()

    path = save(tmp_path, model, optimiser, average, attempt=when_told, background=background)
    with torch.no_grad():
        for tensor in (*model.parameters(), *average.weights.values()):
            tensor.add_(1)  # training goes on
    assert not path.exists()
    go.set()
    background.close()
    other, other_optimiser, other_average = trained(steps=1)
    assert restore_checkpoint(path, other, other_optimiser, other_average) == STATE
    for name, tensor in before.items():
        assert torch.equal(weights(other)[name], tensor)


def test_an_error_in_the_background_comes_out_at_the_next_checkpoint(tmp_path: Path) -> None:
    model, optimiser, average = trained()
    background = Background()

    def fails(write: Callable[[], None]) -> None:
        raise CheckpointError("the disk is gone")

    save(tmp_path, model, optimiser, average, attempt=fails, background=background)
    with pytest.raises(CheckpointError, match="the disk is gone"):
        save(tmp_path, model, optimiser, average, background=background)
    background.close()


def test_an_average_begun_later_starts_from_the_weights(tmp_path: Path) -> None:
    model, optimiser, _ = trained()
    path = save(tmp_path, model, optimiser, None)
    other, other_optimiser, average = trained(steps=1)
    restore_checkpoint(path, other, other_optimiser, average)
    assert all(torch.equal(average.weights[name], tensor) for name, tensor in weights(model).items())


def test_another_model_is_refused(tmp_path: Path) -> None:
    model, optimiser, _ = trained()
    path = save(tmp_path, model, optimiser, None)
    for changes in ({"width": 32}, {"layers": 2}, {"tie": "none"}):
        other = tiny_model(**changes)
        with pytest.raises(CheckpointError, match=r"step-00000017"):
            restore_checkpoint(path, other, make_optimiser(other, fit_recipe()), None)


def test_saving_the_same_step_again_replaces_it(tmp_path: Path) -> None:
    model, optimiser, _ = trained()
    save(tmp_path, model, optimiser, None)
    with torch.no_grad():
        next(model.parameters()).add_(1)
    path = save(tmp_path, model, optimiser, None)
    assert checkpoints(tmp_path) == [path]
    assert all(torch.equal(load_tensors(path / "model.safetensors")[n], t) for n, t in weights(model).items())


# --- damage --------------------------------------------------------------------------------------------


def truncate(name: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = (path / name).read_bytes()
        (path / name).write_bytes(content[: len(content) // 2])

    return damage


def flip(name: str, at: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = bytearray((path / name).read_bytes())
        content[int(at * (len(content) - 1))] ^= 1
        (path / name).write_bytes(content)

    return damage


def remove(name: str) -> Callable[[Path], None]:
    return lambda path: (path / name).unlink()


def empty(name: str) -> Callable[[Path], None]:
    return lambda path: (path / name).write_bytes(b"")


def change_state(key: str, value: object) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        state = read_json(path / "state.json")
        (path / "state.json").write_text(json.dumps({**state, key: value}))

    return damage


def no_table(name: str) -> Callable[[Path], None]:
    return lambda path: (path / name).write_text("[]")


DAMAGES = {
    "weights cut": truncate("model.safetensors"),
    "weights emptied": empty("model.safetensors"),
    "weights gone": remove("model.safetensors"),
    "a bit of a weight": flip("model.safetensors", 0.9),
    "a bit of the last weight": flip("model.safetensors", 1.0),
    "a bit of the header": flip("model.safetensors", 0.01),
    "optimiser cut": truncate("optimiser.safetensors"),
    "a bit of the optimiser": flip("optimiser.safetensors", 0.8),
    "optimiser gone": remove("optimiser.safetensors"),
    "random state gone": remove("random.safetensors"),
    "average gone": remove("average.safetensors"),
    "state gone": remove("state.json"),
    "state cut": truncate("state.json"),
    "another place in the data": change_state("position", {"epoch": 0, "batch": 1}),
    "an unknown key in the state": change_state("unknown", 1),
    "state no table": no_table("state.json"),
    "manifest gone": remove("manifest.json"),
    "manifest no table": no_table("manifest.json"),
    "manifest without files": lambda path: (path / "manifest.json").write_text('{"format": 1}'),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 6 steps that nothing happened to."""
    run = tmp_path_factory.mktemp("whole")
    run_fit(run, ema=0.9, steps=6, checkpoint_every=2)
    return run


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_checkpoint_gives_way_to_the_one_before(
    tmp_path: Path, whole: Path, damage: Callable[[Path], None]
) -> None:
    """With nothing lost but the steps since then: the run ends where it would have ended."""
    run_fit(tmp_path, ema=0.9, steps=4, checkpoint_every=2, keep=1 + 1)
    newest = checkpoints(tmp_path)[-1]
    damage(newest)
    progress, reporter, _ = run_fit(tmp_path, ema=0.9, steps=6, checkpoint_every=2, keep=1)
    assert reporter.begun == [2]
    assert any(newest.name in note and "trying the previous checkpoint" in note for note in reporter.notes)
    assert progress.step == 6
    for name in (*FILES, "average.safetensors"):
        assert same_tensors(checkpoints(tmp_path)[-1] / name, checkpoints(whole)[-1] / name)
    assert newest.with_name(f"damaged-{newest.name}").is_dir(), "what a person might still save is not removed"


def test_a_damaged_checkpoint_does_not_push_out_whole_ones(tmp_path: Path) -> None:
    """It is the newest by its name, and only one is kept."""
    run_fit(tmp_path, steps=4, checkpoint_every=4)
    run_fit(tmp_path, steps=8, checkpoint_every=4)
    truncate("model.safetensors")(checkpoints(tmp_path)[-1])
    run_fit(tmp_path, steps=6, checkpoint_every=1, keep=1)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000006"]
    _, reporter, _ = run_fit(tmp_path, steps=6)
    assert reporter.begun == [6]


def test_when_all_are_damaged_the_run_says_so_and_keeps_them(tmp_path: Path) -> None:
    run_fit(tmp_path, steps=2)
    for path in checkpoints(tmp_path):
        truncate("model.safetensors")(path)
    with pytest.raises(CheckpointError, match="none of its checkpoints can be read"):
        run_fit(tmp_path, steps=4)
    assert len(checkpoints(tmp_path)) == 2


@pytest.mark.parametrize("file", ["manifest.json", "model.safetensors"])
def test_a_checkpoint_of_a_newer_version_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """It is not damaged: going on from an older one would throw good steps away."""
    run_fit(tmp_path, steps=1)
    with monkeypatch.context() as newer:
        newer.setattr(tables, "FORMAT", 99)
        run_fit(tmp_path, steps=2)
    if file != "manifest.json":
        manifest = checkpoints(tmp_path)[-1] / "manifest.json"
        write_table(manifest, {**read_table(manifest), "format": 1})
    with pytest.raises(CheckpointError, match=r"newer Headwise \(format 99, this one reads up to 1\): upgrade"):
        run_fit(tmp_path, steps=3)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000001", "step-00000002"]


def test_what_a_kill_left_half_written_is_ignored_and_removed(tmp_path: Path, whole: Path) -> None:
    run_fit(tmp_path, ema=0.9, steps=2, checkpoint_every=2)
    for name in (".step-00000003.writing", ".step-00000004.writing"):
        half = tmp_path / "checkpoints" / name
        half.mkdir()
        (half / ".model.safetensors.writing").write_bytes(b"half")
        (half / "state.json").write_text("{")
    _, reporter, _ = run_fit(tmp_path, ema=0.9, steps=6, checkpoint_every=2)
    assert reporter.begun == [2]
    assert same_tensors(checkpoints(tmp_path)[-1] / "model.safetensors", checkpoints(whole)[-1] / "model.safetensors")
    assert all(path.name.startswith("step-") for path in (tmp_path / "checkpoints").iterdir())


def test_what_a_kill_left_half_removed_is_no_checkpoint(tmp_path: Path) -> None:
    """Old checkpoints are removed file by file."""
    run_fit(tmp_path, steps=3, keep=3)
    remove("manifest.json")(checkpoints(tmp_path)[0])
    _, reporter, _ = run_fit(tmp_path, steps=5, keep=3)
    assert reporter.begun == [3]
    assert [path.name for path in checkpoints(tmp_path)] == [f"step-0000000{step}" for step in (3, 4, 5)]


# --- a full disk ---------------------------------------------------------------------------------------

FULL = [
    ("save_file", OSError(errno.ENOSPC, "No space left on device")),
    ("save_file", SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")),
    ("os.fsync", OSError(errno.ENOSPC, "No space left on device")),
]


@pytest.mark.parametrize(("function", "error"), FULL, ids=["writing", "inside safetensors", "syncing"])
@pytest.mark.parametrize("call", [1, 2, 4])
def test_a_full_disk_while_saving_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: Exception, call: int
) -> None:
    run_fit(tmp_path, ema=0.9, steps=2)
    before = [path.name for path in (tmp_path / "checkpoints").iterdir()]
    calls = 0
    real = safetensors.torch.save_file if function == "save_file" else os.fsync

    def full(*args: object, **options: object) -> None:
        nonlocal calls
        calls += 1
        if calls >= call:
            raise error
        real(*args, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as disk:
        disk.setattr(atomic, "PATIENCE", 0.0)
        disk.setattr(safetensors.torch if function == "save_file" else os, function.removeprefix("os."), full)
        with pytest.raises(CheckpointError, match=r"could not write .*step-00000003.*: the disk is full"):
            run_fit(tmp_path, ema=0.9, steps=4)
    assert sorted(before) == sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    _, reporter, _ = run_fit(tmp_path, ema=0.9, steps=4)
    assert reporter.begun == [2]
