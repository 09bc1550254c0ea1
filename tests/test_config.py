"""Recipes: strict keys and types, and which value wins."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from headwise import config as module
from headwise.config import (
    CorpusConfig,
    DataConfig,
    ModelConfig,
    Recipe,
    TextConfig,
    TrainConfig,
    from_tables,
    override,
    parse_setting,
    read_recipe,
    to_tables,
)
from headwise.data.batch.stream import Position
from headwise.errors import ConfigError
from headwise.models.build import FAMILIES, build
from headwise.models.folder.description import Task
from headwise.presets import DEFAULT, DEFAULTS, PRESETS, preset_config, resolve
from headwise.train.checkpoint.run_state import RunState
from headwise.train.run import JOBS

CONFIGS = [kind for kind in vars(module).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]


def changed(kind: type) -> Any:
    """An instance in which no plain field has its default value."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        default = field.default if field.default is not dataclasses.MISSING else None
        if isinstance(default, bool):
            values[field.name] = not default
        elif isinstance(default, int):
            values[field.name] = default + 3
        elif isinstance(default, float):
            values[field.name] = default + 1 / 3
    return kind(**values)


@pytest.mark.parametrize("kind", CONFIGS, ids=lambda kind: kind.__name__)
def test_every_config_round_trips_through_json(kind: type) -> None:
    for instance in (kind(), changed(kind)):
        assert from_tables(kind, json.loads(json.dumps(to_tables(instance)))) == instance
    assert from_tables(kind, {}) == kind()


def test_a_whole_recipe_round_trips() -> None:
    corpora = (CorpusConfig(pairs=("a.tsv", "b.tsv"), weight=0.5), CorpusConfig(source=("s",), target=("t",)))
    data = DataConfig(train=corpora, valid=corpora[:1], source_language="en", clean=changed(module.CleanConfig))
    recipe = Recipe(seed=9, out="x", model=changed(ModelConfig), text=changed(TextConfig), data=data)
    assert from_tables(Recipe, to_tables(recipe)) == recipe
    assert resolve(to_tables(recipe)) == recipe, "a resolved recipe is resolved"


@pytest.mark.parametrize(
    "value",
    [
        RunState(step=3, position=Position(1, 2), best_metric=0.1),
        RunState(best_metric=None),
        Task((("en", "de"), ("", "")), tags=True),
    ],
)
def test_other_descriptions_round_trip(value: object) -> None:
    assert from_tables(type(value), to_tables(value)) == value


@pytest.mark.parametrize("kind", CONFIGS, ids=lambda kind: kind.__name__)
def test_every_config_is_frozen(kind: type) -> None:
    name = dataclasses.fields(kind)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(kind(), name, None)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"train": {"step": 5}}, r"unknown key train\.step; did you mean train\.steps\?"),
        ({"train": {"batch_token": 5}}, r"did you mean train\.batch_tokens\?"),
        ({"model": {"layer": 5}}, r"unknown key model\.layer"),
        ({"modle": {}}, r"unknown key modle; did you mean model\?"),
        ({"data": {"clean": {"max_word": 3}}}, r"data\.clean\.max_word; did you mean data\.clean\.max_words\?"),
        ({"data": {"train": [{}, {"pair": "x"}]}}, r"data\.train\[1\]\.pair; did you mean data\.train\[1\]\.pairs\?"),
        ({"xyzzy": 1}, r"unknown key xyzzy; there are: task, seed, out, init, model, text, data, .*, train"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(tables)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"seed": "one"}, "seed must be a whole number, not 'one'"),
        ({"seed": 1.0}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"out": 3}, "out must be a string"),
        ({"train": {"ema": "high"}}, r"train\.ema must be a number, not 'high'"),
        ({"train": {"ema": True}}, r"train\.ema must be a number"),
        ({"train": {"tensorboard": 1}}, r"train\.tensorboard must be true or false, not 1"),
        ({"train": {"steps": None}}, r"train\.steps must be a whole number"),
        ({"train": 5}, "train must be a table"),
        ({"model": 5}, "model must be a table"),
        ({"model": [1]}, "model must be a table"),
        ({"data": {"clean": "much"}}, r"data\.clean must be a table"),
        ({"data": {"train": ["a.tsv"]}}, r"data\.train\[0\] must be a table"),
        ({"data": {"train": [{"pairs": ["a", 2]}]}}, r"data\.train\[0\]\.pairs\[1\] must be a string, not 2"),
        ({"model": {"tie": "some"}}, r"model\.tie must be one of all, decoder, embeddings, none, not 'some'"),
        ({"train": {"select_by": 3}}, r"train\.select_by must be a string"),
        ({"train": {"precision": 16}}, r"train\.precision must be one of auto, float32, bfloat16"),
        ({"text": {"tags": []}}, r"text\.tags must be one of"),
        ({"model": {"preset": "huge"}}, r"unknown preset 'huge'; there are: tiny, small, base, big, deep"),
        ({"model": {"preset": ["tiny"]}}, "unknown preset"),
    ],
)
def test_a_wrong_type_is_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(tables)


def test_what_may_be_written_shorter() -> None:
    """A whole number for a number, and one thing for a list of one."""
    recipe = resolve({"train": {"clip": 2}, "data": {"train": {"pairs": "a.tsv"}}})
    assert (recipe.train.clip, type(recipe.train.clip)) == (2.0, float)
    assert recipe.data.train == (CorpusConfig(pairs=("a.tsv",)),)


# --- files and settings --------------------------------------------------------------------------------


def test_a_recipe_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(
        'seed = 3\n[model]\npreset = "tiny"\n[train]\nsteps = 7\n[[data.train]]\npairs = ["ä.tsv"]\n', encoding="utf-8"
    )
    recipe = resolve(read_recipe(path))
    assert (recipe.seed, recipe.train.steps, recipe.data.train[0].pairs) == (3, 7, ("ä.tsv",))
    assert recipe.model == preset_config("tiny")


@pytest.mark.parametrize("content", [b"seed = \n", b"seed 3", b"[train\n", b"\xff\xfe", b"seed = 1\nseed = 2\n"])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "recipe.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"recipe\.toml: not valid TOML"):
        read_recipe(tmp_path / "recipe.toml")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: no such recipe"):
        read_recipe(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r": Is a directory"):
        read_recipe(tmp_path)


@pytest.mark.parametrize(
    ("setting", "name", "value"),
    [
        ("train.steps=5", "train.steps", 5),
        ("train.ema=0.5", "train.ema", 0.5),
        ("train.tensorboard=true", "train.tensorboard", True),
        ("model.preset=tiny", "model.preset", "tiny"),
        ('model.preset="tiny"', "model.preset", "tiny"),
        (" out = a b ", "out", " a b "),
        ("out=", "out", ""),
        ("out=a=b", "out", "a=b"),
        ("out=/tmp/x-1", "out", "/tmp/x-1"),
        ('data.train=[{pairs=["a.tsv"]}]', "data.train", [{"pairs": ["a.tsv"]}]),
    ],
)
def test_a_setting_is_read_as_toml_or_as_it_stands(setting: str, name: str, value: object) -> None:
    found = parse_setting(setting)
    assert found == (name, value)
    assert type(found[1]) is type(value)


@pytest.mark.parametrize("setting", ["train.steps", "=5", " =5", ""])
def test_a_setting_without_key_or_value_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match="--set wants key=value"):
        parse_setting(setting)


def test_settings_lie_over_tables_and_leave_them_alone() -> None:
    tables = {"train": {"steps": 1, "ema": 0.5}}
    result = override(tables, {"train.steps": 2, "model.width": 64, "seed": 3, "data.clean.max_words": 4})
    assert result == {
        "train": {"steps": 2, "ema": 0.5},
        "model": {"width": 64},
        "seed": 3,
        "data": {"clean": {"max_words": 4}},
    }
    assert tables == {"train": {"steps": 1, "ema": 0.5}}


def test_a_setting_below_what_is_no_table_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"cannot set seed\.x: seed is not a table"):
        override({"seed": 1}, {"seed.x": 2})
    with pytest.raises(ConfigError, match=r"cannot set data\.train\.pairs: train is not a table"):
        override({"data": {"train": [{}]}}, {"data.train.pairs": "x"})


# --- presets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_recipe_beats_the_preset_beats_the_defaults(name: str) -> None:
    recipe = resolve({"model": {"preset": name, "width": 96, "norm": "rms"}})
    expected = {**to_tables(ModelConfig()), **PRESETS[name], "preset": name, "width": 96, "norm": "rms"}
    assert to_tables(recipe.model) == expected
    assert recipe.train == TrainConfig()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_built(name: str) -> None:
    import torch

    with torch.device("meta"):
        model = build(preset_config(name), 1000, 0)
    stacks = {stack: len(getattr(model, stack).layers) for stack in ("encoder", "decoder") if hasattr(model, stack)}
    assert stacks == {stack: PRESETS[name][f"{stack}_layers"] for stack in stacks}
    assert stacks


def test_there_are_presets_of_every_family_and_for_every_task() -> None:
    assert {preset_config(name).family for name in PRESETS} == set(FAMILIES)
    assert DEFAULTS.keys() == JOBS.keys()
    for task, name in DEFAULTS.items():
        assert resolve({"task": task}).model == preset_config(name)


def test_without_a_preset_the_default_one_is_used() -> None:
    assert resolve({}).model == preset_config(DEFAULT)
    with pytest.raises(ConfigError, match="unknown preset"):
        preset_config("none")


def test_base_and_big_are_the_rows_of_table_3() -> None:
    """N, d_model, d_ff, h, dropout."""
    for name, row in (("base", (6, 512, 2048, 8, 0.1)), ("big", (6, 1024, 4096, 16, 0.3))):
        model = preset_config(name)
        assert model.encoder_layers == model.decoder_layers
        assert (model.encoder_layers, model.width, model.hidden, model.heads, model.dropout) == row
        assert (model.norm_order, model.norm, model.activation, model.positions, model.tie) == (
            "post",
            "layer",
            "relu",
            "sinusoidal",
            "all",
        )
    train = TrainConfig()
    assert (train.beta1, train.beta2, train.epsilon, train.label_smoothing) == (0.9, 0.98, 1e-9, 0.1)


def test_the_shipped_recipes_are_valid() -> None:
    found = sorted((Path(__file__).parent.parent / "recipes").rglob("*.toml"))
    assert found
    for path in found:
        assert resolve(read_recipe(path)).data.train, path
