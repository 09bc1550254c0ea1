"""Compiles the C++ files of the native engine. Imports the standard library alone: a build runs it without Headwise."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CPP = Path(__file__).parent / "cpp"
LIBRARY = "libheadwise.so"
INSTRUCTIONS = ("-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni")
SOURCES: dict[str, tuple[str, ...]] = {"decoder.cpp": INSTRUCTIONS, "supported.cpp": ()}
"""Each file and its instruction sets: nothing depends on the machine at hand, so the library can be shipped."""
FLAGS = ("-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-pthread")
CPU_FLAGS = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "fma")


class CannotCompileError(Exception):
    """The native engine cannot be compiled; the message is one line."""


def compiler() -> str:
    """The path of the system's C++ compiler, or $CXX."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise CannotCompileError(f"no native engine for {sys.platform} on {platform.machine()}")
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise CannotCompileError("no C++ compiler (c++, g++, clang++ or $CXX)")


def digest(compiler: str) -> str:
    """Digest of everything that a compiled library depends on."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
    whole = hashlib.sha256(repr((compiler, version, FLAGS, SOURCES)).encode())
    for path in sorted((*CPP.glob("*.h"), *CPP.glob("*.cpp"))):
        whole.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def compile_library(target: Path, compiler: str, *, extra: tuple[str, ...] = ()) -> None:
    """Compile the library to `target`. It appears complete or not at all, even if several processes compile it.

    `extra`: more flags for the linker.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as name:
        folder = Path(name)
        objects = []
        for source, instructions in SOURCES.items():
            output = str(folder / f"{source}.o")
            _run([compiler, *FLAGS, *instructions, "-c", str(CPP / source), "-o", output])
            objects.append(output)
        _run([compiler, *FLAGS, *extra, "-shared", *objects, "-o", str(folder / LIBRARY)])
        (folder / LIBRARY).replace(target)


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, check=True, text=True, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines()
        raise CannotCompileError(f"{command[0]} failed: {lines[0] if lines else error}") from error
    except OSError as error:
        raise CannotCompileError(f"{command[0]} cannot be run: {error}") from error
