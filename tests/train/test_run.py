"""A whole run: the folder that it leaves, and what it refuses."""

import dataclasses
import hashlib
import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import headwise
from headwise.config import Recipe
from headwise.errors import ConfigError, MissingPackageError
from headwise.files.tables import read_json, read_table, write_table
from headwise.files.tensors import load_tensors
from headwise.models.folder.run_layout import checkpoints, load_weights, step_folder
from headwise.recipe import from_tables
from headwise.train.report.console import read_log
from headwise.train.report.curves import draw_curves
from headwise.train.run import Outcome, train
from headwise.train.step.averages import mean_weights
from headwise.train.tasks import translation_task
from headwise.train.tasks import translation_task as translation_module
from tests.train.small_runs import run_recipe, scripted, silent, write_corpus

QUICK = {"text.kind": "characters", "train.steps": 4, "train.accumulate": 1, "train.validate_every": 2}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def finished(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, Outcome]:
    """A run with everything switched on."""
    more = {"train.tensorboard": True, "train.validate_bleu": True, "train.log_every": 1, "train.ema": 0.5}
    recipe = run_recipe(corpus, tmp_path_factory.mktemp("finished"), {**QUICK, **more})
    return recipe, train(recipe, silent)


def test_the_model_card_names_data_licence_and_scores(finished: tuple[Recipe, Outcome], corpus: Path) -> None:
    _, outcome = finished
    card = (outcome.folder / "README.md").read_text(encoding="utf-8")
    [row] = [line for line in card.splitlines() if line.startswith(f"| {corpus}")]
    assert hashlib.sha256(corpus.read_bytes()).hexdigest() in row
    assert "CC0-1.0" in row
    assert f"| {len(corpus.read_text().splitlines())} |" in row
    [scores] = outcome.scores.values()
    for fact in (scores.bleu_signature, scores.chrf_signature, f"BLEU {scores.bleu:.2f}", "version:", "xx to yy"):
        assert fact in card
    assert "held out of the training data" in card
    assert f"Headwise {headwise.__version__}, PyTorch {torch.__version__}" in card
    assert f"those of the best validation, at step {outcome.progress.best_step}" in card


def test_scores_are_saved_as_json(finished: tuple[Recipe, Outcome]) -> None:
    _, outcome = finished
    saved = read_json(outcome.folder / "scores.json")
    assert saved == {name: score.as_dict() for name, score in outcome.scores.items()}
    assert saved["validation set"]["pairs"] == 3


def test_the_resolved_recipe_is_saved(finished: tuple[Recipe, Outcome]) -> None:
    recipe, outcome = finished
    stored = read_table(outcome.folder / "recipe.json")
    assert stored.pop("resolved").keys() == {"learning_rate", "warmup", "vocabulary"}
    assert from_tables(Recipe, stored) == recipe
    assert read_json(outcome.folder / "recipe.json")["train"]["beta2"] == 0.98, "defaults are written out"


def test_what_the_recipe_left_open_is_stated(tmp_path: Path, corpus: Path) -> None:
    """And a run goes on, whether its folder states it or is older than that."""
    open_ones = {"train.learning_rate": 0, "train.warmup": 0, "text.vocabulary": 0, "train.steps": 30}
    recipe = run_recipe(corpus, tmp_path, {**QUICK, **open_ones, "train.validate_every": 30})
    train(recipe, silent)
    stored = read_table(tmp_path / "recipe.json")
    assert (stored["train"]["learning_rate"], stored["train"]["warmup"], stored["text"]["vocabulary"]) == (0, 0, 0)
    loaded = headwise.load(tmp_path)
    assert loaded.tokenizer is not None
    peak = (16 * 4000) ** -0.5
    expected = {"learning_rate": pytest.approx(peak), "warmup": 3, "vocabulary": loaded.tokenizer.size}
    assert stored["resolved"] == expected
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"a peak learning rate of {peak:.3g} after 3 steps of warm-up" in card
    longer = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, steps=31))
    assert train(longer, silent).progress.step == 31
    older = {key: value for key, value in read_table(tmp_path / "recipe.json").items() if key != "resolved"}
    write_table(tmp_path / "recipe.json", older)
    longer = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, steps=32))
    assert train(longer, silent).progress.step == 32
    assert read_table(tmp_path / "recipe.json")["resolved"] == expected


def test_a_finished_model_stays_until_a_longer_run_has_ended(tmp_path: Path, corpus: Path) -> None:
    model, card, said = tmp_path / "model.safetensors", tmp_path / "README.md", list[str]()
    train(run_recipe(corpus, tmp_path, QUICK), silent)
    train(run_recipe(corpus, tmp_path, QUICK), said.append)
    assert not [text for text in said if "remains the model" in text], "nothing is left to do"
    before, whole = model.read_bytes(), list[bool]()

    def say(text: str) -> None:
        said.append(text)
        whole.append(model.read_bytes() == before and "4 steps" in card.read_text(encoding="utf-8"))

    said.clear()
    train(run_recipe(corpus, tmp_path, {**QUICK, "train.steps": 8}), say)
    [place] = [place for place, text in enumerate(said) if f"{model} remains the model of the shorter run" in text]
    assert all(whole[: place + 1])
    assert model.read_bytes() != before
    assert "8 steps" in card.read_text(encoding="utf-8")


def test_the_log_is_json_lines(finished: tuple[Recipe, Outcome]) -> None:
    _, outcome = finished

    def no_constant(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    lines = (outcome.folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line, parse_constant=no_constant) for line in lines]
    assert records == read_log(outcome.folder)
    assert [record["step"] for record in records if record["kind"] == "train"] == [1, 2, 3, 4]
    assert [record["step"] for record in records if record["kind"] == "valid"] == [2, 4]
    assert all(record["loss"] > 0 and record["tokens_per_second"] > 0 for record in records if "nll" in record)
    assert all("bleu" in record for record in records if record["kind"] == "valid")


def test_the_curves_are_a_picture(finished: tuple[Recipe, Outcome]) -> None:
    content = (finished[1].folder / "curves.png").read_bytes()
    assert content.startswith(PNG)
    assert content.rstrip().endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize("missing", ["bleu", "numbers", "validation"])
def test_curves_of_a_log_with_gaps(tmp_path: Path, missing: str) -> None:
    """BLEU may be switched on in the middle of a run, and a loss may be no number."""
    records: list[dict[str, Any]] = [{"kind": "train", "step": step, "nll": 1.0 / step} for step in (1, 2, 3)]
    if missing == "numbers":
        records[1]["nll"] = None
    if missing != "validation":
        records += [{"kind": "valid", "step": 1, "loss": 2.0}, {"kind": "valid", "step": 2, "loss": 1.0, "bleu": 3.0}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    path = draw_curves(tmp_path)
    assert path is not None
    assert path.read_bytes().startswith(PNG)


def test_there_are_no_curves_without_steps(tmp_path: Path) -> None:
    assert draw_curves(tmp_path) is None


def test_tensorboard_files_appear_on_request(finished: tuple[Recipe, Outcome], tmp_path: Path, corpus: Path) -> None:
    [events] = (finished[1].folder / "tensorboard").glob("events.out.tfevents.*")
    content = events.read_bytes()
    assert all(name in content for name in (b"train/loss", b"train/learning_rate", b"valid/loss", b"valid/bleu"))
    train(run_recipe(corpus, tmp_path, QUICK), silent)
    assert not (tmp_path / "tensorboard").exists()


def test_the_result_loads_and_translates(finished: tuple[Recipe, Outcome]) -> None:
    recipe, outcome = finished
    loaded = headwise.load(outcome.folder)
    assert loaded.config == recipe.model
    assert loaded.task.directions == (("xx", "yy"),)
    [result] = headwise.Translator(outcome.folder, device="cpu").translate(["the cat sees fish."], beam=2)
    assert isinstance(result.text, str)


@pytest.mark.parametrize("best", [2, 4])
def test_the_final_weights_are_those_of_the_best_validation(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, best: int
) -> None:
    """The averaged ones, since they were what was validated."""
    losses = {2: [1.0, 2.0], 4: [2.0, 1.0]}[best]
    monkeypatch.setattr(translation_module, "validator", lambda *_: scripted(losses))
    outcome = train(run_recipe(corpus, tmp_path, QUICK), silent)
    assert outcome.progress.best_step == best
    validated = load_tensors(step_folder(tmp_path, best) / "average.safetensors")
    final = load_tensors(tmp_path / "model.safetensors")
    assert all(torch.equal(final[name], tensor) for name, tensor in validated.items())
    assert f"those of the best validation, at step {best}" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("ema", [0.0, 0.5])
def test_the_final_weights_are_the_mean_of_the_last_checkpoints(tmp_path: Path, corpus: Path, ema: float) -> None:
    settings = {**QUICK, "train.average": 3, "train.keep": 4, "train.checkpoint_every": 1, "train.ema": ema}
    outcome = train(run_recipe(corpus, tmp_path, settings), silent)
    newest = [step_folder(tmp_path, step) for step in (2, 3, 4)]
    assert checkpoints(tmp_path)[1:] == newest
    name = "average.safetensors" if ema else "model.safetensors"
    expected = mean_weights([load_tensors(path / name) for path in newest])
    final = load_tensors(tmp_path / "model.safetensors")
    assert all(torch.equal(final[name], tensor) for name, tensor in expected.items())
    assert "the mean of the last 3 checkpoints" in (outcome.folder / "README.md").read_text()


def test_a_corpus_too_small_to_hold_pairs_out_trains_all_the_same(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, pairs=10)
    outcome = train(run_recipe(corpus, tmp_path / "run", QUICK), silent)
    assert (outcome.progress.step, outcome.scores) == (4, {})
    assert "None were measured." in (tmp_path / "run" / "README.md").read_text()
    final, last = load_weights(tmp_path / "run"), load_weights(step_folder(tmp_path / "run", 4))
    assert all(torch.equal(final[name], tensor) for name, tensor in last.items())


def test_two_directions_are_validated_and_scored_apart(tmp_path: Path, corpus: Path) -> None:
    outcome = train(run_recipe(corpus, tmp_path, {**QUICK, "data.both_directions": True}), silent)
    assert outcome.scores.keys() == {"validation set xx-yy", "validation set yy-xx"}
    record = next(record for record in read_log(tmp_path) if record["kind"] == "valid")
    assert record["loss"] == pytest.approx((record["loss xx-yy"] + record["loss yy-xx"]) / 2)
    assert headwise.load(tmp_path).task.directions == (("xx", "yy"), ("yy", "xx"))


def test_test_sets_are_scored_instead_of_the_validation_set(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "test.tsv").write_text("a dog has fish.\tfish has dog a !\na cat.\tcat a !\n", encoding="utf-8")
    settings = {**QUICK, "data.test": [{"pairs": [str(tmp_path / "test.tsv")]}]}
    outcome = train(run_recipe(corpus, tmp_path / "run", settings), silent)
    assert {name: score.pairs for name, score in outcome.scores.items()} == {"test set": 2}
    card = (outcome.folder / "README.md").read_text(encoding="utf-8")
    [row] = [line for line in card.splitlines() if line.startswith(f"| {tmp_path / 'test.tsv'} | test | 2 |")]
    assert hashlib.sha256((tmp_path / "test.tsv").read_bytes()).hexdigest() in row


# --- an output folder belongs to one recipe ------------------------------------------------------------


@pytest.fixture(scope="module")
def begun(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("begun")
    train(run_recipe(corpus, run, {**QUICK, "train.steps": 1}), silent)
    return run


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", 6),
        ("model.width", 32),
        ("model.dropout", 0.2),
        ("text.kind", "words"),
        ("text.sampling", 0.1),
        ("data.held_out", 5),
        ("data.target_language", "zz"),
        ("data.clean.max_words", 7),
        ("data.noise.typos", 0.1),
        ("data.train", [{"pairs": ["other.tsv"]}]),
    ],
)
def test_another_recipe_is_refused_by_the_key_that_changed(begun: Path, corpus: Path, key: str, value: object) -> None:
    before = {path.name: path.read_bytes() for path in begun.iterdir() if path.is_file()}
    with pytest.raises(ConfigError, match=rf"started with another recipe: {key}.*--init"):
        train(run_recipe(corpus, begun, {**QUICK, key: value}), silent)
    assert before == {path.name: path.read_bytes() for path in begun.iterdir() if path.is_file()}


def test_changed_data_is_refused_before_the_tokenizer_is_overwritten(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    recipe = run_recipe(corpus, tmp_path / "run", {**QUICK, "train.steps": 1})
    train(recipe, silent)
    before = (tmp_path / "run" / "tokenizer.json").read_bytes()
    corpus.write_text(corpus.read_text(encoding="utf-8").replace("cat", "Käse"), encoding="utf-8")
    with pytest.raises(ConfigError, match="started with other data"):
        train(recipe, silent)
    assert (tmp_path / "run" / "tokenizer.json").read_bytes() == before
    headwise.load(tmp_path / "run")


def test_a_folder_with_a_foreign_model_is_refused(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"precious")
    with pytest.raises(ConfigError, match="holds a model that was not trained here"):
        train(run_recipe(corpus, tmp_path, QUICK), silent)
    assert (tmp_path / "model.safetensors").read_bytes() == b"precious"


def test_a_file_is_no_output_folder(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file: cannot be the output folder"):
        train(run_recipe(corpus, tmp_path / "file", QUICK), silent)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"out": ""}, "give --out DIR"),
        *(({f"train.{key}": 0}, f"train.{key} must be at least 1") for key in ("steps", "keep", "max_nonfinite")),
        ({"train.clip": -1.0}, r"train\.clip must be at least 0"),
        ({"train.learning_rate": math.nan}, r"train\.learning_rate must be at least 0"),
        ({"train.beta2": 1.0}, r"train\.beta2 must be at least 0 and below 1"),
        ({"train.label_smoothing": 1.5}, r"train\.label_smoothing must be at least 0 and below 1"),
        ({"train.ema": -0.1}, r"train\.ema must be"),
        ({"train.select_by": "bleu"}, r"needs train\.validate_bleu"),
        ({"train.schedule": "linear"}, r"unknown train\.schedule"),
        ({"train.device": "abacus"}, "device 'abacus' cannot be used"),
        ({"model.attention.heads": 3}, "cannot be split into 3 heads"),
        ({"model.family": "mamba"}, r"unknown model\.family"),
        ({"model.positions.kind": "compass"}, r"unknown model\.positions"),
    ],
)
def test_impossible_settings_are_refused(
    tmp_path: Path, corpus: Path, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        train(run_recipe(corpus, tmp_path / "run", {**QUICK, **settings}), silent)


def test_tensorboard_that_is_not_there_is_named_before_anything_is_read(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(translation_task, "open_job", lambda *_: pytest.fail("the data was read"))
    with pytest.raises(MissingPackageError, match=r"pip install 'headwise\[tensorboard\]'"):
        train(run_recipe(corpus, tmp_path / "run", {"train.tensorboard": True}), silent)
    assert not (tmp_path / "run").exists()


def test_few_validation_pairs_are_called_few(tmp_path: Path, corpus: Path) -> None:
    said: list[str] = []
    train(run_recipe(corpus, tmp_path / "run", {"train.steps": 1}), said.append)
    assert any("validation set: only 6 sentences" in text for text in said)
