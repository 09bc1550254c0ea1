"""Blends of what a run has learnt with what it started from."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from headwise.config import TuneConfig
from headwise.errors import ConfigError
from headwise.files.tensors import load_tensors, save_tensors
from headwise.models.folder.run_layout import step_folder
from headwise.recipe import override, to_tables
from headwise.train.run import train
from headwise.train.start import recipe_from
from headwise.train.step.blend import blend_of
from tests.train.small_runs import run_fit, run_recipe, same_tensors, silent, tiny_model, weights
from tests.train.test_resume import press_ctrl_c

RECIPE = {"text.kind": "characters", "train.accumulate": 1, "train.ema": 0.0, "train.validate_every": 4}


def test_a_share_of_the_way() -> None:
    model = tiny_model()
    start = weights(model)
    blend = blend_of(model, TuneConfig(blend=0.25))
    assert blend is not None
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(4.0)
    for name, tensor in blend(weights(model)).items():
        assert torch.allclose(tensor, start[name] + 1.0)
    assert blend_of(model, TuneConfig()) is None


def test_validation_measures_the_blend(tmp_path: Path) -> None:
    """Each validation sees a point between the start and the weights of its step, which are trained on unchanged."""
    seen: list[dict[str, torch.Tensor]] = []

    def validate(model: nn.Module) -> dict[str, float]:
        seen.append(weights(model))
        return {"loss": 1.0}

    model = tiny_model(dropout=0.1)
    blend = blend_of(model, TuneConfig(blend=0.5))
    assert blend is not None
    run_fit(tmp_path / "plain", model=copy.deepcopy(model), steps=3)
    run_fit(tmp_path / "blended", model=model, validate=validate, steps=3, blend=blend)
    for step, found in enumerate(seen, 1):
        trained = load_tensors(step_folder(tmp_path / "blended", step) / "model.safetensors")
        assert all(torch.allclose(found[name], (blend.start[name] + trained[name]) / 2) for name in found)
        name = "model.safetensors"
        assert same_tensors(*(step_folder(tmp_path / run, step) / name for run in ("blended", "plain")))


@pytest.fixture(scope="module")
def start(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    train(run_recipe(corpus, folder, {**RECIPE, "train.steps": 3}), silent)
    return folder


def tuned(corpus: Path, out: Path, init: Path, settings: dict[str, Any] | None = None) -> Any:
    tables = to_tables(run_recipe(corpus, out, RECIPE))
    del tables["model"]
    return recipe_from(override(tables, {"init": str(init), "tune.blend": 0.5, **(settings or {})}))


def test_the_result_is_the_blend_of_the_best_step(corpus: Path, tmp_path: Path, start: Path) -> None:
    outcome = train(tuned(corpus, tmp_path, start), silent)
    before = load_tensors(start / "model.safetensors")
    best = load_tensors(step_folder(tmp_path, outcome.progress.best_step) / "model.safetensors")
    result = load_tensors(tmp_path / "model.safetensors")
    assert any(not torch.equal(before[name], best[name]) for name in before)
    for name in before:
        assert torch.allclose(result[name], (before[name] + best[name]) / 2, atol=1e-7)
    assert "blended with those of" in (tmp_path / "README.md").read_text()


def test_resuming_equals_never_stopping(
    corpus: Path, tmp_path: Path, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(tuned(corpus, tmp_path / "whole", start), silent)
    recipe = tuned(corpus, tmp_path / "stopped", start)
    press_ctrl_c(recipe, monkeypatch)
    again = train(recipe, silent)
    assert again.progress.best_metric == whole.progress.best_metric
    assert not math.isnan(again.progress.best_metric or math.nan)
    assert same_tensors(*(tmp_path / run / "model.safetensors" for run in ("whole", "stopped")))


def test_a_start_that_has_changed_is_refused(corpus: Path, tmp_path: Path, start: Path) -> None:
    init = tmp_path / "start"
    init.mkdir()
    for file in start.iterdir():
        if file.is_file():
            (init / file.name).write_bytes(file.read_bytes())
    train(tuned(corpus, tmp_path / "run", init, {"train.steps": 2}), silent)
    altered = {name: tensor + 1 for name, tensor in load_tensors(init / "model.safetensors").items()}
    save_tensors(init / "model.safetensors", altered)
    with pytest.raises(ConfigError, match="started from other weights"):
        train(tuned(corpus, tmp_path / "run", init, {"train.steps": 4}), silent)
    train(tuned(corpus, tmp_path / "anew", init, {"train.steps": 2}), silent)


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"tune.lora_rank": 2}, "tune.lora_alpha instead"), ({"task": "classify"}, "its output layer is new")],
)
def test_what_cannot_be_blended(corpus: Path, tmp_path: Path, start: Path, settings: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        train(tuned(corpus, tmp_path, start, settings), silent)


def test_only_a_trained_model_has_a_blend(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name its folder in init"):
        train(run_recipe(corpus, tmp_path, {"tune.blend": 0.5}), silent)
