"""Fine-tuning: which weights of a trained model learn, at which rate, and whether by low-rank matrices (LoRA)."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

from torch import nn

from headwise.config import Recipe, TuneConfig
from headwise.errors import ConfigError
from headwise.models.folder.weights import weights_of
from headwise.nn.lora import add_lora

ADAPTED = ("self_attention", "cross_attention", "feed_forward")
"""Parts of a layer whose matrices LoRA adapts."""

BODY = "body."
"""The prefix of the model inside a classifier; names in a recipe may leave it out."""

CLASSIFIER = "output."
"""The prefix of a classifier's output layer."""

BELOW = re.compile(r"(^|[._])(embedding|positions|segments|tasks)")
"""Matches the names of weights below the first layer."""

LAYER = re.compile(r"^(.*?)\blayers\.(\d+)\.")


def check_tuning(recipe: Recipe) -> None:
    """Refuse impossible settings of the tune table, before anything is read."""
    config = recipe.tune
    if not recipe.init and config != TuneConfig():
        raise ConfigError("the tune table changes a trained model: name its folder in init")
    if config.blend < 1 and config.lora_rank:
        raise ConfigError("tune.blend is for whole weights: with tune.lora_rank, lower tune.lora_alpha instead")
    if config.blend < 1 and recipe.task in ("classify", "images"):
        raise ConfigError(f"tune.blend is not for the task {recipe.task}: its output layer is new, and has no start")


def tune(model: nn.Module, recipe: Recipe) -> None:
    """Prepare the model for fine-tuning, in place: add LoRA matrices, and freeze what does not learn.

    With LoRA, all weights of a classifier's output layer learn, because the layer or its classes are new.
    """
    config = recipe.tune
    if config.lora_rank:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name.startswith(CLASSIFIER))
        if not add_lora(model, config.lora_rank, config.lora_alpha, config.lora_dropout, ADAPTED):
            raise ConfigError("tune.lora_rank: this model has no attention or feed-forward to adapt")
    freeze(model, config.freeze)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigError(f"tune.freeze leaves nothing to learn: {', '.join(config.freeze)}")


def freeze(model: nn.Module, beginnings: Iterable[str]) -> None:
    """Freeze weights whose names begin with one of these, by whole parts: `layers.1` does not match `layers.10`."""
    own = weights_of(model)
    for beginning in beginnings:
        matching = [parameter for name, parameter in own.items() if begins(name, beginning)]
        if not matching:
            known = _beginnings(own)
            near = difflib.get_close_matches(beginning, known, n=5, cutoff=0.5) or known[:12]
            raise ConfigError(f"tune.freeze: no weight's name begins with {beginning!r}; there are: {', '.join(near)}")
        for parameter in matching:
            parameter.requires_grad_(False)


def begins(name: str, beginning: str) -> bool:
    names = (name, name.removeprefix(BODY))
    start = beginning.removesuffix(".")
    return bool(start) and any(each == start or each.startswith(f"{start}.") for each in names)


def parameter_groups(model: nn.Module, recipe: Recipe) -> list[dict[str, Any]]:
    """The parameter groups of an optimiser: the weights that learn, with their weight decay and `scale`, the factor of
    their learning rate. Only matrices decay."""
    decay = recipe.train.weight_decay
    scales = layer_scales(weights_of(model), recipe.tune.layer_decay)
    groups: dict[tuple[float, bool], dict[str, Any]] = {}
    learning = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    for matrices in (True, False):
        for name, parameter in learning:
            if (parameter.dim() > 1) == matrices:
                group = {"params": [], "weight_decay": decay if matrices else 0.0, "scale": scales[name]}
                groups.setdefault((scales[name], matrices), group)["params"].append(parameter)
    return list(groups.values())


def layer_scales(names: Iterable[str], decay: float) -> dict[str, float]:
    """The factor of the learning rate by weight name: 1 above the layers, `decay` for the highest layer, its square for
    the next one, down to the embeddings below the first. Each stack counts its own layers."""
    names = list(names)
    stacks: dict[str, int] = {}
    for name in names:
        if match := LAYER.match(name):
            stacks[match[1]] = max(stacks.get(match[1], 0), int(match[2]) + 1)
    highest = max(stacks.values(), default=0)

    def below_top(name: str) -> int:
        if match := LAYER.match(name):
            return stacks[match[1]] - int(match[2])
        return highest + 1 if BELOW.search(name) else 0

    return {name: decay ** below_top(name) for name in names}


def _beginnings(names: Iterable[str]) -> list[str]:
    """Prefixes of names that can be frozen, shortest first."""
    known: dict[str, None] = {}
    for depth in (1, 2, 3):
        for name in names:
            parts = name.removeprefix(BODY).split(".")
            if len(parts) > depth or depth == 1:
                known[".".join(parts[:depth])] = None
    return list(known)
