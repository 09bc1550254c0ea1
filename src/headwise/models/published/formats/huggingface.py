"""Hugging Face folders: `config.json` beside safetensors or a pickle of tensors, whole or in shards.

Nothing in a folder is executed: code files are ignored, and a pickle may contain only tensors.
"""

import json
import pickle
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.files.atomic import disk_errors, write_json
from headwise.files.tensors import read_safetensors, write_safetensors
from headwise.models.published.formats.value import Foreign

CONFIG = "config.json"
GENERATION = "generation_config.json"
SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
INDEX = ".index.json"
"""The suffix of the index of a sharded file: which tensor is in which shard."""
SHARD_BYTES = 5 * 10**9


def read_folder(path: str | Path) -> Foreign:
    """The model in a Hugging Face folder. Its tensors are copied to memory: a mapped file could be overwritten."""
    path = Path(path)
    if not path.is_dir():
        raise CheckpointError(f"{path}: {'a file, not a folder' if path.exists() else 'no such folder'}")
    config = read_strict_json(path / CONFIG)
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


def read_strict_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; duplicate keys, NaN and Infinity are errors."""
    try:
        value = json.loads(path.read_bytes(), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: must be a JSON object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is a duplicate key")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid in JSON")


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
    names = read_strict_json(index).get("weight_map")
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
    path: str | Path,
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    shard_bytes: int = SHARD_BYTES,
    generation_config: Mapping[str, Any] | None = None,
) -> None:
    """Write a folder that Hugging Face's libraries load; one that already holds a model is refused.

    Each file appears atomically, and `config.json` last: a folder without it is not taken for a model.
    """
    path = Path(path)
    if (path / CONFIG).exists():
        raise CheckpointError(f"{path}: already holds a model")
    _make_folder(path)
    shards = list(_into_shards(tensors, shard_bytes))
    whole = len(shards) == 1
    with disk_errors(path):  # left by a write that failed
        (path / (f"{SAFETENSORS}{INDEX}" if whole else SAFETENSORS)).unlink(missing_ok=True)
    index: dict[str, str] = {}
    for number, shard in enumerate(shards, 1):
        name = SAFETENSORS if whole else f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        _write_safetensors(path / name, shard)
        index.update(dict.fromkeys(shard, name))
    if not whole:
        total = sum(_size(tensor) for tensor in tensors.values())
        write_json(path / f"{SAFETENSORS}{INDEX}", {"metadata": {"total_size": total}, "weight_map": index})
    if generation_config is not None:
        write_json(path / GENERATION, dict(generation_config))
    write_json(path / CONFIG, dict(config))


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot create the folder ({error.strerror or error})") from None


def _size(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _into_shards(tensors: Mapping[str, Tensor], shard_bytes: int) -> Iterator[dict[str, Tensor]]:
    """Split tensors, in order, into shards of at most `shard_bytes`; a larger tensor has a shard to itself."""
    shard: dict[str, Tensor] = {}
    filled = 0
    for name, tensor in tensors.items():
        if shard and filled + _size(tensor) > shard_bytes:
            yield shard
            shard, filled = {}, 0
        shard[name] = tensor
        filled += _size(tensor)
    yield shard


def _write_safetensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    content: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        memory = plain.untyped_storage().data_ptr()
        content[name] = plain.clone() if memory in seen else plain  # safetensors refuses shared memory
        seen.add(memory)
    write_safetensors(path, content, {"format": "pt"})
