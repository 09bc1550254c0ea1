"""All that a run needs to go on exactly where it was: weights, optimiser, random state, place in the data.

A checkpoint is a folder `checkpoints/step-00000500` that appears whole or not at all (see storage.py).
"""

import dataclasses
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headwise.atomic import write_json
from headwise.config import from_tables
from headwise.data.batches import Position
from headwise.errors import CheckpointError, ConfigError
from headwise.models.folder import AVERAGED, STATE, WEIGHTS, checkpoints, step_folder
from headwise.models.weights import set_weights, weights_of
from headwise.storage import check_folder, load_tensors, new_folder, read_json, save_tensors
from headwise.train.averages import MovingAverage

__all__ = [
    "Progress",
    "checkpoints",
    "read_progress",
    "restore_checkpoint",
    "save_checkpoint",
    "set_aside",
    "step_folder",
    "step_of",
]

OPTIMISER = "optimiser.safetensors"
RANDOM = "random.safetensors"


@dataclass(frozen=True)
class Progress:
    """Where a run stands."""

    step: int = 0
    position: Position = field(default_factory=Position)
    tokens: int = 0
    seconds: float = 0.0
    best_step: int = 0
    best_metric: float | None = None
    """Of `train.select_by`."""
    stale: int = 0
    """Validations since the best one."""
    nonfinite: int = 0
    """Steps that were thrown away."""
    nonfinite_row: int = 0
    interval_loss: float = 0.0
    """Sums since the last line of the log."""
    interval_nll: float = 0.0
    interval_tokens: int = 0
    finished: bool = False


def step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def save_checkpoint(
    run: Path,
    progress: Progress,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: MovingAverage | None,
    keep: int,
    regular: Callable[[int], bool] = bool,
) -> Path:
    """Write the checkpoint of this step, then remove those that are neither new nor the best.

    What is kept depends on `regular` steps alone: a checkpoint that only a Ctrl-C made goes with the next one, so
    that a run that was stopped ends with the same checkpoints, and the same mean of them, as one that was not.
    """
    path = step_folder(run, progress.step)
    with new_folder(path) as folder:
        save_tensors(folder / WEIGHTS, weights_of(model))
        save_tensors(folder / OPTIMISER, _optimiser_tensors(model, optimiser))
        save_tensors(folder / RANDOM, _random_state(next(model.parameters()).device))
        if average is not None:
            save_tensors(folder / AVERAGED, average.weights)
        write_json(folder / STATE, dataclasses.asdict(progress))
    older = checkpoints(run)[:-1]
    regular_ones = [old for old in older if regular(step_of(old))]
    kept = regular_ones[-(keep - 1) :] if keep > 1 else []
    for old in older:
        if old not in kept and old != step_folder(run, progress.best_step):
            old.rename(old.with_name(f".{old.name}.writing"))  # at once, so that half a folder is never seen
    for unfinished in path.parent.glob(".step-*.writing"):  # these, and those of a run that was killed
        shutil.rmtree(unfinished, ignore_errors=True)
    return path


def set_aside(path: Path) -> Path:
    """Rename a checkpoint that cannot be read, so that it neither counts as one nor is lost."""
    aside = path.with_name(f"damaged-{path.name}")
    shutil.rmtree(aside, ignore_errors=True)
    return path.rename(aside)


def read_progress(path: Path) -> Progress:
    state: Any = read_json(path / STATE)
    if not isinstance(state, dict):
        raise CheckpointError(f"{path / STATE}: damaged: not a table")
    try:
        return from_tables(Progress, state)
    except ConfigError as error:
        raise CheckpointError(f"{path / STATE}: damaged: {error}") from None


def restore_checkpoint(
    path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, average: MovingAverage | None
) -> Progress:
    """Put everything back as it was when the checkpoint was written."""
    check_folder(path)
    progress = read_progress(path)
    set_weights(model, load_tensors(path / WEIGHTS), str(path))
    _restore_optimiser(model, optimiser, load_tensors(path / OPTIMISER), path)
    if average is not None:
        device = next(model.parameters()).device
        stored = load_tensors(path / (AVERAGED if (path / AVERAGED).exists() else WEIGHTS))
        average.weights = {name: tensor.to(device) for name, tensor in stored.items()}
    _restore_random_state(load_tensors(path / RANDOM), next(model.parameters()).device)
    return progress


def _optimiser_tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{key}/{names[parameter]}": tensor
        for parameter, state in optimiser.state.items()
        for key, tensor in state.items()
    }


def _restore_optimiser(
    model: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], path: Path
) -> None:
    parameters = dict(model.named_parameters())
    for key_and_name, tensor in tensors.items():
        key, _, name = key_and_name.partition("/")
        if name not in parameters:
            raise CheckpointError(f"{path}: the optimiser knows {name}, which this model does not have")
        # A fused optimiser, which ours is, keeps its step count beside the parameter too.
        optimiser.state[parameters[name]][key] = tensor.to(parameters[name].device)


def _random_state(device: torch.device) -> dict[str, Tensor]:
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def _restore_random_state(state: dict[str, Tensor], device: torch.device) -> None:
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and device.type == "cuda":
        torch.cuda.set_rng_state(state["cuda"], device)
