"""The weights of a file as NumPy arrays, each read when it is asked for: without PyTorch, and none is kept.

The file is read, not mapped: pages of it that were touched once would count as this process's for as long as it runs,
beside the copy that an engine makes in an order of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwise.errors import CheckpointError
from headwise.files.digest import content_digest
from headwise.files.tables import digest_mismatch
from headwise.files.tensors import open_tensors

PIECE = 1 << 20
"""Bytes that are read at once to check them."""

DTYPES: dict[str, tuple[type[np.generic], str]] = {
    "I8": (np.int8, "torch.int8"),
    "F32": (np.float32, "torch.float32"),
}
"""Safetensors' names of types: NumPy's, and PyTorch's, which the digest has. A model in int8 has no others."""


@dataclass(frozen=True)
class _Place:
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class StoredArrays(Mapping[str, NDArray[Any]]):
    """What `save_tensors` wrote into a file; one that is not exactly that is an error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_tensors(path, "np") as (_, digest):  # which looks whether all places are within the file
            self._places = _places(path)
        self.digest = content_digest(
            (name, DTYPES[place.dtype][1], place.shape, self._pieces(place)) for name, place in self._places.items()
        )
        if digest != self.digest:
            raise digest_mismatch(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, name: str) -> NDArray[Any]:
        place = self._places[name]
        dtype = np.dtype(DTYPES[place.dtype][0])
        count = (place.end - place.begin) // dtype.itemsize
        return np.fromfile(self._path, dtype, count, offset=place.begin).reshape(place.shape)

    def _pieces(self, place: _Place) -> Iterator[memoryview]:
        piece = memoryview(bytearray(PIECE))
        with self._path.open("rb", buffering=0) as file:
            file.seek(place.begin)
            left = place.end - place.begin
            while left:
                size = file.readinto(piece[: min(left, PIECE)])
                if not size:
                    raise CheckpointError(f"{self._path}: truncated or damaged (it ends too early)")
                yield piece[:size]
                left -= size


def _places(path: Path) -> dict[str, _Place]:
    """Where the tensors lie in the file, by name."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(size))
    header.pop("__metadata__", None)
    if {entry["dtype"] for entry in header.values()} - DTYPES.keys():
        raise CheckpointError(f"{path}: damaged or altered: it has weights of a type that is not known here")
    return {
        name: _Place(entry["dtype"], tuple(entry["shape"]), *(8 + size + offset for offset in entry["data_offsets"]))
        for name, entry in sorted(header.items())
    }
