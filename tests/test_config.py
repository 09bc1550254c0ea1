"""Recipes: strict keys and types, and which value wins."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from headwise import config as module
from headwise.config import CorpusConfig, DataConfig, ModelConfig, Recipe, TextConfig, TrainConfig
from headwise.data.batch.stream import Position
from headwise.errors import ConfigError
from headwise.models.build import FAMILIES, build
from headwise.models.folder.description import Task
from headwise.presets import DEFAULT, DEFAULTS, PRESETS, preset_config, resolve
from headwise.recipe import (
    dotted,
    from_tables,
    model_config,
    nested,
    override,
    parse_setting,
    read_recipe,
    replaced,
    to_tables,
)
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
            values[field.name] = default / 2 + 0.2
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
        ({"train": {"step": 5}}, r"unknown key train\.step: did you mean train\.steps\?"),
        ({"train": {"batch_token": 5}}, r"did you mean train\.batch_tokens\?"),
        ({"model": {"layer": 5}}, r"unknown key model\.layer"),
        ({"model": {"heads": 6}}, r"unknown key model\.heads: did you mean model\.attention\.heads"),
        ({"model": {"norm_order": "pre"}}, r"model\.norm_order: did you mean model\.norm\.order\?"),
        ({"model": {"rotary_base": 1.0}}, r"model\.rotary_base: did you mean model\.positions\.rotary\.base\?"),
        ({"model": {"decoder_layers": 6}}, r"model\.decoder_layers: did you mean model\.layers or "),
        ({"model.encoder_layers": 6}, r"model\.encoder_layers: did you mean model\.encoder\.layers\?"),
        ({"steps": 3}, r"unknown key steps: did you mean train\.steps\?"),
        ({"heads": 3}, r"unknown key heads: did you mean model\.attention\.heads"),
        ({"modle": {}}, r"unknown key modle: did you mean model\?"),
        ({"data": {"clean": {"max_word": 3}}}, r"data\.clean\.max_word: did you mean data\.clean\.max_words\?"),
        ({"data": {"train": [{}, {"pair": "x"}]}}, r"data\.train\[1\]\.pair: did you mean data\.train\[1\]\.pairs\?"),
        ({"xyzzy": 1}, r"unknown key xyzzy: there are: task, seed, out, init, model, text, data, .*, train"),
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
        ({"model": {"norm": "rms"}}, r"model\.norm must be a table: did you mean model\.norm\.kind\?"),
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


DEEP = [b"x = " + b"[" * 100_000, b"[" + b".".join([b"a"] * 5000) + b"]\ny = 1\n", b"x = " + b"[" * 300 + b"]" * 300]


@pytest.mark.parametrize("content", [*DEEP, b"seed = " + b"9" * 5000], ids=["list", "table", "closed list", "number"])
def test_a_file_that_would_break_the_reader_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "recipe.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"recipe\.toml: ") as caught:
        read_recipe(tmp_path / "recipe.toml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["[" * 5000, "[" * 300 + "]" * 300, "9" * 5000], ids=["open", "closed", "number"])
def test_a_setting_that_would_break_the_reader_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"--set train\.steps: "):
        parse_setting(f"train.steps={value}")
    with pytest.raises(ConfigError, match="nested too deeply"):
        parse_setting("a." * 5000 + "a=1")


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
    with pytest.raises(ConfigError, match="--set needs KEY=VALUE"):
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


# --- ranges --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model.width", 10**12, "at most 1,048,576"),
        ("model.width", 2**63, "at most"),
        ("model.width", 10**19, "at most"),
        ("model.width", 0, "at least 1"),
        ("model.layers", 10**6, "at most 1,024"),
        ("model.encoder.layers", 10**6, "at most 1,024"),
        ("model.attention.heads", -1, "at least 1"),
        ("model.attention.window", 0, "at least 1, or none"),
        ("model.attention.scale", float("nan"), "above 0"),
        ("model.feed_forward.hidden", 10**12, "at most"),
        ("model.positions.max_positions", 10**19, "at most"),
        ("model.positions.rotary.base", float("inf"), "below inf"),
        ("model.embedding.segments", -1, "at least 0"),
        ("model.patches.image_size", 10**6, "at most"),
        ("model.dropout", 1.0, "at least 0 and below 1"),
        ("text.vocabulary", -5, "at least 0"),
        ("text.vocabulary", 10**20, "at most"),
        ("train.steps", 0, "at least 1"),
        ("train.clip", float("nan"), "at least 0"),
        ("train.beta2", 1.0, "at least 0 and below 1"),
        ("language.block", 1, "at least 2"),
        ("tune.layer_decay", 0.0, "above 0 and at most 1"),
        ("seed", -1, "at least 0"),
    ],
)
def test_a_number_out_of_range_is_refused_where_it_is_read(key: str, value: float, message: str) -> None:
    with pytest.raises(ConfigError, match=rf"{re.escape(key)} must be {message}"):
        resolve(override({}, {key: value}))


@pytest.mark.parametrize("vocabulary", [-5, 10**20])
def test_a_vocabulary_that_cannot_be_is_refused(vocabulary: int) -> None:
    with pytest.raises(ConfigError, match="a vocabulary of"):
        build(preset_config("tiny"), vocabulary, 0)


@pytest.mark.parametrize("name", PRESETS)
def test_a_model_has_patches_if_it_reads_images_alone(name: str) -> None:
    config = preset_config(name)
    assert (config.patches is not None) == (config.family == "vision")
    assert name == "deep" or config.encoder is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"patches.image_size": 32}, "reads no images"),
        ({"family": "masked_lm", "encoder.layers": 2}, "set model.layers"),
        ({"family": "vision"}, "without model.patches"),
        ({"family": "vision", "patches.image_size": 30}, "multiple of model.patches.patch_size"),
        ({"encoder.width": 256}, 'set model.tie = "decoder"'),
        ({"encoder.heads": 7}, "cannot be split into 7 heads"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(model_config(values), 100, 0)


def test_the_encoder_has_the_shape_of_the_decoder_unless_told_otherwise() -> None:
    config = model_config({"layers": 2, "encoder.layers": 5, "encoder.hidden": 64})
    side = config.encoder_side
    assert (side.layers, side.feed_forward.hidden, side.width, side.attention.heads) == (5, 64, 512, 8)
    assert (config.layers, config.feed_forward.hidden) == (2, 2048)
    assert side.encoder_side == side
    assert ModelConfig().encoder_side == ModelConfig()


def test_none_takes_back_what_a_preset_gives() -> None:
    assert resolve({"model": {"preset": "bert", "pooling": {"pooler": "none"}}}).model.pooling.pooler is None
    assert replaced(preset_config("llama"), {"attention.key_value_heads": None}).attention.key_value_heads is None


def test_dotted_keys_and_nested_tables_are_the_same() -> None:
    dotted_keys = resolve({"model": {"attention.heads": 2, "attention": {"dropout": 0.5}}, "train.steps": 3})
    tables = resolve({"model": {"attention": {"heads": 2, "dropout": 0.5}}, "train": {"steps": 3}})
    assert dotted_keys == tables
    assert nested(dotted(to_tables(tables))) == to_tables(tables)


# --- presets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_recipe_beats_the_preset_beats_the_defaults(name: str) -> None:
    recipe = resolve({"model": {"preset": name, "width": 96, "norm.kind": "rms"}})
    own = {"preset": name, "width": 96, "norm.kind": "rms"}
    assert recipe.model == replaced(ModelConfig(), {**PRESETS[name], **own})
    assert recipe.train == TrainConfig()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_built(name: str) -> None:
    import torch

    with torch.device("meta"):
        model = build(preset_config(name), 1000, 0)
    stacks = {stack: len(getattr(model, stack).layers) for stack in ("encoder", "decoder") if hasattr(model, stack)}
    layers = PRESETS[name]["layers"]
    assert stacks == {stack: PRESETS[name].get(f"{stack}.layers", layers) for stack in stacks}
    assert stacks


def test_there_are_presets_of_every_family_and_for_every_task() -> None:
    assert {preset_config(name).family for name in PRESETS} == set(FAMILIES)
    assert DEFAULTS.keys() == JOBS.keys()
    for task, name in DEFAULTS.items():
        assert resolve({"task": task}).model == preset_config(name)


def test_language_models_have_a_preset_for_a_small_machine() -> None:
    for small, default in (("gpt_tiny", "gpt"), ("bert_tiny", "bert")):
        found, usual = preset_config(small), preset_config(default)
        assert found.family == usual.family
        assert found.layers * found.width**2 <= usual.layers * usual.width**2 / 8


def test_a_batch_of_images_is_not_as_large_as_one_of_tokens() -> None:
    assert resolve({"task": "images"}).train.batch_tokens <= 256 < resolve({}).train.batch_tokens
    assert resolve({"task": "images", "train": {"batch_tokens": 512}}).train.batch_tokens == 512


def test_without_a_preset_the_default_one_is_used() -> None:
    assert resolve({}).model == preset_config(DEFAULT)
    with pytest.raises(ConfigError, match="unknown preset"):
        preset_config("none")


def test_base_and_big_are_the_rows_of_table_3() -> None:
    """N, d_model, d_ff, h, dropout."""
    for name, row in (("base", (6, 512, 2048, 8, 0.1)), ("big", (6, 1024, 4096, 16, 0.3))):
        model = preset_config(name)
        assert model.encoder_side.layers == model.layers
        assert (
            model.encoder_side.layers,
            model.width,
            model.feed_forward.hidden,
            model.attention.heads,
            model.dropout,
        ) == row
        assert (model.norm.order, model.norm.kind, model.feed_forward.activation, model.positions.kind, model.tie) == (
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
