"""Sharded tensors: in sharded training each process writes its rows of each tensor to a file of its own.

`model-00002-of-00004.safetensors` holds rows of each tensor as `NAME@FIRST`, where FIRST is the index of the first
row; a tensor that is not sharded keeps its name. A single file, `model.safetensors`, is read the same way.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.files.tensors import load_tensors, save_tensors


def save_shard(folder: Path, file: str, rank: int, size: int, parts: Mapping[str, Tensor]) -> None:
    """Write this process's shard of `file`."""
    save_tensors(folder / _name(file, rank, size), parts)


def has_tensors(folder: Path, file: str) -> bool:
    return (folder / file).exists() or any(_shards(folder, file))


def read_parts(folder: Path, file: str) -> Iterator[tuple[str, int | None, Tensor]]:
    """Name, first row (None: the tensor is whole) and rows of each part, one file after the other."""
    paths = [folder / file]
    shards = _shards(folder, file)
    if shards and not paths[0].exists():
        size = shards[0].stem[-5:]
        paths = [folder / _name(file, rank, int(size)) for rank in range(int(size))]
    for path in paths:
        for key, tensor in load_tensors(path).items():
            name, at, first = key.partition("@")
            try:
                yield name, int(first) if at else None, tensor
            except ValueError:
                raise CheckpointError(f"{path}: damaged: {key!r} is not the name of a part") from None


def load_whole(folder: Path, file: str) -> dict[str, Tensor]:
    """All tensors, concatenated from their parts."""
    whole: dict[str, Tensor] = {}
    parts: dict[str, dict[int, Tensor]] = {}
    for name, first, tensor in read_parts(folder, file):
        if first is None:
            whole[name] = tensor
        else:
            parts.setdefault(name, {})[first] = tensor
    for name, found in parts.items():
        whole[name] = torch.cat([found[first] for first in sorted(found)])
    return whole


def _shards(folder: Path, file: str) -> list[Path]:
    stem, _, suffix = file.rpartition(".")
    return sorted(folder.glob(f"{stem}-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9].{suffix}"))


def _name(file: str, rank: int, size: int) -> str:
    stem, _, suffix = file.rpartition(".")
    return f"{stem}-{rank + 1:05d}-of-{size:05d}.{suffix}"
