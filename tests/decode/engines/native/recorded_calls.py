"""Calls of the native library, recorded with all that they read, for replay.cpp to repeat on another CPU."""

import ctypes
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwise.decode.engines.native import library, native_search


@contextmanager
def recorded_calls(path: Path) -> Iterator[None]:
    """Record the calls that are made meanwhile."""
    arrays: dict[int, bytes] = {}

    def noted(array: Any, dtype: type[np.generic]) -> int | None:
        found = library_address(array, dtype)
        if found is not None:
            arrays[found] = array.tobytes()
        return found

    def written(kind: object, value: Any) -> bytes:
        """A number and some bytes; handles, null and what the call returns have neither."""
        number, content = 0.0, b""
        if kind is ctypes.c_void_p:
            content = arrays.get(value, b"") if isinstance(value, int) else b""
        elif isinstance(value, int | float):
            number = float(value)
        elif isinstance(value._obj, ctypes.Structure):
            content = bytes(value._obj)
        return struct.pack("<dq", number, len(content)) + content

    def call(self: library.Library, name: str, *arguments: Any) -> None:
        content = [written(*each) for each in zip(library._SIGNATURES[name], arguments, strict=True)]
        file.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<i", len(content)) + b"".join(content))
        library_call(self, name, *arguments)

    library_address, library_call = library.address, library.Library.call
    with path.open("wb") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "address", noted)
        patch.setattr(native_search, "address", noted)
        patch.setattr(library.Library, "call", call)
        yield
