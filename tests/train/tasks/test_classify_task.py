"""Classifiers learn synthetic rules from scratch and from a model, by encoder and by decoder; runs resume exactly."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headwise.config import Recipe, TextConfig
from headwise.data.batch.labelled_batches import LabelledBatch
from headwise.data.batch.stream import batches_from
from headwise.errors import ConfigError, DataError
from headwise.files.tables import read_json
from headwise.files.tensors import load_tensors
from headwise.models.build import build
from headwise.models.classifier import Classifier
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.models.folder.load import load, save_model
from headwise.models.folder.run_layout import step_folder
from headwise.models.folder.weights import weights_of
from headwise.presets import preset_config, resolve
from headwise.recipe import override, read_recipe, replaced
from headwise.text.kinds import train_tokenizer
from headwise.train.run import train
from headwise.train.start import recipe_from
from headwise.train.tasks.classify_task import (
    language_model_loss,
    metric_names,
    objective,
    open_job,
    predict,
    task_loss,
)
from tests.train.small_runs import FILES, same_tensors, silent

FILLERS = ["the", "a", "cat", "dog", "sees", "has", "fish", "boat", "today", "quietly", "house", "near"]
ENCODER = {
    "preset": "tiny",
    "family": "masked_lm",
    "width": 32,
    "layers": 1,
    "attention.heads": 2,
    "feed_forward.hidden": 64,
}
DECODER = {
    "preset": "tiny",
    "family": "causal_lm",
    "width": 32,
    "layers": 1,
    "attention.heads": 2,
    "feed_forward.hidden": 64,
}
LSTM = {"preset": "lstm_lm", "width": 32, "layers": 1}
MODELS: dict[str, dict[str, Any]] = {"encoder": ENCODER, "decoder": DECODER}


def which_word(rng: np.random.Generator) -> list[str]:
    """Which of two words occurs."""
    words = rng.choice(FILLERS, rng.integers(2, 9)).tolist()
    label = rng.choice(["good", "bad"])
    words.insert(rng.integers(len(words) + 1), {"good": "sweet", "bad": "bitter"}[label])
    return [" ".join(words), label]


def same(rng: np.random.Generator) -> list[str]:
    """Whether two texts are the same word."""
    first, other = rng.choice(FILLERS[:4], 2, replace=False).tolist()
    label = int(rng.integers(2))
    return [first, first if label else other, str(label)]


def how_many(rng: np.random.Generator) -> list[str]:
    """How often a word occurs."""
    count = int(rng.integers(5))
    words = ["fish"] * count + rng.choice(["the", "a"], 6 - count).tolist()
    rng.shuffle(words)
    return [" ".join(words), f"{count}.0"]


def write(path: Path, rule: Callable[[np.random.Generator], list[str]], count: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    rows = [rule(rng) for _ in range(count)]
    header = ["sentence", "label"] if len(rows[0]) == 2 else ["sentence", "second", "label"]
    path.write_text("\n".join("\t".join(row) for row in [header, *rows]) + "\n", encoding="utf-8")
    return path


def tables(
    folder: Path, rule: Callable[[np.random.Generator], list[str]], model: dict[str, Any], **settings: Any
) -> dict[str, Any]:
    """A run of some seconds; settings by dotted keys, with __ for the dot."""
    plain = {
        "task": "classify",
        "seed": 3,
        "out": str(folder / "run"),
        "model": {**model, "dropout": 0.0},
        "text": {"kind": "words", "vocabulary": 100},
        "data": {
            "train": [{"labelled": str(write(folder / "train.tsv", rule, 400, 1)), "licence": "CC0-1.0"}],
            "valid": [{"labelled": str(write(folder / "valid.tsv", rule, 100, 2))}],
        },
        "classify": {"pair": "second" if rule is same else "", "batch": 32},
        "train": {
            "steps": 60,
            "learning_rate": 0.01,
            "warmup": 10,
            "beta2": 0.99,
            "label_smoothing": 0.0,
            "validate_every": 30,
            "checkpoint_every": 30,
            "device": "cpu",
            "precision": "float32",
        },
    }
    return override(plain, {key.replace("__", "."): value for key, value in settings.items()})


def pretrained(folder: Path, model: dict[str, Any]) -> Path:
    """A language model, though of random weights, that knows the words of all rules."""
    words = [" ".join(FILLERS), "sweet bitter fish"]
    tokenizer = train_tokenizer(TextConfig(kind="words", vocabulary=100), words, ())
    config = replaced(preset_config("tiny"), {k: v for k, v in model.items() if k != "preset"})
    torch.manual_seed(9)
    kind = config.family
    save_model(
        folder,
        LoadedModel(build(config, tokenizer.size, tokenizer.pad), Description(config, tokenizer, Task((), kind=kind))),
    )
    return folder


@pytest.mark.parametrize("model", [ENCODER, DECODER, LSTM], ids=["encoder", "decoder", "lstm"])
def test_it_learns_which_word_occurs(tmp_path: Path, model: dict[str, Any]) -> None:
    outcome = train(resolve(tables(tmp_path, which_word, model)), silent)
    score = outcome.scores["validation set"].as_dict()
    assert score["examples"] == 100
    assert score["accuracy"] > 0.95
    assert read_json(tmp_path / "run" / "scores.json") == {"validation set": score}
    card = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert "bad, good" in card
    assert "CC0-1.0" in card


@pytest.mark.parametrize("model", MODELS)
def test_it_learns_whether_two_texts_are_the_same(tmp_path: Path, model: str) -> None:
    shape = {**MODELS[model], "layers": 2}
    recipe = resolve(tables(tmp_path, same, shape, train__steps=150, train__validate_every=150))
    assert train(recipe, silent).scores["validation set"].as_dict()["accuracy"] > 0.95


@pytest.mark.parametrize("model", MODELS)
def test_a_regression_learns_to_count(tmp_path: Path, model: str) -> None:
    settings = {"classify__regression": True, "train__steps": 120, "train__select_by": "pearson"}
    scores = train(resolve(tables(tmp_path, how_many, MODELS[model], **settings)), silent).scores
    figures = scores["validation set"].as_dict()
    assert figures["pearson"] > 0.95
    assert figures["spearman"] > 0.95


def test_the_folder_holds_a_classifier_that_gives_the_same_answers(tmp_path: Path) -> None:
    recipe = resolve(tables(tmp_path, which_word, ENCODER))
    outcome = train(recipe, silent)
    loaded = load(tmp_path / "run")
    assert isinstance(loaded.model, Classifier)
    assert loaded.task.kind == "classify"
    assert loaded.task.labels == ("bad", "good")
    assert not loaded.task.regression
    assert loaded.tokenizer is not None
    assert "body.head.dense.weight" not in weights_of(loaded.model), "an encoder's language head has no use here"
    lines = (tmp_path / "valid.tsv").read_text(encoding="utf-8").splitlines()[1:]
    hits = 0
    for text, label in (line.split("\t") for line in lines):
        ids, segments = loaded.tokenizer.frame(loaded.tokenizer.encode(text))
        with torch.no_grad():
            logits = loaded.model(torch.tensor([ids]), torch.tensor([segments]))
        hits += loaded.task.labels[int(logits.argmax())] == label
    assert hits / len(lines) == outcome.scores["validation set"].as_dict()["accuracy"]


@pytest.mark.parametrize("model", MODELS)
def test_it_starts_from_a_language_model(tmp_path: Path, model: str) -> None:
    init = pretrained(tmp_path / "init", MODELS[model])
    settings = {"classify__language_model": 0.5} if model == "decoder" else {}
    given = tables(tmp_path, which_word, {}, init=str(init), train__learning_rate=0.01, **settings)
    recipe = recipe_from(given)
    job = open_job(recipe, tmp_path / "run", torch.device("cpu"), silent)
    old = load_tensors(init / "model.safetensors")
    shared = {name: t for name, t in weights_of(job.loaded.model).items() if name.removeprefix("body.") in old}
    assert len(shared) > 10
    assert all(torch.equal(tensor, old[name.removeprefix("body.")]) for name, tensor in shared.items())
    assert job.loaded.tokenizer == load(init).tokenizer
    assert train(recipe, silent).scores["validation set"].as_dict()["accuracy"] > 0.95


def test_low_rank_learns_and_leaves_an_ordinary_model(tmp_path: Path) -> None:
    init = pretrained(tmp_path / "init", ENCODER)
    given = tables(tmp_path, which_word, {}, init=str(init), tune__lora_rank=4, train__steps=120)
    outcome = train(recipe_from(given), silent)
    assert outcome.scores["validation set"].as_dict()["accuracy"] > 0.9
    saved, old = load_tensors(tmp_path / "run" / "model.safetensors"), load_tensors(init / "model.safetensors")
    assert not any("lora" in name for name in saved)
    changed = {name.removeprefix("body.") for name in saved if name.removeprefix("body.") in old}
    changed = {name for name in changed if not torch.equal(saved[f"body.{name}"], old[name])}
    assert changed
    assert not {name for name in changed if ".self_attention." not in name and ".feed_forward." not in name}
    assert isinstance(load(tmp_path / "run").model, Classifier)
    best = step_folder(tmp_path / "run", outcome.progress.best_step)
    assert any(name.endswith("lora_down") for name in load_tensors(best / "model.safetensors"))
    merged = weights_of(load(best).model)
    assert merged.keys() == saved.keys()
    assert all(torch.equal(merged[name], saved[name]) for name in saved), "a checkpoint loads as the model it makes"


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("encoder", {"classify__batch": 0, "train__batch_tokens": 128, "train__accumulate": 2}),
        ("decoder", {"classify__language_model": 0.5, "train__ema": 0.9}),
        ("encoder", {"tune__lora_rank": 2, "tune__lora_dropout": 0.1, "tune__layer_decay": 0.9, "train__average": 2}),
        ("decoder", {"tune__lora_rank": 2, "classify__language_model": 0.5, "train__precision": "bfloat16"}),
        ("encoder", {"tune__freeze": ["embedding"], "tune__layer_decay": 0.8}),
    ],
)
def test_a_run_that_was_stopped_goes_on_exactly(tmp_path: Path, model: str, settings: dict[str, Any]) -> None:
    init = pretrained(tmp_path / "init", MODELS[model])
    common = {"init": str(init), "model__dropout": 0.1, "train__checkpoint_every": 3, "train__validate_every": 6}

    def go(out: str, steps: int) -> None:
        given = tables(tmp_path, which_word, {}, out=str(tmp_path / out), train__steps=steps, **common, **settings)
        train(recipe_from(given), silent)

    go("whole", 12)
    go("parts", 6)
    go("parts", 12)
    for name in FILES:
        left, right = (step_folder(tmp_path / out, 12) / name for out in ("whole", "parts"))
        assert same_tensors(left, right), name
    assert same_tensors(tmp_path / "whole" / "model.safetensors", tmp_path / "parts" / "model.safetensors")


def test_without_validation_data_some_are_held_out_and_test_sets_are_scored(tmp_path: Path) -> None:
    said: list[str] = []
    given = tables(tmp_path, which_word, ENCODER, train__steps=2)
    given["data"] = {"train": given["data"]["train"], "test": given["data"]["valid"]}
    outcome = train(resolve(given), said.append)
    assert outcome.scores["test set"].as_dict()["examples"] == 100
    assert any("held out" in line for line in said)


def test_long_texts_are_cut_and_that_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    train(resolve(tables(tmp_path, which_word, ENCODER, train__steps=1, data__max_tokens=6)), said.append)
    assert any("examples were cut to 6 tokens" in line for line in said)


def test_changed_data_do_not_go_on(tmp_path: Path) -> None:
    recipe = resolve(tables(tmp_path, which_word, ENCODER, train__steps=2))
    train(recipe, silent)
    write(tmp_path / "train.tsv", which_word, 400, 5)
    with pytest.raises(ConfigError, match="other data"):
        train(recipe, silent)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"classify__metrics": ["auc"]}, "no metric 'auc'"),
        ({"classify__metrics": ["pearson"]}, "cannot measure a classification"),
        ({"classify__regression": True, "classify__metrics": ["f1"]}, "cannot measure a regression"),
        ({"classify__language_model": 0.5}, "for decoders"),
        ({"classify__text": "text"}, "no column 'text'"),
        ({"model__family": "encoder_decoder"}, "cannot classify"),
        ({"text__sampling": 0.1}, "text.sampling"),
        ({"data__noise": {"preset": "usual"}}, "data.noise is for translation, not for the task classify"),
        ({"train__select_by": "f1"}, "loss, accuracy"),
        ({"tune__lora_rank": 2}, "init"),
        ({"data__train": []}, "training data"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises((ConfigError, DataError), match=problem):
        train(resolve(tables(tmp_path, which_word, ENCODER, **settings)), silent)


def test_a_label_that_training_does_not_have_is_named(tmp_path: Path) -> None:
    given = tables(tmp_path, which_word, ENCODER)
    (tmp_path / "valid.tsv").write_text("sentence\tlabel\na cat\tgood\na dog\tugly\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"valid.tsv:3: the label 'ugly' is not in the training data \(bad, good\)"):
        train(resolve(given), silent)


def opened(tmp_path: Path, model: dict[str, Any], **settings: Any) -> tuple[Recipe, Any, LabelledBatch]:
    recipe = resolve(tables(tmp_path, which_word, model, **settings))
    job = open_job(recipe, tmp_path / "run", torch.device("cpu"), silent)
    batch, _ = next(batches_from(job.stream))
    return recipe, job, batch


def test_the_losses_are_what_they_are_called(tmp_path: Path) -> None:
    recipe, job, batch = opened(tmp_path, DECODER, classify__language_model=0.5, train__label_smoothing=0.1)
    model = job.loaded.model.eval()
    logits = model(batch.tokens).log_softmax(-1)
    nll = -sum(logits[row, label] for row, label in enumerate(batch.labels.tolist()))
    smooth = 0.9 * nll - 0.1 * logits.mean(-1).sum()
    language = []
    for row in batch.tokens:
        real = row[row != model.body.pad]
        predicted = model.body(real[None])[0].log_softmax(-1)
        language += [-predicted[place, real[place + 1]] for place in range(len(real) - 1)]
    mean = torch.stack(language).mean()
    torch.testing.assert_close(language_model_loss(model, model.represent(batch.tokens), batch.tokens), mean)
    loss = objective(recipe)(model, batch)
    torch.testing.assert_close(loss.nll, nll)
    torch.testing.assert_close(loss.loss, smooth + 0.5 * batch.count * mean)


def test_the_loss_of_numbers_is_the_squared_error() -> None:
    loss = task_loss(torch.tensor([[1.0], [4.0]]), torch.tensor([2.0, 2.0]), 0.1)
    assert loss.loss.item() == loss.nll.item() == 5


def test_predictions_come_in_the_order_of_the_examples_whatever_the_batches(tmp_path: Path) -> None:
    _, job, _ = opened(tmp_path, ENCODER)
    model = job.loaded.model.eval()
    predictions, loss = predict(model, job.data.valid, 4096)
    one_by_one, same_loss = predict(model, job.data.valid, 1)
    assert predictions.tolist() == one_by_one.tolist()
    assert loss == pytest.approx(same_loss, abs=1e-5)
    assert predict(model, job.data.valid, 64, 7)[0].tolist() == predictions[:7].tolist()


def test_the_recipe_in_the_folder_goes_on(tmp_path: Path) -> None:
    recipe = resolve(tables(tmp_path, which_word, ENCODER, train__steps=2))
    train(recipe, silent)
    stored = json.loads((tmp_path / "run" / "recipe.json").read_text(encoding="utf-8"))
    assert stored["classify"]["batch"] == 32
    assert train(recipe, silent).progress.step == 2


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[3] / "recipes" / "glue").glob("*.toml")), ids=lambda p: p.stem
)
def test_the_recipes_of_glue_are_whole(path: Path) -> None:
    recipe = resolve(read_recipe(path))
    assert recipe.task == "classify"
    assert recipe.train.select_by == metric_names(recipe.classify)[0]
    assert recipe.train.validate_every <= recipe.train.steps
    assert recipe.data.valid or recipe.data.test
