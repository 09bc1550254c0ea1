"""Opens models for inference: the common part of `Translator`, `Generator`, `Filler`, `Embedder` and `Labeller`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from headwise.bundled.find import find_model, is_published
from headwise.config import ModelConfig
from headwise.decode.engines.native.library import why_not
from headwise.decode.engines.table import AUTO, check_engine
from headwise.devices import best_device
from headwise.errors import CheckpointError, ConfigError, HeadwiseError
from headwise.models.folder.config_file import check_folder, int8_version, is_int8
from headwise.models.folder.description import COMMANDS, INT8, LoadedModel, Task
from headwise.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

M = TypeVar("M", bound="nn.Module")


@dataclass(frozen=True)
class OpenedModel(Generic[M]):
    """A model of a known kind on its device, with its tokenizer and description."""

    model: M
    tokenizer: Tokenizer
    config: ModelConfig
    task: Task
    device: torch.device
    loaded: LoadedModel
    """The loaded model that these are parts of."""
    other_ends: tuple[int, ...] = ()
    """Tokens that end a text like the tokenizer's `<eos>`."""


def open_model(model: str | Path | LoadedModel, device: str) -> tuple[LoadedModel, torch.device]:
    """Load a model by its path or its name, unless it is loaded already, and choose its device."""
    import torch

    from headwise.models.folder.load import load

    chosen = best_device(device)
    if isinstance(model, LoadedModel):
        return model, chosen
    folder = find_model(model)
    if is_int8(folder):
        if device not in ("auto", "cpu"):
            raise ConfigError(f"{model}: its weights are int8, which is for CPUs: leave out --device {device}")
        chosen = torch.device("cpu")
    return load(folder, chosen, int8=True), chosen


def open_as(model: str | Path | LoadedModel, device: str, kind: type[M], what: str) -> OpenedModel[M]:
    """Open a model of this kind with its tokenizer; for another kind, the error names the command for it."""
    loaded, chosen = open_model(model, device)
    if not isinstance(loaded.model, kind):
        command = COMMANDS.get(loaded.task.kind, "headwise info")
        name = model if isinstance(model, str | Path) else "this model"
        raise ConfigError(f"{name}: not a model that {what}: it is for `{command}`")
    tokenizer = the_tokenizer(loaded, model)
    ends = tuple(end for end in loaded.description.specials.ends if end != tokenizer.eos)
    return OpenedModel(loaded.model.to(chosen).eval(), tokenizer, loaded.config, loaded.task, chosen, loaded, ends)


def torch_use(folder: Path, engine: str, device: str) -> str:
    """What in these choices needs PyTorch, for the error of a Translator where it is not installed.

    An engine or a model that does not exist is an error of its own: PyTorch would not help.
    """
    check_engine(engine)
    if not is_published(folder):
        check_folder(folder)
    if engine not in (AUTO, INT8):
        return f"the engine {engine}"
    if device not in ("auto", "cpu"):
        return f"the device {device}"
    if is_int8(int8_version(folder)):
        return f"{folder}: an int8 model that the native engine cannot run ({why_not() or 'it has unknown parts'})"
    return f"{folder}: a model that is not int8 (`headwise convert --precision int8` makes one that is)"


def depends_on_length(model: nn.Module) -> bool:
    """Whether the longest row of a batch changes the positions of the others (dynamic NTK, LongRoPE)."""
    from headwise.nn.positions import Rotary

    return any(isinstance(part, Rotary) and part.frequencies.asks_for_values for part in model.modules())


def the_tokenizer(loaded: LoadedModel, model: str | Path | LoadedModel) -> Tokenizer:
    """The tokenizer of a model; an error that names the model if it has none."""
    if loaded.tokenizer is None:
        name = model if isinstance(model, str | Path) else "this model"
        raise CheckpointError(f"{name}: it has no tokenizer that Headwise can read, so it cannot take text")
    return loaded.tokenizer


def check_finite(outputs: Tensor) -> None:
    """Raise an error if a model's outputs are NaN or infinite."""
    if not bool(outputs.isfinite().all()):
        raise HeadwiseError("the model's outputs are NaN or infinite: its weights are damaged")
