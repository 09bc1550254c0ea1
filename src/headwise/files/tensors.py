"""Tensors on disk, refused with a reason if they are not exactly what was written.

The files are safetensors with a digest of the content in the header. Nothing is pickled or executed. PyTorch is
imported only where there are tensors.
"""

from __future__ import annotations

import contextlib
import errno
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safetensors import SafetensorError, safe_open

from headwise.errors import CheckpointError
from headwise.files import tables
from headwise.files.atomic import FULL, move, replacing, sync
from headwise.files.digest import tensors_digest
from headwise.files.tables import check_format, digest_mismatch

if TYPE_CHECKING:
    from torch import Tensor

HEADER = "headwise"
"""The one key of the metadata: safetensors writes several in random order, and equal runs write equal files."""


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write named tensors with their digest, atomically."""
    content = {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())}
    header = {"format": tables.FORMAT, "digest": tensors_digest(content)}
    write_safetensors(path, content, {HEADER: json.dumps(header)})


def write_safetensors(path: Path, content: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write a safetensors file atomically; no two tensors may share memory."""
    from safetensors.torch import save_file

    with replacing(path) as temporary:
        # safetensors writes to a temporary file first, which a kill would leave behind: hence in a folder that
        # `remove_unfinished` knows.
        aside = temporary.with_name(temporary.name.removesuffix(".writing") + ".tensors.writing")
        try:
            aside.mkdir(exist_ok=True)
            save_file(content, aside / path.name, metadata=metadata)
            move(aside / path.name, temporary)
        except SafetensorError as error:  # safetensors hides the OSError in its message
            numbers = [number for number in FULL if f"(os error {number})" in str(error)]
            raise OSError(numbers[0] if numbers else errno.EIO, str(error)) from None
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        temporary.chmod(0o644)  # safetensors lets only the owner read, but a model is there to be passed on
        sync(temporary)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors that `save_tensors` wrote; a file with any other content is refused.

    They are read into memory: tensors that stay mapped to the file would change, or end the process with SIGBUS,
    when somebody overwrites it in place.
    """
    with open_tensors(path, "pt") as (_, digest):
        tensors = read_safetensors(path)
    if digest != tensors_digest(tensors):
        raise digest_mismatch(path)
    return tensors


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of any safetensors file, in memory; raises what `safe_open` does, or `TypeError` for a type that
    PyTorch does not have."""
    import torch

    with safe_open(path, framework="pt"):  # checks that all extents are within the file
        extents = read_extents(path)
    tensors = {}
    with path.open("rb", buffering=0) as file:
        for name, extent in extents.items():
            if extent.dtype not in DTYPES:
                raise TypeError(f"{name} is of the type {extent.dtype}")
            tensor = torch.empty(extent.shape, dtype=getattr(torch, DTYPES[extent.dtype]))
            left = tensor.reshape(-1).view(torch.uint8).numpy().data
            file.seek(extent.begin)
            while left:
                count = file.readinto(left)
                if not count:
                    raise OSError(errno.EIO, "it ends too early")
                left = left[count:]
            tensors[name] = tensor
    return tensors


DTYPES = {
    **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool", "C64": "complex64"},
    **{"I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8"},
    **{"U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8"},
    **{"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"},
}
"""Safetensors' names of types -> PyTorch's."""


class Extent(NamedTuple):
    """Where a tensor lies in a file, in bytes, and what it is."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_extents(path: Path) -> dict[str, Extent]:
    """The extents of all tensors in a safetensors file that is known to be valid, sorted by name."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(size))
    header.pop("__metadata__", None)
    return {
        name: Extent(entry["dtype"], tuple(entry["shape"]), *(8 + size + offset for offset in entry["data_offsets"]))
        for name, entry in sorted(header.items())
    }


@contextlib.contextmanager
def open_tensors(path: Path, framework: str) -> Iterator[tuple[Any, str]]:
    """An open file that `save_tensors` wrote, and the digest that its content must have."""
    try:
        with safe_open(path, framework=framework) as file:
            header = _header(path, file.metadata() or {})
            yield file, header["digest"]
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{path}: truncated or damaged ({error})") from None


def _header(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    if HEADER not in metadata:
        raise CheckpointError(f"{path}: not written by Headwise: its header holds no digest")
    header = json.loads(metadata[HEADER])
    check_format(path, header)
    if not isinstance(header.get("digest"), str):
        raise CheckpointError(f"{path}: damaged: its header holds no digest")
    return dict(header)
