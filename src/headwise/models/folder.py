"""A trained model is a folder: weights, config, tokenizer, card. A run's folder and its checkpoints load too."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headwise.atomic import write_json
from headwise.config import ModelConfig, from_tables, to_tables
from headwise.errors import CheckpointError, ConfigError
from headwise.models.build import build
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.weights import Weights, adopt_weights, weights_of
from headwise.storage import (
    FORMAT,
    check_folder,
    check_format,
    load_tensors,
    read_json,
    save_tensors,
    text_digest,
)
from headwise.text.kinds import load_tokenizer
from headwise.text.tokenizer import Tokenizer

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
AVERAGED = "average.safetensors"
CHECKPOINTS = "checkpoints"
STATE = "state.json"
"""In a checkpoint: where the run stood."""


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

    @property
    def how_to_ask(self) -> str:
        """The options that `headwise translate` needs for this model."""
        targets = dict.fromkeys(target for _, target in self.directions)
        return f" --to {next(iter(targets))}" if len(targets) > 1 else ""


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
    described = {
        "format": FORMAT,
        "model": to_tables(config),
        "vocabulary": tokenizer.size,
        "task": to_tables(task),
    }
    write_json(folder / CONFIG, {**described, "digest": _digest(described)})


def save_model(folder: Path, loaded: LoadedModel) -> None:
    """A folder that `load` reads back, exactly."""
    folder.mkdir(parents=True, exist_ok=True)
    save_description(folder, loaded.config, loaded.tokenizer, loaded.task)
    save_tensors(folder / WEIGHTS, weights_of(loaded.model))


def load(folder: str | Path, device: str | torch.device = "cpu") -> LoadedModel:
    """The model in a folder: a trained one, a checkpoint, or a run that is still going (its best so far)."""
    folder = Path(folder)
    if not folder.is_dir():
        what = "is a file, not a model folder" if folder.exists() else "no such model folder"
        raise CheckpointError(f"{folder}: {what}")
    config, tokenizer, task = load_description(folder)
    try:
        with torch.device("meta"):
            model = build(config, tokenizer.size, tokenizer.pad)
    except ConfigError as error:
        raise CheckpointError(f"{folder}: its {CONFIG} describes no model: {error}") from None
    adopt_weights(model, load_weights(folder), str(folder))
    return LoadedModel(model.to(device).eval(), tokenizer, config, task)


def load_description(folder: Path) -> tuple[ModelConfig, Tokenizer, Task]:
    """All of a model but its weights."""
    home = _home(folder)
    path = home / CONFIG
    described = read_json(path)
    check_format(path, described)
    config, task = _describe(path, described)
    tokenizer = load_tokenizer(home)
    if tokenizer.size != described.get("vocabulary"):
        raise CheckpointError(
            f"{home}: the tokenizer has {tokenizer.size} tokens, the model {described.get('vocabulary')}: "
            "they are not of one run"
        )
    digest = described.pop("digest", None)
    if digest is not None and digest != _digest(described):
        raise CheckpointError(f"{path}: altered: its content does not match its digest")
    return config, tokenizer, task


def step_folder(run: Path, step: int) -> Path:
    return run / CHECKPOINTS / f"step-{step:08d}"


def checkpoints(run: Path) -> list[Path]:
    """The finished checkpoints of a run, oldest first."""
    return sorted((run / CHECKPOINTS).glob("step-*"))


def load_weights(folder: Path) -> Weights:
    """The weights that a model folder, a checkpoint or a run's folder would translate with."""
    if (folder / WEIGHTS).exists() or not (folder / CHECKPOINTS).is_dir():
        if (folder / STATE).exists():
            check_folder(folder)
        averaged = folder / AVERAGED
        return load_tensors(averaged if averaged.exists() else folder / WEIGHTS)
    finished = checkpoints(folder)
    if not finished:
        raise CheckpointError(f"{folder}: training has saved no checkpoint yet")
    state = read_json(finished[-1] / STATE)
    best_step = state.get("best_step") if isinstance(state, dict) else None
    if not isinstance(best_step, int):
        raise CheckpointError(f"{finished[-1] / STATE}: damaged: it names no best step")
    best = step_folder(folder, best_step)
    return load_weights(best if best.is_dir() else finished[-1])


def _home(folder: Path) -> Path:
    """The folder that holds config and tokenizer: a checkpoint's are its run's."""
    for home in (folder, folder.resolve().parent.parent):
        if (home / CONFIG).is_file():
            return home
    raise CheckpointError(f"{folder}: not a model folder (it has no {CONFIG})")


def _describe(path: Path, described: dict[str, Any]) -> tuple[ModelConfig, Task]:
    for part in ("model", "task"):
        if not isinstance(described.get(part), dict):
            raise CheckpointError(f"{path}: damaged: it has no table {part}")
    try:
        config = from_tables(ModelConfig, described["model"], "model.")
        task = from_tables(Task, described["task"], "task.")
    except (TypeError, ConfigError) as error:  # TypeError: a field without a default is missing
        raise CheckpointError(f"{path}: damaged: {error}") from None
    if not task.directions or any(len(direction) != 2 for direction in task.directions):
        raise CheckpointError(f"{path}: damaged: task.directions must be pairs of languages")
    return config, task


def _digest(described: dict[str, Any]) -> str:
    return text_digest(json.dumps(described, sort_keys=True).encode())
