"""A model on its device, ready to answer: what the text-in, text-out classes have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from headwise.config import ModelConfig
from headwise.devices import best_device
from headwise.errors import CheckpointError, ConfigError
from headwise.models.folder.config_file import is_int8
from headwise.models.folder.description import COMMANDS, LoadedModel, Task
from headwise.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from torch import nn

M = TypeVar("M", bound="nn.Module")


@dataclass(frozen=True)
class Served(Generic[M]):
    """The parts of a loaded model, of a known kind."""

    model: M
    tokenizer: Tokenizer
    config: ModelConfig
    task: Task
    device: torch.device
    loaded: LoadedModel
    """The model with its whole description."""
    other_ends: tuple[int, ...] = ()
    """Tokens that end a text as the tokenizer's eos does."""


def open_model(model: str | Path | LoadedModel, device: str) -> tuple[LoadedModel, torch.device]:
    """The model on the device, from its folder if need be."""
    import torch

    from headwise.models.folder.load import load

    chosen = best_device(device)
    if isinstance(model, LoadedModel):
        return model, chosen
    if is_int8(model):
        if device not in ("auto", "cpu"):
            raise ConfigError(f"{model}: its weights are int8, which is for CPUs: leave out --device {device}")
        chosen = torch.device("cpu")
    return load(model, chosen, int8=True), chosen


def serve(model: str | Path | LoadedModel, device: str, kind: type[M], what: str) -> Served[M]:
    """A model of this kind with its tokenizer; the wrong kind is an error that says what the model is for."""
    loaded, chosen = open_model(model, device)
    if not isinstance(loaded.model, kind):
        command = COMMANDS.get(loaded.task.kind, "headwise info")
        name = model if isinstance(model, str | Path) else "this model"
        raise ConfigError(f"{name}: not a model that {what}: it is for `{command}`")
    tokenizer = the_tokenizer(loaded, model)
    ends = tuple(end for end in loaded.description.specials.ends if end != tokenizer.eos)
    return Served(loaded.model.to(chosen).eval(), tokenizer, loaded.config, loaded.task, chosen, loaded, ends)


def depends_on_length(model: nn.Module) -> bool:
    """Whether the longest row of a batch changes what the others are given (dynamic NTK, LongRoPE)."""
    from headwise.nn.positions import Rotary

    return any(isinstance(part, Rotary) and part.frequencies.asks_for_values for part in model.modules())


def the_tokenizer(loaded: LoadedModel, model: str | Path | LoadedModel) -> Tokenizer:
    if loaded.tokenizer is None:
        name = model if isinstance(model, str | Path) else "this model"
        raise CheckpointError(f"{name}: it has no tokenizer that is known here, so it cannot take text")
    return loaded.tokenizer
