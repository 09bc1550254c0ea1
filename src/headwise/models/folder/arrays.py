"""Stored weights as NumPy arrays, read on demand and without PyTorch.

The file is read, not mapped: the pages of a mapped file count as this process's memory, beside the copy that an engine
makes in its own layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwise.errors import CheckpointError
from headwise.files.digest import content_digest
from headwise.files.tables import digest_mismatch
from headwise.files.tensors import Extent, open_tensors, read_extents

PIECE = 1 << 20
"""Bytes that are read at a time to check the digest."""

TYPES: dict[str, tuple[type[np.generic], str]] = {
    "I8": (np.int8, "torch.int8"),
    "F32": (np.float32, "torch.float32"),
}
"""Names of types in safetensors -> NumPy's type, and PyTorch's name, which the digest contains. An int8 model has no
others."""


class StoredArrays(Mapping[str, NDArray[Any]]):
    """The tensors of a file that `save_tensors` wrote; a file that was altered is an error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_tensors(path, "np") as (_, digest):  # checks that all extents are within the file
            self._extents = read_extents(path)
        if {extent.dtype for extent in self._extents.values()} - TYPES.keys():
            raise CheckpointError(f"{path}: damaged or altered: it has weights of an unknown type")
        self.digest = content_digest(
            (name, TYPES[extent.dtype][1], extent.shape, self._pieces(extent)) for name, extent in self._extents.items()
        )
        if digest != self.digest:
            raise digest_mismatch(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._extents)

    def __len__(self) -> int:
        return len(self._extents)

    def __getitem__(self, name: str) -> NDArray[Any]:
        extent = self._extents[name]
        dtype = np.dtype(TYPES[extent.dtype][0])
        count = (extent.end - extent.begin) // dtype.itemsize
        return np.fromfile(self._path, dtype, count, offset=extent.begin).reshape(extent.shape)

    def _pieces(self, extent: Extent) -> Iterator[memoryview]:
        piece = memoryview(bytearray(PIECE))
        with self._path.open("rb", buffering=0) as file:
            file.seek(extent.begin)
            left = extent.end - extent.begin
            while left:
                size = file.readinto(piece[: min(left, PIECE)])
                if not size:
                    raise CheckpointError(f"{self._path}: truncated or damaged (it ends too early)")
                yield piece[:size]
                left -= size
