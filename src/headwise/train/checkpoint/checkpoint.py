"""One checkpoint: everything a run needs to continue exactly - weights, optimiser, random state, position in the data.

A checkpoint is a folder such as `checkpoints/step-00000500`, which appears atomically (see files/folder.py).
"""

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from headwise.files.atomic import write_json
from headwise.files.folder import check_manifest, whole_folder, write_manifest
from headwise.files.tensors import load_tensors, save_tensors
from headwise.models.folder.config_file import WEIGHTS
from headwise.models.folder.run_layout import AVERAGED, STATE
from headwise.models.folder.shards import has_tensors, save_shard
from headwise.models.folder.weights import weights_of
from headwise.train.checkpoint.run_state import RunState, read_state
from headwise.train.checkpoint.sharded_state import fill, fill_optimiser, is_sharded_model, own_parts
from headwise.train.processes.group import ALONE, ProcessGroup
from headwise.train.processes.random_state import all_random_states, restore_random_state
from headwise.train.step.averages import MovingAverage

OPTIMISER = "optimiser.safetensors"
RANDOM = "random.safetensors"

Attempt = Callable[[Callable[[], None]], None]
"""Calls a function that writes, and may call it again if the disk is full."""


def write_checkpoint(
    path: Path,
    state: RunState,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: MovingAverage | None,
    *,
    group: ProcessGroup = ALONE,
    attempt: Attempt = lambda write: write(),
    background: Callable[[Callable[[], None]], None] | None = None,
) -> None:
    """Write a checkpoint as the folder `path`.

    All processes of a run call it. The first one writes; if the weights are sharded, each process writes its own rows.
    `background`, in a process alone, runs the writing while training continues, from a copy of the tensors.
    """
    random = all_random_states(next(model.parameters()).device, group)
    tensors = {WEIGHTS: weights_of(model), OPTIMISER: _optimiser_tensors(model, optimiser)}
    if average is not None:
        tensors[AVERAGED] = average.weights

    def write_rest(folder: Path) -> None:
        save_tensors(folder / RANDOM, random)
        write_json(folder / STATE, dataclasses.asdict(state))

    def write_whole() -> None:
        with whole_folder(path, replace=True) as folder:
            for file, named in tensors.items():
                save_tensors(folder / file, named)
            write_rest(folder)
            write_manifest(folder)

    def write_shard(folder: Path) -> None:
        for file, named in tensors.items():
            save_shard(folder, file, group.rank, group.size, own_parts(named, group.first))
        if group.first:
            write_rest(folder)

    if is_sharded_model(model):
        with contextlib.ExitStack() as stack:
            folder = group.from_first(lambda: stack.enter_context(whole_folder(path, replace=True)))
            group.together(lambda: attempt(lambda: write_shard(folder)))
            group.first_alone(lambda: write_manifest(folder))
            group.first_alone(stack.close)
    elif background is not None:
        tensors = {file: _copied(named) for file, named in tensors.items()}
        background(lambda: attempt(write_whole))
    else:
        group.first_alone(lambda: attempt(write_whole))


def restore_checkpoint(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: MovingAverage | None,
    group: ProcessGroup = ALONE,
) -> RunState:
    """Restore everything as it was when the checkpoint was written, whatever the number of processes then."""
    check_manifest(path)
    state = read_state(path)
    fill(weights_of(model), path, WEIGHTS)
    fill_optimiser(model, optimiser, path, OPTIMISER)
    if average is not None:
        fill(average.weights, path, AVERAGED if has_tensors(path, AVERAGED) else WEIGHTS)
    restore_random_state(load_tensors(path / RANDOM), next(model.parameters()).device, group)
    return state


def _copied(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies in main memory, which the next steps do not change."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}


def _optimiser_tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{key}/{names[parameter]}": tensor
        for parameter, state in optimiser.state.items()
        for key, tensor in state.items()
    }
