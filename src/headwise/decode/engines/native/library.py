"""Finds, loads and calls the compiled library of the native engine.

A package that was built with a compiler contains it. Elsewhere (a checkout) it is compiled at first use into a cache
folder of the user.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
import warnings
import weakref
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwise.decode.engines.native.compile import (
    LIBRARY,
    CannotCompileError,
    compile_library,
    compiler,
    digest,
    source_digest,
)
from headwise.decode.engines.native.levels import chosen_level
from headwise.decode.search.hypothesis import no_next_token
from headwise.errors import HeadwiseError

Array = NDArray[Any]
Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

PACKAGED = Path(__file__).parent / LIBRARY
"""The library in a package that was built with a compiler (build_native.py puts it there)."""

CHECKOUT = Path(__file__).parents[5] / "build_native.py"
"""A file of a checkout that no installation has."""

SELF_ATTENTION, CROSS_ATTENTION, FEED_FORWARD = range(3)
NONE = -1
"""Number of a norm or matrix that a sublayer does not have."""


class SublayerDescription(ctypes.Structure):
    """The struct of that name in model.h; its size is checked when the library is loaded."""

    _names = "kind norm_before norm_after project memory output heads key_heads head_width hidden activation gated"
    _fields_ = tuple((name, c_int32) for name in _names.split())


class SideDescription(ctypes.Structure):
    """The struct of that name in model.h; its size is checked when the library is loaded."""

    _fields_ = (
        ("width", c_int32),
        ("embedding", c_int32),
        ("embedding_factor", c_float),
        ("embedding_norm", c_int32),
        ("final_norm", c_int32),
    )


class SearchSettings(ctypes.Structure):
    """The struct of that name in search.h; its size is checked when the library is loaded."""

    _fields_ = (
        ("sos", c_int32),
        ("beam", c_int32),
        ("nbest", c_int32),
        ("kept", c_int32),
        ("min_length", c_int32),
        ("unscored", c_int32),
        ("exact", c_int32),
        ("length_penalty", c_double),
    )


_SIGNATURES: dict[str, tuple[object, ...]] = {
    "peak": (c_int, c_int64, POINTER(c_int64), POINTER(c_int32)),
    "engine_new": (c_int, c_int, POINTER(c_void_p)),
    "add_matrix": (c_void_p, c_void_p, c_void_p, c_void_p, c_int, c_int, c_float, POINTER(c_int)),
    "add_norm": (c_void_p, c_void_p, c_void_p, c_int, c_float, c_int, POINTER(c_int)),
    "describe_side": (c_void_p, c_int, POINTER(SideDescription)),
    "add_sublayer": (c_void_p, c_int, POINTER(SublayerDescription)),
    "set_output": (c_void_p, c_int),
    "search_new": (
        *(c_void_p, c_void_p, c_void_p, c_void_p, c_int),
        *(c_void_p, c_void_p, c_void_p, c_int, POINTER(c_void_p)),
    ),
    "selection_new": (c_void_p, c_void_p, c_int, POINTER(c_void_p)),
    "search_restrict": (c_void_p, c_void_p, c_void_p, c_void_p, c_float),
    "search_select": (c_void_p, c_void_p, c_int),
    "search_step": (
        *(c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_int),
        *(c_void_p, c_void_p, c_int, c_int),
    ),
    "beam_new": (
        *(c_void_p, POINTER(SearchSettings), c_void_p, c_int, c_void_p, c_int),
        *(c_void_p, c_void_p, c_void_p, POINTER(c_void_p)),
    ),
    "beam_run": (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_int, c_int, POINTER(c_int)),
    "beam_sizes": (c_void_p, c_void_p, POINTER(c_int64)),
    "beam_results": (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
}


_STRUCTS = (SublayerDescription, SideDescription, SearchSettings)
"""In the order of `headwise_struct_sizes`."""


def _check_whole(path: Path) -> None:
    """Refuse a truncated ELF file: the dynamic linker would map it, and reading what is missing ends the process."""
    with path.open("rb") as file:
        header = file.read(64)
    if not header.startswith(b"\x7fELF"):
        if sys.platform == "linux":
            raise OSError(f"{path} is not a library")
        return  # the loaders of other systems compare the sizes themselves
    if len(header) < 64:
        raise OSError(f"{path} is truncated")
    (sections,) = struct.unpack_from("<Q", header, 40)  # the table of sections is the last part of a file
    size, count = struct.unpack_from("<HH", header, 58)
    if path.stat().st_size < sections + size * count:
        raise OSError(f"{path} is truncated")


def _check_version(functions: ctypes.CDLL) -> None:
    """Refuse a library of other sources, or whose structs are not those declared here: it would read past them."""
    if not hasattr(functions, "headwise_sources"):
        raise OSError("the native library is of another version of Headwise: build it anew")
    functions.headwise_sources.argtypes, functions.headwise_sources.restype = (), c_char_p
    if functions.headwise_sources() != source_digest().encode():
        raise OSError("the native library is of another version of Headwise: build it anew")
    sizes = (c_int * len(_STRUCTS))()
    functions.headwise_struct_sizes.argtypes, functions.headwise_struct_sizes.restype = (c_void_p,), None
    functions.headwise_struct_sizes(sizes)
    for declared, size in zip(_STRUCTS, sizes, strict=True):
        if size != ctypes.sizeof(declared):
            raise OSError(f"the native library has another {declared.__name__}: build it anew")


def _levels_of(functions: ctypes.CDLL) -> dict[str, bool]:
    """The levels of a library, best first, and whether they run here."""
    name_of, runs = functions.headwise_level_name, functions.headwise_level_runs
    name_of.argtypes, name_of.restype = (c_int,), c_char_p
    runs.argtypes, runs.restype = (c_int,), c_int
    levels: dict[str, bool] = {}
    while name := name_of(len(levels)):
        levels[name.decode()] = bool(runs(len(levels)))
    return levels


class Library:
    """The functions of the library; their error codes become exceptions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _check_whole(path)
        functions = ctypes.CDLL(str(path))
        _check_version(functions)
        self.levels = _levels_of(functions)
        """The levels of instructions that it has kernels for, best first, and whether they run here."""
        self._functions = {}
        for name, arguments in _SIGNATURES.items():
            function = getattr(functions, f"headwise_{name}")
            function.argtypes, function.restype = arguments, c_int
            self._functions[name] = function
        self.engine_free, self.search_free = functions.headwise_engine_free, functions.headwise_search_free
        self.beam_free, self.selection_free = functions.headwise_beam_free, functions.headwise_selection_free
        for free in (self.engine_free, self.search_free, self.beam_free, self.selection_free):
            free.argtypes, free.restype = (c_void_p,), None

    def call(self, name: str, *arguments: object) -> None:
        error = self._functions[name](*arguments)
        if error == 1:
            raise MemoryError(f"the native engine has no memory left ({name})")
        if error == 2:
            raise IndexError("a token is not in the vocabulary")
        if error == 3:
            raise IndexError("a row is not in the search")
        if error == 4:
            raise no_next_token()
        if error == 5:
            raise HeadwiseError("the native engine has no such level here")
        if error:
            raise RuntimeError(f"the native engine failed ({name})")


@functools.cache
def _found() -> Library | str:
    """The library, or the reason why there is none."""
    if PACKAGED.is_file():
        try:
            return Library(PACKAGED)
        except OSError as error:
            warnings.warn(f"the native library of this installation is not used: {_one_line(error)}", stacklevel=2)
    try:
        return _compiled()
    except (OSError, CannotCompileError) as error:
        return _one_line(error)


def _one_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _compiled() -> Library:
    """The library in the cache folder, compiled if it is not there yet, or damaged. For checkouts only."""
    if not CHECKOUT.is_file():
        raise CannotCompileError("this installation was built without a C++ compiler, and has no native library")
    tool = compiler()
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    path = Path(home).expanduser() / "headwise" / "native" / f"{digest(tool)}{Path(LIBRARY).suffix}"
    if path.is_file():
        try:
            return Library(path)
        except OSError as error:
            warnings.warn(f"the native library is compiled anew: {_one_line(error)}", stacklevel=2)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    compile_library(path, tool)
    return Library(path)


def supported() -> bool:
    """Whether the native engine can run here. The first call in a checkout may compile it, which takes seconds."""
    return not isinstance(_found(), str)


def why_not() -> str:
    """Why the native engine cannot run here; empty if it can."""
    found = _found()
    return found if isinstance(found, str) else ""


def library() -> Library:
    found = _found()
    if isinstance(found, str):
        raise HeadwiseError(f"the native engine cannot run here: {found}")
    return found


def address(array: Array | None, dtype: type[np.generic]) -> int | None:
    """The address of an array, once its type and layout are known to be what C++ will read."""
    if array is None:
        return None
    if array.dtype != dtype or not array.flags.c_contiguous:
        raise TypeError(f"a contiguous array of {np.dtype(dtype)} is needed, not one of {array.dtype}")
    return array.ctypes.data


class NativeHandle:
    """A handle of an engine in the library, to which a model is described piece by piece; freed with this object."""

    def __init__(self, threads: int) -> None:
        if threads < 1:
            raise ValueError(f"an engine has at least one thread, not {threads}")
        self.library = library()
        self.level = chosen_level(self.library.levels)
        made = c_void_p()
        self.library.call("engine_new", list(self.library.levels).index(self.level), threads, ctypes.byref(made))
        self.handle = made
        self.close = weakref.finalize(self, self.library.engine_free, made)

    def add_matrix(self, weight: Array, scales: Floats, bias: Floats | None, filler: float = 0.0) -> int:
        """Add an int8 matrix [N, K] with the scale [N] of each row; returns its number.

        `filler` is the output of the rows that pad it to a multiple of the engine's panel.
        """
        outputs, inputs = weight.shape
        if inputs % 16 or scales.shape != (outputs,) or (bias is not None and bias.shape != (outputs,)):
            raise ValueError(f"a matrix of shape {weight.shape} does not fit: multiples of 16 inputs are needed")
        number = c_int()
        self.library.call(
            "add_matrix",
            self.handle,
            address(weight, np.int8),
            address(scales, np.float32),
            address(bias, np.float32),
            outputs,
            inputs,
            filler,
            ctypes.byref(number),
        )
        return number.value

    def add_norm(self, weight: Floats, bias: Floats, epsilon: float, *, centred: bool) -> int:
        if weight.ndim != 1 or weight.shape != bias.shape:
            raise ValueError(f"a norm needs as many biases as weights, not {bias.shape} and {weight.shape}")
        number = c_int()
        weights = address(weight, np.float32), address(bias, np.float32)
        self.library.call("add_norm", self.handle, *weights, len(weight), epsilon, int(centred), ctypes.byref(number))
        return number.value

    def describe_side(self, is_target: bool, side: SideDescription) -> None:
        self.library.call("describe_side", self.handle, int(is_target), ctypes.byref(side))

    def add_sublayer(self, is_target: bool, sublayer: SublayerDescription) -> None:
        self.library.call("add_sublayer", self.handle, int(is_target), ctypes.byref(sublayer))

    def set_output(self, matrix: int) -> None:
        """Choose the output projection, which completes the model."""
        self.library.call("set_output", self.handle, matrix)
