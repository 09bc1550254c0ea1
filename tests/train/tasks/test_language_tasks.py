"""Language models: they learn what can be learnt, and a run that was stopped goes on exactly."""

import itertools
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headwise
from headwise.config import Recipe
from headwise.errors import ConfigError, DataError
from headwise.files.tables import read_json
from headwise.files.tensors import load_tensors
from headwise.models.folder.run_layout import checkpoints, step_folder
from headwise.train.report.console import read_log
from headwise.train.run import train
from headwise.train.tasks import causal_lm_task as causal_lm
from headwise.train.tasks import masked_lm_task as masked_lm
from tests.train.small_runs import FILES, same_tensors, silent
from tests.train.texts import text_recipe

TASKS: dict[str, tuple[Any, str]] = {"causal_lm": (causal_lm, "next_token"), "masked_lm": (masked_lm, "fill_in")}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "causal": ("causal_lm", {"train.ema": 0.9, "train.accumulate": 2}),
    "masked": ("masked_lm", {"language.whole_words": True}),
    "next sentence": (
        "masked_lm",
        {
            "language.next_sentence": True,
            "model.output.next_sentence": True,
            "model.embedding.segments": 2,
            "model.pooling.pooler": "tanh",
        },
    ),
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("text") / "text.txt"
    lines = [" ".join(rng.choice(["one", "two", "three", "and", "or"], 7)) for _ in range(60)]
    path.write_text("\n".join(lines) + "\n")
    return path


def stop_at(call: int, recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a step."""
    module, name = TASKS[recipe.task]
    make = getattr(module, name)

    def factory(smoothing: float) -> Any:
        calls, objective = itertools.count(1), make(smoothing)

        def counted(model: Any, batch: Any) -> Any:
            if next(calls) == call:
                os.kill(os.getpid(), signal.SIGINT)
            return objective(model, batch)

        return counted

    with monkeypatch.context() as patch:
        patch.setattr(module, name, factory)
        assert train(recipe, silent).interrupted


@pytest.mark.parametrize("variant", VARIANTS)
def test_resuming_equals_never_stopping(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    task, settings = VARIANTS[variant]
    whole = train(text_recipe(task, text, tmp_path / "whole", settings), silent)
    parts = text_recipe(task, text, tmp_path / "parts", settings)
    stop_at(7 * parts.train.accumulate, parts, monkeypatch)
    assert read_json(checkpoints(tmp_path / "parts")[-1] / "state.json")["position"]["batch"] > 0
    again = train(parts, silent)
    for name in FILES:
        assert same_tensors(step_folder(tmp_path / "whole", 12) / name, step_folder(tmp_path / "parts", 12) / name)
    assert same_tensors(tmp_path / "whole" / "model.safetensors", tmp_path / "parts" / "model.safetensors")
    assert whole.scores == again.scores
    losses = [[record["loss"] for record in read_log(tmp_path / name)] for name in ("whole", "parts")]
    assert losses[0] == losses[1]


def test_a_causal_model_learns_a_text_that_repeats(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("tick, tock; ding dong.\n" * 80)
    settings = {
        "train.steps": 100,
        "train.batch_tokens": 256,
        "train.learning_rate": 0.01,
        "train.validate_every": 100,
        "train.checkpoint_every": 100,
        "train.label_smoothing": 0.0,
        "model.dropout": 0.0,
    }
    outcome = train(text_recipe("causal_lm", tmp_path / "text.txt", tmp_path / "run", settings), silent)
    [scores] = outcome.scores.values()
    # Only the first characters of a row cannot be known: t, o, d, n, i, g and k occur more than once.
    assert scores.loss < 0.25  # type: ignore[attr-defined]
    assert scores.bits_per_character == pytest.approx(scores.loss / np.log(2), rel=1e-3)  # type: ignore[attr-defined]
    assert "bits per character" in (tmp_path / "run" / "README.md").read_text()
    loaded = headwise.load(tmp_path / "run")
    assert loaded.task.kind == "causal_lm"
    tokens = torch.tensor([loaded.tokenizer.encode("tock; ding do")])  # type: ignore[union-attr]
    guessed = loaded.model(tokens)[0, -1].argmax().item()
    assert loaded.tokenizer.decode([guessed]) == "n"  # type: ignore[union-attr]


def test_a_masked_model_learns_a_grammar(tmp_path: Path) -> None:
    """A verse says one word again and again: what is hidden stands before it and after it."""
    rng = np.random.default_rng(0)
    lines = [" ".join([f"w{number}"] * 40) for number in rng.integers(12, size=60)]
    (tmp_path / "text.txt").write_text("\n\n".join(lines) + "\n")
    settings = {
        "text.kind": "words",
        "train.steps": 150,
        "train.batch_tokens": 512,
        "train.learning_rate": 0.01,
        "train.validate_every": 150,
        "train.checkpoint_every": 150,
        "train.label_smoothing": 0.0,
        "model.dropout": 0.0,
    }
    outcome = train(text_recipe("masked_lm", tmp_path / "text.txt", tmp_path / "run", settings), silent)
    [scores] = outcome.scores.values()
    assert scores.accuracy > 0.85  # type: ignore[attr-defined]
    assert headwise.load(tmp_path / "run").task.kind == "masked_lm"


def test_the_best_may_be_the_most_accurate(tmp_path: Path, text: Path) -> None:
    settings = {"train.select_by": "accuracy", "train.validate_every": 3}
    outcome = train(text_recipe("masked_lm", text, tmp_path, settings), silent)
    found = [record["accuracy"] for record in read_log(tmp_path) if record["kind"] == "valid"]
    assert outcome.progress.best_metric == max(found)


def test_test_texts_are_scored_instead_of_the_validation_text(tmp_path: Path, text: Path) -> None:
    settings = {"data.test": [{"text": [str(text)]}, {"text": [str(text)]}], "train.steps": 2}
    outcome = train(text_recipe("causal_lm", text, tmp_path, settings), silent)
    assert outcome.scores.keys() == {"text.txt 1", "text.txt 2"}


def test_compiled_layers_keep_their_names(tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled is the affair of another library: that the layers are, and nothing else changes, is ours."""
    compiled: list[type] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: compiled.append(type(module)))
    for name, compile_it in (("plain", False), ("compiled", True)):
        train(text_recipe("causal_lm", text, tmp_path / name, {"train.steps": 2, "train.compile": compile_it}), silent)
    assert [kind.__name__ for kind in compiled] == ["Layer", "Layer"]
    names = [load_tensors(tmp_path / name / "model.safetensors").keys() for name in ("plain", "compiled")]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    ("task", "settings", "error", "message"),
    [
        ("causal_lm", {"model.family": "masked_lm"}, ConfigError, "does not continue text"),
        ("masked_lm", {"model.family": "causal_lm"}, ConfigError, "cannot predict masked tokens"),
        ("masked_lm", {"model.output.language_head": False}, ConfigError, "cannot predict masked tokens"),
        ("masked_lm", {"language.next_sentence": True}, ConfigError, r"needs model\.output\.next_sentence"),
        ("masked_lm", {"language.mask": 1.0}, ConfigError, r"language\.mask"),
        ("causal_lm", {"language.block": 1}, ConfigError, r"language\.block"),
        ("causal_lm", {"language.block": 10_000}, DataError, "fewer than one row"),
        (
            "causal_lm",
            {"model.positions.kind": "learned", "model.positions.max_positions": 8},
            ConfigError,
            "max_positions",
        ),
        ("causal_lm", {"train.select_by": "bleu"}, ConfigError, r"select_by = 'bleu', but validation measures: loss"),
        ("causal_lm", {"data.test": [{"text": ["nowhere.txt"]}]}, DataError, r"nowhere\.txt: no such file"),
        ("causal_lm", {"task": "chess"}, ConfigError, "unknown task 'chess'; there are: translation, causal_lm"),
    ],
)
def test_impossible_settings_are_refused(
    tmp_path: Path, text: Path, task: str, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        train(text_recipe(task, text, tmp_path / "run", settings), silent)
