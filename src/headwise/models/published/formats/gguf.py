"""GGUF, the file format of llama.cpp: header, metadata, tensor descriptions, then the tensors, little endian.

Every count is checked against the remaining bytes before anything is allocated or looped over.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.models.published.formats.ggml_types import TYPES, UNREAD, Bytes, TensorType, dequantise
from headwise.models.published.formats.gguf_gpt2 import gpt2_from_gguf
from headwise.models.published.formats.gguf_llama import llama_from_gguf
from headwise.models.published.formats.value import Foreign

ARCHITECTURES = {"llama": llama_from_gguf, "gpt2": gpt2_from_gguf}
"""general.architecture -> converter from (metadata, tensors, where) to Hugging Face's config and tensors. Mistral's
models are "llama" in GGUF."""

SCALARS = {0: "u1", 1: "i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "u1", 10: "<u8", 11: "<i8", 12: "<f8"}
BOOL, STRING, ARRAY = 7, 8, 9
DEEPEST = 8
"""Levels of nested arrays."""
LARGEST_ALIGNMENT = 1 << 20


@dataclass(frozen=True)
class Described:
    """The type, shape and place of one tensor in the file."""

    kind: TensorType
    shape: tuple[int, ...]
    """Slowest dimension first, as in PyTorch; the file has the reverse order."""
    start: int
    size: int


def read_gguf(path: str | Path) -> Foreign:
    """The model in a GGUF file, in float32, with Hugging Face's names and order of rows."""
    path = Path(path)
    content = _map(path)
    metadata, described = _read_header(_Cursor(content, path))
    architecture = metadata.get("general.architecture")
    if not isinstance(architecture, str) or architecture not in ARCHITECTURES:
        raise CheckpointError(
            f"{path}: the architecture {architecture!r} is not supported in GGUF; there are: {', '.join(ARCHITECTURES)}"
        )
    if metadata.get("split.count", 1) not in (0, 1):
        raise CheckpointError(f"{path}: one of {metadata['split.count']} parts; merge them (llama-gguf-split --merge)")
    tensors = {name: _tensor(content, place) for name, place in described.items()}
    config, renamed = ARCHITECTURES[architecture](metadata, tensors, str(path))
    tokenizer = {key: value for key, value in metadata.items() if key.startswith("tokenizer.")}
    return Foreign(config, renamed, str(path), {"kind": "gguf", **tokenizer} if tokenizer else None)


def _map(path: Path) -> Bytes:
    try:
        if path.stat().st_size == 0:
            raise CheckpointError(f"{path}: an empty file")
        return numpy.asarray(numpy.memmap(path, numpy.uint8, "r"))
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error})") from None


def _tensor(content: Bytes, place: Described) -> Tensor:
    values = dequantise(content[place.start : place.start + place.size], place.kind)
    return torch.from_numpy(values).reshape(place.shape)


class _Cursor:
    """A position in a file, which moves forward and never beyond the end."""

    def __init__(self, content: Bytes, path: Path) -> None:
        self.content, self.path, self.position = content, path, 0

    def fail(self, problem: str) -> CheckpointError:
        return CheckpointError(f"{self.path}: truncated or damaged: {problem} (at byte {self.position:,})")

    def take(self, size: int, what: str) -> Bytes:
        if size > len(self.content) - self.position:
            raise self.fail(f"it ends within {what}")
        self.position += size
        return self.content[self.position - size : self.position]

    def count(self, least: int, what: str) -> int:
        """Read a number of items of at least `least` bytes each, which must fit into the rest of the file."""
        number: int = self.scalar(10, f"the number of {what}")
        if number * least > len(self.content) - self.position:
            raise self.fail(f"it has {number:,} {what}, more than fit into the file")
        return number

    def scalar(self, kind: int, what: str) -> Any:
        dtype = numpy.dtype(SCALARS[kind])
        value = self.take(dtype.itemsize, what).view(dtype)[0].item()
        return bool(value) if kind == BOOL else value

    def text(self, what: str) -> str:
        size = self.count(1, f"bytes in {what}")
        try:
            return self.take(size, what).tobytes().decode()
        except UnicodeDecodeError:
            raise self.fail(f"{what} is not UTF-8") from None

    def value(self, kind: int, what: str, depth: int = 0) -> Any:
        if kind in SCALARS:
            return self.scalar(kind, what)
        if kind == STRING:
            return self.text(what)
        if kind == ARRAY and depth < DEEPEST:
            return self.array(what, depth + 1)
        raise self.fail(f"{what} is of the unknown type {kind}" if kind != ARRAY else f"{what} is nested too deep")

    def array(self, what: str, depth: int) -> list[Any]:
        kind = self.scalar(4, what)
        if kind not in SCALARS:
            count = self.count(8 if kind == STRING else 12, f"values in {what}")
            return [self.value(kind, what, depth) for _ in range(count)]
        dtype = numpy.dtype(SCALARS[kind])
        count = self.count(dtype.itemsize, f"values in {what}")
        values: list[Any] = self.take(count * dtype.itemsize, what).view(dtype).tolist()
        return [bool(value) for value in values] if kind == BOOL else values


def _read_header(cursor: _Cursor) -> tuple[dict[str, Any], dict[str, Described]]:
    if cursor.content[:4].tobytes() != b"GGUF":
        raise CheckpointError(f"{cursor.path}: not a GGUF file")
    cursor.position = 4
    version = cursor.scalar(4, "the version")
    if version not in (2, 3):
        problem = "big endian" if version in (2 << 24, 3 << 24) else f"GGUF version {version}"
        raise CheckpointError(f"{cursor.path}: {problem}; supported: GGUF versions 2 and 3, little endian")
    tensors, keys = cursor.count(24, "tensors"), cursor.count(13, "metadata keys")
    metadata: dict[str, Any] = {}
    for _ in range(keys):
        key = cursor.text("a metadata key")
        if key in metadata:
            raise cursor.fail(f"{key} is a duplicate key")
        metadata[key] = cursor.value(cursor.scalar(4, key), key)
    return metadata, _read_descriptions(cursor, tensors, metadata.get("general.alignment", 32))


def _read_descriptions(cursor: _Cursor, count: int, alignment: Any) -> dict[str, Described]:
    if not isinstance(alignment, int) or not 1 <= alignment <= LARGEST_ALIGNMENT or alignment & (alignment - 1):
        raise cursor.fail(f"general.alignment is {alignment!r}")
    relative: dict[str, Described] = {}
    for _ in range(count):
        name = cursor.text("a tensor's name")
        if name in relative:
            raise cursor.fail(f"{name} is a duplicate tensor")
        relative[name] = _read_description(cursor, name, alignment)
    base = -(-cursor.position // alignment) * alignment
    room = len(cursor.content) - base
    for name, place in relative.items():
        if place.start + place.size > room:
            raise cursor.fail(f"the tensor {name} reaches beyond the end of the file")
    if sum(place.size for place in relative.values()) > room:  # otherwise a small file could need any amount of memory
        raise cursor.fail("its tensors overlap")
    return {
        name: Described(place.kind, place.shape, base + place.start, place.size) for name, place in relative.items()
    }


def _read_description(cursor: _Cursor, name: str, alignment: int) -> Described:
    """Read the description of one tensor; its start is relative to that of the data."""
    dimensions = cursor.scalar(4, name)
    if dimensions > 4:
        raise cursor.fail(f"the tensor {name} has {dimensions} dimensions")
    shape = tuple(cursor.scalar(10, name) for _ in range(dimensions))[::-1]
    number, start = cursor.scalar(4, name), cursor.scalar(10, name)
    if number not in TYPES:
        raise CheckpointError(
            f"{cursor.path}: the tensor {name} is of the type {UNREAD.get(number, number)}, which is not supported; "
            f"there are: {', '.join(kind.name for kind in TYPES.values())}"
        )
    kind = TYPES[number]
    if not shape or 0 in shape or shape[-1] % kind.values or start % alignment:
        raise cursor.fail(f"{name}, a tensor of the type {kind.name}, has the shape {shape} and begins at {start}")
    return Described(kind, shape, start, math.prod(shape) // kind.values * kind.size)
