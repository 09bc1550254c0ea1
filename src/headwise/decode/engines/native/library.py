"""Finds, loads and calls the compiled library.

It lies in the package, where the package was built with a compiler. Elsewhere (a checkout) it is compiled at first use
and kept in a cache folder of the user's.
"""

from __future__ import annotations

import ctypes
import functools
import os
import weakref
from ctypes import POINTER, c_float, c_int, c_int32, c_void_p
from pathlib import Path

import torch
from torch import Tensor

from headwise.decode.engines.native.compile import (
    CPU_FLAGS,
    HERE,
    LIBRARY,
    CannotCompileError,
    compile_library,
    compiler,
    digest,
)
from headwise.errors import HeadwiseError

SELF_ATTENTION, CROSS_ATTENTION, FEED_FORWARD = range(3)
NONE = -1
"""No such norm or matrix."""


class SublayerDescription(ctypes.Structure):
    """As in model.h."""

    _fields_ = tuple(
        (name, c_int32)
        for name in [
            "kind",
            "norm_before",
            "norm_after",
            "project",
            "memory",
            "output",
            "heads",
            "key_heads",
            "head_width",
            "hidden",
            "activation",
            "gated",
        ]
    )


class SideDescription(ctypes.Structure):
    """As in model.h."""

    _fields_ = (
        ("width", c_int32),
        ("embedding", c_int32),
        ("embedding_factor", c_float),
        ("embedding_norm", c_int32),
        ("final_norm", c_int32),
    )


_SIGNATURES: dict[str, tuple[object, ...]] = {
    "engine_new": (c_int, POINTER(c_void_p)),
    "add_matrix": (c_void_p, c_void_p, c_void_p, c_void_p, c_int, c_int, c_float, POINTER(c_int)),
    "add_norm": (c_void_p, c_void_p, c_void_p, c_int, c_float, c_int, POINTER(c_int)),
    "describe_side": (c_void_p, c_int, POINTER(SideDescription)),
    "add_sublayer": (c_void_p, c_int, POINTER(SublayerDescription)),
    "set_output": (c_void_p, c_int),
    "search_new": (
        *(c_void_p, c_void_p, c_void_p, c_void_p, c_int),
        *(c_void_p, c_void_p, c_void_p, c_int, POINTER(c_void_p)),
    ),
    "search_select": (c_void_p, c_void_p, c_int),
    "search_step": (
        *(c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_int),
        *(c_void_p, c_int, c_int, c_void_p, c_void_p, c_void_p),
    ),
}


class Library:
    """The functions of the library; an error that they return is raised."""

    def __init__(self, path: Path) -> None:
        functions = ctypes.CDLL(str(path))
        functions.headwise_supported.argtypes, functions.headwise_supported.restype = (), c_int
        if not functions.headwise_supported():
            raise OSError("this CPU lacks AVX-512 VNNI")
        self._functions = {}
        for name, arguments in _SIGNATURES.items():
            function = getattr(functions, f"headwise_{name}")
            function.argtypes, function.restype = arguments, c_int
            self._functions[name] = function
        self.engine_free, self.search_free = functions.headwise_engine_free, functions.headwise_search_free
        for free in (self.engine_free, self.search_free):
            free.argtypes, free.restype = (c_void_p,), None

    def call(self, name: str, *arguments: object) -> None:
        error = self._functions[name](*arguments)
        if error == 1:
            raise MemoryError(f"the native engine has no memory left ({name})")
        if error == 2:
            raise IndexError("a token is not in the vocabulary")
        if error == 3:
            raise IndexError("a row is not in the search")
        if error:
            raise RuntimeError(f"the native engine failed ({name})")


@functools.cache
def _found() -> Library | str:
    """The library, or why there is none."""
    packaged = HERE / LIBRARY
    try:
        return Library(packaged if packaged.is_file() else _compiled())
    except (OSError, CannotCompileError) as error:
        return str(error)


def _compiled() -> Path:
    """The library in the cache folder, compiled if it is not there yet."""
    processor = Path("/proc/cpuinfo")
    known = processor.read_text(encoding="utf-8", errors="replace").split() if processor.is_file() else []
    if not set(CPU_FLAGS) <= set(known):
        raise CannotCompileError("this CPU lacks AVX-512 VNNI")
    tool = compiler()
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(home).expanduser() / "headwise" / "native"
    path = folder / f"{digest(tool)}.so"
    if not path.is_file():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        compile_library(path, tool)
    return path


def supported() -> bool:
    """Whether the native engine can run here. The first call in a checkout may compile it, which takes seconds."""
    return not isinstance(_found(), str)


def why_not() -> str:
    """Why it cannot; empty if it can."""
    found = _found()
    return found if isinstance(found, str) else ""


def library() -> Library:
    found = _found()
    if isinstance(found, str):
        raise HeadwiseError(f"the native engine cannot run here: {found}")
    return found


def address(tensor: Tensor | None, dtype: torch.dtype) -> int | None:
    """Where the numbers of a tensor lie, after a look at whether they are what C++ will read."""
    if tensor is None:
        return None
    if tensor.dtype != dtype or tensor.device.type != "cpu" or not tensor.is_contiguous():
        raise TypeError(f"a contiguous {dtype} tensor of the CPU is needed, not {tensor.dtype} of {tensor.device}")
    return tensor.data_ptr()


class Engine:
    """An engine in the library, with a model that is described piece by piece; freed with this object."""

    def __init__(self, threads: int) -> None:
        if threads < 1:
            raise ValueError(f"an engine has at least one thread, not {threads}")
        self.library = library()
        made = c_void_p()
        self.library.call("engine_new", threads, ctypes.byref(made))
        self.handle = made
        self.close = weakref.finalize(self, self.library.engine_free, made)

    def add_matrix(self, weight: Tensor, steps: Tensor, bias: Tensor | None, filler: float = 0.0) -> int:
        """int8 [N, K] with the step [N] of each row; the number by which it is called from now on.

        `filler` is what comes out for the rows that fill it up to a multiple of the engine's.
        """
        outputs, inputs = weight.shape
        if inputs % 16 or steps.shape != (outputs,) or (bias is not None and bias.shape != (outputs,)):
            raise ValueError(f"a matrix of shape {tuple(weight.shape)} does not fit: multiples of 16 inputs are needed")
        number = c_int()
        self.library.call(
            "add_matrix",
            self.handle,
            address(weight, torch.int8),
            address(steps, torch.float32),
            address(bias, torch.float32),
            outputs,
            inputs,
            filler,
            ctypes.byref(number),
        )
        return number.value

    def add_norm(self, weight: Tensor, bias: Tensor, epsilon: float, *, centred: bool) -> int:
        if weight.dim() != 1 or weight.shape != bias.shape:
            raise ValueError(
                f"a norm needs as many biases as weights, not {tuple(bias.shape)} and {tuple(weight.shape)}"
            )
        number = c_int()
        weights = address(weight, torch.float32), address(bias, torch.float32)
        self.library.call("add_norm", self.handle, *weights, len(weight), epsilon, int(centred), ctypes.byref(number))
        return number.value

    def describe_side(self, is_target: bool, side: SideDescription) -> None:
        self.library.call("describe_side", self.handle, int(is_target), ctypes.byref(side))

    def add_sublayer(self, is_target: bool, sublayer: SublayerDescription) -> None:
        self.library.call("add_sublayer", self.handle, int(is_target), ctypes.byref(sublayer))

    def set_output(self, matrix: int) -> None:
        """The output projection: the last thing that is said of a model."""
        self.library.call("set_output", self.handle, matrix)


class Placing:
    """Rows that are added to embeddings [T, D], and cosines and sines [T, R/2] by which heads are turned."""

    def __init__(self, rows: Tensor | None, cosine: Tensor | None, sine: Tensor | None) -> None:
        self.kept = (rows, cosine, sine)  # or their memory might go before it is read
        self.arguments = (
            *(address(each, torch.float32) for each in self.kept),
            0 if cosine is None else cosine.shape[-1],
        )


class Search:
    """What a running search has in an engine's caches; freed with this object."""

    def __init__(self, engine: Engine, tokens: Tensor, places: Tensor, lengths: Tensor, placing: Placing) -> None:
        """Tokens of all sentences one after the other, their places in their sentences, and the sentences' lengths."""
        if not len(tokens) == len(places) == int(lengths.sum()):
            raise ValueError("the lengths of the sentences must add up to the tokens")
        self.engine = engine
        self.changes = 0
        """How often it was changed: what was taken from it earlier is no longer there."""
        self.rows = len(lengths)
        made = c_void_p()
        given = [address(each, torch.int64) for each in (tokens, places, lengths)]
        engine.library.call("search_new", engine.handle, *given, len(lengths), *placing.arguments, ctypes.byref(made))
        self.handle = made
        self.close = weakref.finalize(self, engine.library.search_free, made)

    def select(self, rows: Tensor) -> None:
        self.engine.library.call("search_select", self.handle, address(rows, torch.int64), len(rows))
        self.rows = len(rows)
        self.changes += 1

    def step(
        self,
        tokens: Tensor,
        placing: Placing,
        banned: Tensor | None,
        best: tuple[Tensor, Tensor] | None,
        table: Tensor | None,
    ) -> None:
        """Tokens [R] in; `best` (log-probabilities and tokens, [R, count]) and the `table` [R, V] are written to."""
        values, chosen = best if best is not None else (None, None)
        self.engine.library.call(
            "search_step",
            self.handle,
            address(tokens, torch.int64),
            len(tokens),
            *placing.arguments,
            address(banned, torch.int64),
            0 if banned is None else len(banned),
            0 if values is None else values.shape[1],
            address(values, torch.float32),
            address(chosen, torch.int64),
            address(table, torch.float32),
        )
        self.changes += 1
