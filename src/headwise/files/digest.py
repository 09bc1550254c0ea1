"""Digests of files, JSON tables and tensors, which reveal damaged or changed content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor


def file_digest(path: Path) -> str:
    """SHA-256 of a file, as `sha256sum` prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bytes_digest(content: bytes) -> str:
    """SHA-256 of bytes: equal to `file_digest` of a file that holds them."""
    return hashlib.sha256(content).hexdigest()


def table_digest(table: Any, size: int = 16) -> str:
    """Digest of a JSON value, in `size` bytes; the order of its keys and its layout do not matter."""
    return hashlib.blake2b(json.dumps(table, sort_keys=True).encode(), digest_size=size).hexdigest()


def tensors_digest(tensors: Mapping[str, Tensor]) -> str:
    """Digest of named tensors: names, types, shapes and bytes."""
    import torch

    def bytes_of(tensor: Tensor) -> Any:
        return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()

    described = ((name, str(tensor.dtype), tuple(tensor.shape)) for name, tensor in sorted(tensors.items()))
    return content_digest((*each, [bytes_of(tensors[each[0]])]) for each in described)


def arrays_digest(arrays: Mapping[str, NDArray[np.generic]]) -> str:
    """Digest of named NumPy arrays: equal to `tensors_digest` of tensors with the same content."""
    import numpy as np

    return content_digest(
        (name, f"torch.{array.dtype}", array.shape, [np.ascontiguousarray(array).reshape(-1).view(np.uint8)])
        for name, array in sorted(arrays.items())
    )


def content_digest(tensors: Iterable[tuple[str, str, tuple[int, ...], Iterable[Any]]]) -> str:
    """Digest of tensors that are read piece by piece: names in order, PyTorch's names of types, shapes, bytes."""
    digest = hashlib.blake2b(digest_size=16)
    for name, dtype, shape, content in tensors:
        digest.update(f"{name} {dtype} {shape};".encode())
        for piece in content:
            digest.update(piece)
    return digest.hexdigest()
