"""All that a run needs to go on exactly where it was: weights, optimiser, random state, place in the data.

A checkpoint is a folder `checkpoints/step-00000500` that appears whole or not at all (see files/folder.py).
"""

import contextlib
import dataclasses
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headwise.config import from_tables
from headwise.data.batch.stream import Position
from headwise.errors import CheckpointError, ConfigError
from headwise.files.atomic import write_json
from headwise.files.folder import check_manifest, whole_folder, write_manifest
from headwise.files.tables import read_json
from headwise.files.tensors import load_tensors, save_tensors
from headwise.models.folder.load import AVERAGED, STATE, WEIGHTS, checkpoints, load_weights, step_folder
from headwise.models.folder.shards import has_tensors, save_shard
from headwise.models.folder.weights import weights_of
from headwise.train.checkpoint.sharded_state import fill, fill_optimiser, in_parts, own_parts
from headwise.train.processes.group import ALONE, Group, all_random_states, restore_random_state
from headwise.train.step.averages import MovingAverage

__all__ = [
    "Background",
    "Progress",
    "check_checkpoint",
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


class Background:
    """Writes what it is given while training goes on, one checkpoint after the other.

    An error of writing comes out when the next one is to be written, or at the end. A kill meanwhile costs no more
    than one that came before the checkpoint: the one before it is still there.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._writing: Future[None] | None = None

    def __call__(self, write: Callable[[], None]) -> None:
        self.wait()
        self._writing = self._thread.submit(write)

    def wait(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def close(self) -> None:
        try:
            self.wait()
        finally:
            self._thread.shutdown()


def save_checkpoint(
    run: Path,
    progress: Progress,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: MovingAverage | None,
    keep: int,
    regular: Callable[[int], bool] = bool,
    *,
    group: Group = ALONE,
    patiently: Callable[[Callable[[], None]], None] = lambda write: write(),
    background: Background | None = None,
) -> Path:
    """Write the checkpoint of this step, then remove those that are neither new nor the best.

    What is kept depends on `regular` steps alone: a checkpoint that only a Ctrl-C made goes with the next one, so
    that a run that was stopped ends with the same checkpoints, and the same mean of them, as one that was not.
    Nothing is removed while steps are being thrown away: the weights may be spoilt, and the good ones older.

    All processes of a run call it. The first one writes, unless each has a part of the weights: then each writes its
    own. `patiently` is asked to do the writing, and may do it again. With `background`, in a process alone, all is
    copied and then written while training goes on.
    """
    path = step_folder(run, progress.step)
    random = all_random_states(next(model.parameters()).device, group)
    tensors = {WEIGHTS: weights_of(model), OPTIMISER: _optimiser_tensors(model, optimiser)}
    if average is not None:
        tensors[AVERAGED] = average.weights

    def write_rest(folder: Path) -> None:
        save_tensors(folder / RANDOM, random)
        write_json(folder / STATE, dataclasses.asdict(progress))

    def write_whole() -> None:
        with whole_folder(path, replace=True) as folder:
            for file, named in tensors.items():
                save_tensors(folder / file, named)
            write_rest(folder)
            write_manifest(folder)

    def write_part(folder: Path) -> None:
        for file, named in tensors.items():
            save_shard(folder, file, group.rank, group.size, own_parts(named, group.first))
        if group.first:
            write_rest(folder)

    if in_parts(model):
        with contextlib.ExitStack() as stack:
            folder = group.from_first(lambda: stack.enter_context(whole_folder(path, replace=True)))
            group.together(lambda: patiently(lambda: write_part(folder)))
            group.first_alone(lambda: write_manifest(folder))
            group.first_alone(stack.close)
    elif background is not None:
        tensors = {file: copied(named) for file, named in tensors.items()}

        def write_and_tidy() -> None:
            patiently(write_whole)
            remove_old(run, progress, keep, regular)

        background(write_and_tidy)
        return path
    else:
        group.first_alone(lambda: patiently(write_whole))
    group.first_alone(lambda: remove_old(run, progress, keep, regular))
    return path


def copied(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """In the memory of the CPU, where no step changes them."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}


def remove_old(run: Path, progress: Progress, keep: int, regular: Callable[[int], bool]) -> None:
    """All but the newest and the best; see `save_checkpoint`."""
    older = checkpoints(run)[:-1] if not progress.nonfinite_row else []
    regular_ones = [old for old in older if regular(step_of(old))]
    kept = regular_ones[-(keep - 1) :] if keep > 1 else []
    for old in older:
        if old not in kept and old != step_folder(run, progress.best_step):
            with contextlib.suppress(OSError):  # if not now, then after the next one
                old.rename(old.with_name(f".{old.name}.writing"))  # at once, so that half a folder is never seen
    folder = step_folder(run, progress.step).parent
    for unfinished in folder.glob(".step-*.writing"):  # these, and those of a run that was killed
        shutil.rmtree(unfinished, ignore_errors=True)


def set_aside(path: Path) -> Path:
    """Rename a checkpoint that cannot be read, so that it neither counts as one nor is lost."""
    aside = path.with_name(f"damaged-{path.name}")
    shutil.rmtree(aside, ignore_errors=True)
    return path.rename(aside)


def check_checkpoint(path: Path) -> None:
    """Refuse one whose weights are not there or cannot be read."""
    load_weights(path)


def read_progress(path: Path) -> Progress:
    state: Any = read_json(path / STATE)
    if not isinstance(state, dict):
        raise CheckpointError(f"{path / STATE}: damaged: not a table")
    try:
        return from_tables(Progress, state)
    except ConfigError as error:
        raise CheckpointError(f"{path / STATE}: damaged: {error}") from None


def restore_checkpoint(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: MovingAverage | None,
    group: Group = ALONE,
) -> Progress:
    """Put everything back as it was when the checkpoint was written, by however many processes."""
    check_manifest(path)
    progress = read_progress(path)
    fill(weights_of(model), path, WEIGHTS)
    fill_optimiser(model, optimiser, path, OPTIMISER)
    if average is not None:
        fill(average.weights, path, AVERAGED if has_tensors(path, AVERAGED) else WEIGHTS)
    restore_random_state(load_tensors(path / RANDOM), next(model.parameters()).device, group)
    return progress


def _optimiser_tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{key}/{names[parameter]}": tensor
        for parameter, state in optimiser.state.items()
        for key, tensor in state.items()
    }
