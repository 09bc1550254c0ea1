"""Hugging Face folders: `config.json` beside safetensors or a pickle of tensors, whole or in shards.

Nothing in a folder is executed: code files are ignored, and a pickle may contain only tensors.
"""

import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.files.atomic import write_json
from headwise.files.tables import read_object
from headwise.files.tensors import read_safetensors, write_safetensors
from headwise.models.published.formats.value import Foreign

CONFIG = "config.json"
GENERATION = "generation_config.json"
SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
INDEX = ".index.json"
"""The suffix of the index of a sharded file: which tensor is in which shard."""


def read_folder(path: str | Path) -> Foreign:
    """The model in a Hugging Face folder. Its tensors are copied to memory: a mapped file could be overwritten."""
    path = Path(path)
    if not path.is_dir():
        raise CheckpointError(f"{path}: {'a file, not a folder' if path.exists() else 'no such folder'}")
    config = read_object(path / CONFIG)
    for name, read in READERS.items():
        if (path / name).is_file():
            return Foreign(config, read(path / name), str(path), None)
        if (path / f"{name}{INDEX}").is_file():
            return Foreign(config, _read_shards(path / f"{name}{INDEX}", read), str(path), None)
    others = [file.name for pattern in ("*.h5", "*.msgpack", "*.onnx") for file in sorted(path.glob(pattern))]
    raise CheckpointError(
        f"{path}: no weights: neither {SAFETENSORS} nor {PICKLE}, whole or with {INDEX}"
        + (f" ({', '.join(others[:3])} cannot be read)" if others else "")
    )


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        return read_safetensors(path)
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise CheckpointError(f"{path}: truncated, damaged or of a type that torch does not have ({error})") from None


def _read_pickle(path: Path) -> dict[str, Tensor]:
    try:
        mapped = zipfile.is_zipfile(path)  # pickles of PyTorch before 1.6 are not archives and cannot be mapped
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path}: refused, because it is damaged or a pickle of more than tensors, which could run code: "
            f"{_reason(error)}. Convert it to safetensors where it was made"
        ) from None
    except Exception as error:  # a damaged pickle may fail in any way
        raise CheckpointError(f"{path}: truncated or damaged ({_reason(error)})") from None
    if not isinstance(content, dict):
        raise CheckpointError(f"{path}: holds a {type(content).__name__}, not named tensors")
    return {name: _plain(path, name, value) for name, value in content.items()}


def _reason(error: Exception) -> str:
    """The reason of an error, without torch's advice on how to load the file in spite of it."""
    text = str(error).split("Check the documentation")[0].split(" Please use ")[0].strip() or type(error).__name__
    return text.splitlines()[-1].split("WeightsUnpickler error:")[-1].strip().removesuffix(".")[:200]


def _plain(path: Path, name: Any, value: Any) -> Tensor:
    if not isinstance(name, str) or not isinstance(value, Tensor):
        raise CheckpointError(f"{path}: {name!r} is a {type(value).__name__}, not a tensor")
    if value.layout != torch.strided or value.is_quantized or value.device.type != "cpu":
        raise CheckpointError(f"{path}: {name} is not a plain tensor ({value.layout}, {value.dtype}, {value.device})")
    if value.numel() * value.element_size() > value.untyped_storage().nbytes():
        raise CheckpointError(f"{path}: {name} has the shape {tuple(value.shape)}, more than the file holds")
    return value.detach().clone()  # no longer mapped to the file


READERS: dict[str, Callable[[Path], dict[str, Tensor]]] = {SAFETENSORS: _read_safetensors, PICKLE: _read_pickle}
"""The name of the unsharded file -> its reader; the first that exists is read."""


def _read_shards(index: Path, read: Callable[[Path], dict[str, Tensor]]) -> dict[str, Tensor]:
    names = read_object(index).get("weight_map")
    if not isinstance(names, dict) or not names:
        raise CheckpointError(f"{index}: has no weight_map")
    shards: dict[str, set[str]] = {}
    for name, shard in names.items():
        shards.setdefault(_beside(index, shard), set()).add(name)
    for shard in shards:  # before any is read
        if not (index.parent / shard).is_file():
            raise CheckpointError(f"{index.parent}: {shard} is missing, which {index.name} lists")
    tensors: dict[str, Tensor] = {}
    for shard, listed in shards.items():
        found = read(index.parent / shard)
        different = sorted(found.keys() ^ listed)
        if different:
            which = "missing" if different[0] in listed else "unexpected"
            raise CheckpointError(f"{index.parent / shard}: does not match {index.name}: {which}: {different[0]}")
        tensors.update(found)
    return tensors


def _beside(index: Path, shard: Any) -> str:
    """The name of a file in the folder of the index; a path that leads out of it is refused."""
    plain = isinstance(shard, str) and PurePosixPath(shard).name == PureWindowsPath(shard).name == shard
    if not plain or shard in ("", "..") or "\0" in shard:
        raise CheckpointError(f"{index}: names {shard!r}, which is not a file in the same folder")
    return str(shard)


def write_folder(
    path: Path,
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    generation_config: Mapping[str, Any] | None = None,
) -> None:
    """Write a folder that Hugging Face's libraries load.

    `config.json` comes last: a folder without it is not taken for a model.
    """
    path.mkdir(parents=True, exist_ok=True)
    content = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_safetensors(path / SAFETENSORS, content, {"format": "pt"})
    if generation_config is not None:
        write_json(path / GENERATION, dict(generation_config))
    write_json(path / CONFIG, dict(config))
