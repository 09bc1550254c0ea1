"""A run that was stopped and went on is the run that was never stopped, bit for bit."""

import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from headwise.config import Recipe
from headwise.data.batch.padded_pairs import PaddedBatch
from headwise.errors import ConfigError
from headwise.files.lock import locked
from headwise.files.tables import read_json
from headwise.files.tensors import load_tensors
from headwise.models.folder.run_layout import checkpoints, step_folder
from headwise.train.report.console import read_log
from headwise.train.run import train
from headwise.train.step.learner import Objective
from headwise.train.step.loss import TokenLoss
from headwise.train.tasks import translation_task as translation_module
from headwise.train.tasks.translation_task import teacher_forcing
from tests.train.small_runs import FILES, run_recipe, same_tensors, silent

PACKED = {"text.sampling": 0.1, "train.packed": "always", "train.batch_tokens": 384}
VARIANTS: dict[str, dict[str, Any]] = {
    "unigram sampling": {"text.sampling": 0.2},
    "characters, every step logged": {"text.kind": "characters", "train.log_every": 1},
    "attention dropout": {"text.kind": "bytes", "model.attention.dropout": 0.2, "train.accumulate": 1},
    "packed": PACKED,
    "noise": {"text.sampling": 0.2, "data.noise.preset": "usual", "data.noise.upper": 0.5, "data.noise.terms": 0.5},
    "guided": {"text.sampling": 0.2, "data.noise.preset": "usual", "train.guided_alignment": 0.2},
    "guided, packed": {**PACKED, "train.guided_alignment": 0.2},
    "noise, packed": {"data.noise.preset": "usual", "train.packed": "always", "train.batch_tokens": 384},
    "a mean of checkpoints": {"text.kind": "bytes", "train.average": 4},
}
STATE = ("step", "position", "tokens", "best_step", "best_metric", "stale", "interval_loss", "interval_tokens")
LOGGED = ("kind", "step", "epoch", "loss", "nll", "learning_rate", "gradient_norm", "tokens", "best")


class PowerCutError(Exception):
    """As if the machine had gone down."""


def crash(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of step 8; the last checkpoint is of step 6."""

    def fail() -> None:
        raise PowerCutError

    with monkeypatch.context() as patch:
        patch.setattr(translation_module, "teacher_forcing", disturbed(8 * recipe.train.accumulate, fail))
        with pytest.raises(PowerCutError):
            train(recipe, silent)
    assert checkpoints(Path(recipe.out))[-1] == step_folder(Path(recipe.out), 6)


def press_ctrl_c(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """In step 7, between two lines of the log."""
    with monkeypatch.context() as patch:
        ask = disturbed(7 * recipe.train.accumulate, lambda: os.kill(os.getpid(), signal.SIGINT))
        patch.setattr(translation_module, "teacher_forcing", ask)
        outcome = train(recipe, silent)
    assert outcome.interrupted
    assert outcome.progress.step == 7
    assert not (Path(recipe.out) / "model.safetensors").exists()


def disturbed(call: int, action: Callable[[], None]) -> Callable[..., Objective]:
    def factory(smoothing: float, *more: Any) -> Objective:
        calls = itertools.count(1)

        def objective(model: nn.Module, batch: PaddedBatch) -> TokenLoss:
            if next(calls) == call:
                action()
            return teacher_forcing(smoothing, *more)(model, batch)

        return objective

    return factory


def logged(run: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """What does not depend on the clock."""
    records = [record for record in read_log(run) if kind is None or record["kind"] == kind]
    return [{key: record[key] for key in LOGGED if key in record} for record in records]


def assert_same_end(one: Path, other: Path) -> None:
    for name in (*FILES, "average.safetensors"):
        assert same_tensors(step_folder(one, 12) / name, step_folder(other, 12) / name), name
    states = [read_json(step_folder(run, 12) / "state.json") for run in (one, other)]
    assert [states[0][key] for key in STATE] == [states[1][key] for key in STATE]
    assert same_tensors(one / "model.safetensors", other / "model.safetensors")
    assert read_json(one / "scores.json") == read_json(other / "scores.json")


@pytest.mark.parametrize("variant", VARIANTS)
def test_resuming_equals_never_stopping(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    settings = VARIANTS[variant]
    train(run_recipe(corpus, tmp_path / "whole", settings), silent)
    before = logged(tmp_path / "whole")
    for stop in (press_ctrl_c, crash):
        recipe = run_recipe(corpus, tmp_path / stop.__name__, settings)
        stop(recipe, monkeypatch)
        position = read_json(checkpoints(Path(recipe.out))[-1] / "state.json")["position"]
        assert position["batch"] > 0, "the test wants to stop in the middle of an epoch"
        outcome = train(recipe, silent)
        assert not outcome.interrupted
        assert_same_end(tmp_path / "whole", Path(recipe.out))
        assert logged(Path(recipe.out)) == before


def test_more_steps_later_are_the_steps_of_a_longer_run(tmp_path: Path, corpus: Path) -> None:
    """The schedule of this recipe does not depend on the number of steps."""
    settings = {"text.kind": "characters", "train.log_every": 1, "train.validate_every": 100}
    train(run_recipe(corpus, tmp_path / "whole", settings), silent)
    shorter = run_recipe(corpus, tmp_path / "parts", {**settings, "train.steps": 7})
    assert train(shorter, silent).progress.step == 7
    said: list[str] = []
    train(run_recipe(corpus, tmp_path / "parts", settings), said.append)
    assert "changed since the last start: train.steps was 7, is 12" in said
    for name in (*FILES, "average.safetensors"):
        assert same_tensors(step_folder(tmp_path / "whole", 12) / name, step_folder(tmp_path / "parts", 12) / name)
    assert logged(tmp_path / "whole", "train") == logged(tmp_path / "parts", "train")


def test_the_same_recipe_twice_is_the_same_model(tmp_path: Path, corpus: Path) -> None:
    settings = {"text.kind": "characters"}
    outcomes = [train(run_recipe(corpus, tmp_path / name, settings), silent) for name in ("one", "two")]
    assert same_tensors(tmp_path / "one" / "model.safetensors", tmp_path / "two" / "model.safetensors")
    assert outcomes[0].scores == outcomes[1].scores


def test_changed_data_is_refused(tmp_path: Path, corpus: Path) -> None:
    """Even where the tokenizer stays the same: the place in the data would mean other batches."""
    settings = {"text.kind": "bytes", "train.steps": 2, "data.cache": ""}
    train(run_recipe(corpus, tmp_path / "run", settings), silent)
    prepared = sorted((tmp_path / "run" / "data").iterdir())
    with corpus.open("a", encoding="utf-8") as file:
        file.write("one more\tnoch eins\n")
    said: list[str] = []
    with pytest.raises(ConfigError, match="started with other data"):
        train(run_recipe(corpus, tmp_path / "run", {**settings, "train.steps": 3}), said.append)
    assert not [line for line in said if "reading" in line], "it is refused before anything is read"
    assert sorted((tmp_path / "run" / "data").iterdir()) == prepared


def test_a_folder_is_trained_by_one_process_at_a_time(tmp_path: Path, corpus: Path) -> None:
    recipe = run_recipe(corpus, tmp_path / "run", {"text.kind": "bytes", "train.steps": 1})
    (tmp_path / "run").mkdir()
    with locked(tmp_path / "run" / ".lock"), pytest.raises(ConfigError, match="another process"):
        train(recipe, silent)
    assert train(recipe, silent).progress.step == 1


def test_another_seed_is_another_model(tmp_path: Path, corpus: Path) -> None:
    for seed in (1, 2):
        train(run_recipe(corpus, tmp_path / str(seed), {"text.kind": "bytes", "seed": seed, "train.steps": 1}), silent)
    assert not same_tensors(tmp_path / "1" / "model.safetensors", tmp_path / "2" / "model.safetensors")


def test_a_finished_run_is_left_as_it_is(tmp_path: Path, corpus: Path) -> None:
    recipe = run_recipe(corpus, tmp_path, {"text.kind": "bytes", "train.steps": 3})
    train(recipe, silent)
    before, log = load_tensors(tmp_path / "model.safetensors"), logged(tmp_path)
    outcome = train(recipe, silent)
    assert (outcome.progress.step, outcome.interrupted) == (3, False)
    after = load_tensors(tmp_path / "model.safetensors")
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    assert logged(tmp_path) == log


def test_how_batches_are_made_stays(tmp_path: Path, corpus: Path) -> None:
    """A run goes on as it was begun, whatever the device; and is refused where the recipe says otherwise."""
    bytes_, packed = {"text.kind": "bytes"}, {"text.kind": "bytes", "train.packed": "always"}
    train(run_recipe(corpus, tmp_path / "run", {**packed, "train.steps": 8}), silent)
    train(run_recipe(corpus, tmp_path / "run", bytes_), silent)  # auto
    train(run_recipe(corpus, tmp_path / "whole", packed), silent)
    last = step_folder(tmp_path / "run", 12), step_folder(tmp_path / "whole", 12)
    assert same_tensors(*(folder / FILES[0] for folder in last))
    with pytest.raises(ConfigError, match="started with packed batches"):
        train(run_recipe(corpus, tmp_path / "run", {**packed, "train.packed": "never"}), silent)


def test_packed_batches_without_a_gpu_are_noted(corpus: Path, tmp_path: Path) -> None:
    packed = {"text.kind": "bytes", "train.packed": "always", "train.steps": 2}
    said: list[str] = []
    train(run_recipe(corpus, tmp_path / "run", packed), said.append)
    [note] = [line for line in said if line.startswith("note:") and "packed" in line]
    assert note.startswith('note: train.packed is "always": that is slow here')
    said.clear()
    train(run_recipe(corpus, tmp_path / "run", {**packed, "train.packed": "auto", "train.steps": 3}), said.append)
    [note] = [line for line in said if line.startswith("note:") and "packed" in line]
    assert note.startswith(
        "note: this run was started with packed batches, as on a GPU, and continues with them: that is slow here"
    )
    assert "\n" not in note


def test_another_optimiser_cannot_go_on(tmp_path: Path, corpus: Path) -> None:
    settings = {"text.kind": "bytes", "train.steps": 4}
    train(run_recipe(corpus, tmp_path / "run", {**settings, "train.optimiser": "muon"}), silent)
    with pytest.raises(ConfigError, match=r"train\.optimiser was muon"):
        train(run_recipe(corpus, tmp_path / "run", {**settings, "train.steps": 8}), silent)
