"""The model that a run starts with: initialised from the recipe's seed, or loaded from `recipe.init`."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headwise.bundled.find import find_model
from headwise.config import ModelConfig, Recipe
from headwise.errors import ConfigError
from headwise.models.build import build
from headwise.models.folder.config_file import load_description
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.models.folder.load import read_float_model, read_tokenizer
from headwise.models.folder.weights import Weights, set_weights, weights_of
from headwise.models.published.read_folder import is_foreign, read_published
from headwise.presets import PRESETS, preset_config, resolve
from headwise.recipe import NONE, check_keys, dotted, nested, overlaid, to_tables
from headwise.text.tokenizer import Tokenizer

PARTS = frozenset({"classes", "pooling.kind", "output.language_head", "output.next_sentence"})
FREE = PARTS | {"dropout", "attention.dropout", "feed_forward.dropout"}
"""Keys of the model table that may differ from those of the model in `init`; all others are its shape."""

LEARNING_RATE = 5e-5
"""Peak learning rate with `init`, unless the recipe gives one: low, to preserve what the model has learnt."""

HEADS = ("output.", "head.", "pooler.", "next_sentence.", "output_projection.")
"""Prefixes of weights that belong to a task: for another task they are initialised or dropped."""


def recipe_from(tables: dict[str, Any]) -> Recipe:
    """The whole recipe from its tables; with `init`, the model has the shape of the one in that folder."""
    init = tables.get("init")
    if not init or init == NONE:
        return resolve({**tables, "init": ""})
    given = tables.get("model", {})
    if not isinstance(given, dict):
        raise ConfigError("model must be a table")
    given = nested(given)
    check_keys(ModelConfig, given, "model.")
    shape = to_tables(folder_config(str(init)))
    recipe = resolve({**tables, "model": overlaid(shape, given)})
    for key, ours, theirs in _differences(recipe.model, shape):
        raise ConfigError(
            f"model.{key} = {ours!r}, but the model in {init} has {theirs!r}: a run that starts from a model has its "
            f"shape (these can be changed: {', '.join(sorted(FREE))})"
        )
    if recipe.train.learning_rate == 0:
        recipe = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, learning_rate=LEARNING_RATE))
    return recipe


def _differences(config: ModelConfig, shape: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The keys of a config that are not free and differ from the tables of a shape, with both values."""
    ours, theirs = dotted(to_tables(config)), dotted(shape)
    for key in dict.fromkeys((*ours, *theirs)):
        if key not in FREE and ours.get(key) != theirs.get(key):
            yield key, ours.get(key), theirs.get(key)


def presets_of(family: str) -> str:
    """The names of a family's presets."""
    return ", ".join(name for name in PRESETS if preset_config(name).family == family)


def folder_config(init: str) -> ModelConfig:
    """The config of the model that `init` names."""
    folder = find_model(init)
    return (read_published(folder)[0] if is_foreign(folder) else load_description(folder)).config


def starting_point(recipe: Recipe, device: torch.device) -> LoadedModel | None:
    """The model in `recipe.init` with the settings that the recipe may change; None without `init`.

    Parts that the model in the folder lacks (a classifier's output) are initialised from the seed.
    """
    if not recipe.init:
        return None
    description, weights = read_float_model(recipe.init)
    if description.tokenizer is None and recipe.task != "images":
        raise ConfigError(
            f"{recipe.init}: no tokenizer that Headwise can read was found, and training on text needs one"
        )
    for key, _, _ in _differences(recipe.model, to_tables(description.config)):
        raise ConfigError(
            f"model.{key} of the recipe is not that of {recipe.init}: build the recipe with "
            "headwise.train.start.recipe_from"
        )
    model = new_model(recipe, description.rows, description.specials.pad)
    before, after = (dotted(to_tables(config)) for config in (description.config, recipe.model))
    if any(before[key] != after[key] for key in PARTS):
        weights = transferred(weights, weights_of(model), recipe.init)
    set_weights(model, weights, recipe.init)
    return LoadedModel(model.to(device), dataclasses.replace(description, config=recipe.model))


def given_tokenizer(start: LoadedModel | None, recipe: Recipe) -> Tokenizer | None:
    """The starting point's tokenizer, or that of `text.folder`; None: one has to be trained."""
    if start is None:
        return read_tokenizer(Path(recipe.text.folder)) if recipe.text.folder else None
    if recipe.text.folder:
        raise ConfigError(f"text.folder = {recipe.text.folder!r}, but the model in {recipe.init} has its own tokenizer")
    return start.tokenizer


def first_model(
    start: LoadedModel | None, recipe: Recipe, tokenizer: Tokenizer, task: Task, device: torch.device
) -> LoadedModel:
    """The model to train on this task: the starting point, if there is one, else a new model."""
    if start is not None:
        task = dataclasses.replace(task, published=start.task.published)
        return LoadedModel(start.model, dataclasses.replace(start.description, task=task))
    model = new_model(recipe, tokenizer.size, tokenizer.pad).to(device)
    return LoadedModel(model, Description(recipe.model, tokenizer, task))


def new_model(recipe: Recipe, vocabulary: int, pad: int) -> nn.Module:
    """The recipe's model before its first step, initialised from its seed."""
    torch.manual_seed(recipe.seed)
    return build(recipe.model, vocabulary, pad)


def transferred(old: Weights, new: Weights, where: str) -> Weights:
    """The old weights under the new names; only weights of a task may be missing or left over."""
    by_name = {_plain(name): tensor for name, tensor in old.items()}
    weights: Weights = {}
    for name, tensor in new.items():
        found = by_name.pop(_plain(name), None)
        if found is not None and found.shape == tensor.shape:
            weights[name] = found
        elif _plain(name).startswith(HEADS):
            weights[name] = tensor
        else:
            raise ConfigError(f"{where}: its model has no {name} of the shape {tuple(tensor.shape)}")
    left = [name for name in by_name if not name.startswith(HEADS)]
    if left:
        raise ConfigError(f"{where}: its model has {left[0]}, for which this task has no place")
    return weights


def _plain(name: str) -> str:
    """The name without the prefix of a classifier's body."""
    return name.removeprefix("body.")
