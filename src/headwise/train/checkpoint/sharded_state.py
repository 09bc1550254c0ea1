"""Tensors that may be sharded over processes (DTensors): the rows that this process holds, saved and restored.

A plain tensor is treated as one with all of its rows in this process.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headwise.errors import CheckpointError
from headwise.models.folder.shards import read_parts
from headwise.models.folder.weights import weights_of


def is_sharded(tensor: Any) -> bool:
    return hasattr(tensor, "to_local")


def is_sharded_model(model: nn.Module) -> bool:
    """Whether other processes hold rows of this model's weights."""
    return any(map(is_sharded, model.parameters()))


def local(tensor: Any) -> Tensor:
    """The rows that this process holds, in the same memory."""
    rows: Tensor = tensor.to_local() if is_sharded(tensor) else tensor
    return rows


def first_row(tensor: Any) -> int:
    """The index of the first row that this process holds: rows are split evenly, the last process may have fewer."""
    if not is_sharded(tensor):
        return 0
    mesh = tensor.device_mesh
    each = -(-tensor.size(0) // mesh.size())
    first: int = min(each * mesh.get_local_rank(), tensor.size(0))
    return first


def own_parts(tensors: Mapping[str, Tensor], first: bool) -> dict[str, Tensor]:
    """The tensors that this process saves: its rows, as NAME@FIRST_ROW; the first saves those that are not sharded."""
    parts = {
        f"{name}@{first_row(tensor)}": local(tensor)
        for name, tensor in tensors.items()
        if is_sharded(tensor) and len(local(tensor))
    }
    return parts | {name: tensor for name, tensor in tensors.items() if first and not is_sharded(tensor)}


@torch.no_grad()
def fill(targets: Mapping[str, Tensor], folder: Path, file: str) -> None:
    """Copy saved tensors, whole or in shards, into `targets`, which may be sharded differently."""
    missing = {name: local(target).numel() for name, target in targets.items()}
    unexpected = set()
    for name, first, saved in read_parts(folder, file):
        if name not in targets:
            unexpected.add(name)
            continue
        missing[name] -= _copy(targets[name], first, saved, f"{folder}: {name}")
    left = sorted(name for name, count in missing.items() if count)
    if left or unexpected:
        problems = [f"missing: {', '.join(left[:5])}"] if left else []
        problems += [f"unexpected: {', '.join(sorted(unexpected)[:5])}"] if unexpected else []
        raise CheckpointError(f"{folder}: its weights are not this model's ({'; '.join(problems)})")


def _copy(target: Tensor, first: int | None, saved: Tensor, where: str) -> int:
    """Copy those saved rows that this process holds; returns the number of values."""
    fits = saved.shape == target.shape if first is None else saved.dim() > 0 and saved.shape[1:] == target.shape[1:]
    if not fits or (first is not None and first + len(saved) > len(target)):
        raise CheckpointError(f"{where} has the shape {tuple(saved.shape)} instead of {tuple(target.shape)}")
    own = local(target)
    if not saved.dim():
        own.copy_(saved)
        return 1
    shift = (first or 0) - first_row(target)  # the local row at which the saved ones begin
    begin, end = max(shift, 0), min(shift + len(saved), len(own))
    if begin >= end:
        return 0
    own[begin:end].copy_(saved[begin - shift : end - shift])
    return own[begin:end].numel()


def fill_optimiser(model: nn.Module, optimiser: torch.optim.Optimizer, folder: Path, file: str) -> None:
    """Restore the state of an optimiser: for each weight, tensors of its shape and single numbers."""
    parameters = weights_of(model)
    for key_and_name, first, saved in read_parts(folder, file):
        key, _, name = key_and_name.partition("/")
        if name not in parameters:
            raise CheckpointError(f"{folder}: the optimiser knows {name}, which this model does not have")
        weight, state = parameters[name], optimiser.state[parameters[name]]
        if first is None and (not saved.dim() or not is_sharded(weight)):
            # A fused optimiser keeps its step count on the parameter's device.
            state[key] = saved.to(weight.device)
            continue
        if key not in state or local(state[key]).shape != local(weight).shape:
            state[key] = torch.zeros_like(weight, dtype=saved.dtype, requires_grad=False)
        _copy(state[key], first, saved, f"{folder}: {key} of {name}")


@torch.no_grad()
def gather_into(model: nn.Module, weights: Mapping[str, Tensor], device: torch.device, first: bool) -> None:
    """Collect sharded weights into the whole model of the first process, on the device; all send their rows."""
    if first:
        model.to(device)
    own = weights_of(model)
    for name, tensor in weights.items():
        whole = whole_of(tensor)
        if first:
            own[name].copy_(whole)


def whole_of(tensor: Any) -> Tensor:
    """All rows of a tensor; a collective operation, which every process must call."""
    whole: Tensor = tensor.full_tensor() if is_sharded(tensor) else tensor
    return whole
