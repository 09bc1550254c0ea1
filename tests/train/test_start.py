"""Runs that start from a trained model."""

from pathlib import Path
from typing import Any

import pytest
import torch

import headwise
from headwise.errors import ConfigError
from headwise.files.tables import read_json
from headwise.files.tensors import load_tensors
from headwise.presets import resolve
from headwise.recipe import override, to_tables
from headwise.train.run import train
from headwise.train.start import recipe_from, starting_point
from tests.train.small_runs import run_recipe, silent
from tests.train.texts import text_recipe

QUICK = {"text.kind": "characters", "train.steps": 4, "train.accumulate": 1, "train.validate_every": 2}
STILL = {"train.learning_rate": 1e-30, "train.ema": 0.0}
"""A rate that changes nothing, yet is one."""


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(run_recipe(corpus, folder, QUICK), silent)
    return folder


def started(corpus: Path, out: Path, init: Path, settings: dict[str, Any] | None = None) -> Any:
    """The tables of a run that starts from `init` and says nothing of the model."""
    tables = to_tables(run_recipe(corpus, out, QUICK))
    del tables["model"]
    return override(tables, {"init": str(init), **(settings or {})})


def test_a_run_goes_on_from_the_weights_and_tokenizer_it_is_given(corpus: Path, tmp_path: Path, trained: Path) -> None:
    train(recipe_from(started(corpus, tmp_path, trained, STILL)), silent)
    before, after = load_tensors(trained / "model.safetensors"), load_tensors(tmp_path / "model.safetensors")
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert headwise.load(tmp_path).tokenizer == headwise.load(trained).tokenizer
    assert f"It started from the model in {trained}" in (tmp_path / "README.md").read_text()


def test_training_on_makes_it_better_than_training_anew(corpus: Path, tmp_path: Path, trained: Path) -> None:
    settings = {"train.learning_rate": 0.003, "train.validate_every": 1, "train.steps": 1, "train.ema": 0.0}
    outcome = train(recipe_from(started(corpus, tmp_path / "on", trained, settings)), silent)
    anew = train(run_recipe(corpus, tmp_path / "anew", {**QUICK, **settings}), silent)
    assert outcome.progress.best_metric < anew.progress.best_metric  # type: ignore[operator]


def test_the_shape_is_that_of_the_folder_and_dropout_is_free(corpus: Path, tmp_path: Path, trained: Path) -> None:
    recipe = recipe_from(started(corpus, tmp_path, trained, {"model.dropout": 0.0, "train.learning_rate": 0.0}))
    config = headwise.load(trained).config
    assert config.dropout == 0.1
    assert recipe.model.dropout == 0.0
    assert {**to_tables(recipe.model), "dropout": 0.1} == to_tables(config)
    assert recipe.train.learning_rate == 5e-5, "the paper's rate would wash away what is known"
    start = starting_point(recipe, torch.device("cpu"))
    assert start is not None
    assert start.model.dropout.p == 0.0  # type: ignore[union-attr]


@pytest.mark.parametrize(("key", "value"), [("width", 32), ("norm.order", "post"), ("layers", 2)])
def test_another_shape_is_refused(corpus: Path, tmp_path: Path, trained: Path, key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"model\.{key} = .*, but the model in {trained} has"):
        recipe_from(started(corpus, tmp_path, trained, {f"model.{key}": value}))


def test_a_shape_that_is_said_again_is_no_contradiction(corpus: Path, tmp_path: Path, trained: Path) -> None:
    recipe = recipe_from(started(corpus, tmp_path, trained, {"model.width": 16}))
    assert recipe.model.width == 16


def test_a_recipe_whose_shape_was_not_looked_up_is_refused(corpus: Path, tmp_path: Path, trained: Path) -> None:
    with pytest.raises(ConfigError, match="recipe_from"):
        train(resolve(started(corpus, tmp_path, trained)), silent)


def test_a_begun_run_keeps_its_starting_point(corpus: Path, tmp_path: Path, trained: Path) -> None:
    train(run_recipe(corpus, tmp_path / "run", QUICK), silent)
    with pytest.raises(ConfigError, match="init was not given"):
        train(recipe_from(started(corpus, tmp_path / "run", trained)), silent)
    assert read_json(tmp_path / "run" / "recipe.json")["init"] == ""


def test_two_directions_need_a_model_that_has_tags(corpus: Path, tmp_path: Path, trained: Path) -> None:
    with pytest.raises(ConfigError, match="no language tags"):
        train(recipe_from(started(corpus, tmp_path, trained, {"data.both_directions": True})), silent)


def test_a_model_for_another_task_is_refused(tmp_path: Path, trained: Path) -> None:
    (tmp_path / "text.txt").write_text("some text\n" * 50)
    tables = to_tables(text_recipe("causal_lm", tmp_path / "text.txt", tmp_path / "run"))
    del tables["model"]
    with pytest.raises(ConfigError, match="does not continue text"):
        train(recipe_from({**tables, "init": str(trained)}), silent)


def test_a_language_model_goes_on_with_its_own_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("some text\n" * 50)
    (tmp_path / "two.txt").write_text("text some\n" * 50)
    train(text_recipe("causal_lm", tmp_path / "one.txt", tmp_path / "one"), silent)
    tables = to_tables(text_recipe("causal_lm", tmp_path / "two.txt", tmp_path / "two", STILL))
    del tables["model"]
    train(recipe_from({**tables, "init": str(tmp_path / "one")}), silent)
    before, after = (load_tensors(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert all(torch.equal(before[name], after[name]) for name in before)
