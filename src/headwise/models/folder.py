"""A trained model is a folder: weights, config, tokenizer, card. A run's folder and its checkpoints load too."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headwise.config import ModelConfig, from_tables, to_tables
from headwise.errors import CheckpointError, ConfigError
from headwise.models.build import build
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.weights import Weights, set_weights, weights_of
from headwise.storage import (
    FORMAT,
    check_folder,
    check_format,
    load_tensors,
    read_json,
    save_tensors,
    write_json,
)
from headwise.text.kinds import load_tokenizer
from headwise.text.tokenizer import Tokenizer

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
AVERAGED = "average.safetensors"
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class Task:
    """What a model was trained to translate."""

    directions: tuple[tuple[str, str], ...]
    """Pairs of language codes, source and target."""
    tags: bool = False
    """Whether a tag at the start of the source names the target language."""
    usual_tokens: int = 128
    """Nearly all training sources were at most this long: longer texts are better translated in parts."""
    max_tokens: int = 256
    """No training source was longer."""


@dataclass(frozen=True)
class LoadedModel:
    """A model with its tokenizer and what it translates."""

    model: EncoderDecoder
    tokenizer: Tokenizer
    config: ModelConfig
    task: Task


def save_description(folder: Path, config: ModelConfig, tokenizer: Tokenizer, task: Task) -> None:
    """All of a model's folder that is known before it is trained."""
    tokenizer.save(folder)
    write_json(
        folder / CONFIG,
        {
            "format": FORMAT,
            "model": to_tables(config),
            "vocabulary": tokenizer.size,
            "task": to_tables(task),
        },
    )


def save_model(folder: Path, loaded: LoadedModel) -> None:
    """A folder that `load` reads back, exactly."""
    folder.mkdir(parents=True, exist_ok=True)
    save_description(folder, loaded.config, loaded.tokenizer, loaded.task)
    save_tensors(folder / WEIGHTS, weights_of(loaded.model))


def load(folder: str | Path, device: str | torch.device = "cpu") -> LoadedModel:
    """The model in a folder: a trained one, a checkpoint, or a run that is still going (its best so far)."""
    folder = Path(folder)
    if not folder.is_dir():
        raise CheckpointError(f"{folder}: no such model folder")
    home = _home(folder)
    described = read_json(home / CONFIG)
    check_format(home / CONFIG, described)
    config, task = _describe(home / CONFIG, described)
    tokenizer = load_tokenizer(home)
    if tokenizer.size != described["vocabulary"]:
        raise CheckpointError(
            f"{home}: the tokenizer has {tokenizer.size} tokens, the model {described['vocabulary']}: "
            "they are not of one run"
        )
    with torch.device("meta"):
        model = build(config, tokenizer.size, tokenizer.pad)
    model.to_empty(device=device)
    set_weights(model, load_weights(folder), str(folder))
    return LoadedModel(model.eval(), tokenizer, config, task)


def load_weights(folder: Path) -> Weights:
    """The weights that a model folder, a checkpoint or a run's folder would translate with."""
    if (folder / WEIGHTS).exists() or not (folder / CHECKPOINTS).is_dir():
        if (folder / "state.json").exists():
            check_folder(folder)
        averaged = folder / AVERAGED
        return load_tensors(averaged if averaged.exists() else folder / WEIGHTS)
    finished = sorted((folder / CHECKPOINTS).glob("step-*"))
    if not finished:
        raise CheckpointError(f"{folder}: training has saved no checkpoint yet")
    best = folder / CHECKPOINTS / f"step-{read_json(finished[-1] / 'state.json')['best_step']:08d}"
    return load_weights(best if best.is_dir() else finished[-1])


def _home(folder: Path) -> Path:
    """The folder that holds config and tokenizer: a checkpoint's are its run's."""
    for home in (folder, folder.resolve().parent.parent):
        if (home / CONFIG).is_file():
            return home
    raise CheckpointError(f"{folder}: not a model folder (it has no {CONFIG})")


def _describe(path: Path, described: dict[str, Any]) -> tuple[ModelConfig, Task]:
    try:
        return from_tables(ModelConfig, described["model"], "model."), from_tables(Task, described["task"])
    except (KeyError, ConfigError) as error:
        raise CheckpointError(f"{path}: damaged: {error}") from None
