"""Compiles the C++ files of the native engine. Imports the standard library alone: a build runs it without Headwise."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CPP = Path(__file__).parent / "cpp"
LIBRARIES = {"win32": "headwise.dll", "darwin": "libheadwise.dylib", "linux": "libheadwise.so"}
LIBRARY = LIBRARIES.get(sys.platform, LIBRARIES["linux"])
COMMON = ("interface.cpp", "levels.cpp", "levels/portable.cpp")
"""Files that are compiled for any CPU of an architecture."""
_AVX2 = ("-mavx2", "-mfma", "-mf16c")
_AVX512 = (*_AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni")
LEVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {
        "amx": (*_AVX512, "-mamx-tile", "-mamx-int8", "-fno-exceptions"),  # its table is made when it is first needed
        "avx512vnni": _AVX512,
        "avxvnni": (*_AVX2, "-mavxvnni"),
        "avx2": _AVX2,
    },
    "aarch64": {
        "neon_i8mm": ("-march=armv8.2-a+dotprod+i8mm",),
        "neon_dotprod": ("-march=armv8.2-a+dotprod",),
    },
}
"""For each architecture its levels, files in levels/, and their instruction sets. Which one is used is decided when the
library is loaded, so nothing depends on the machine at hand, and the library can be shipped."""
FLAGS = ("-std=c++17", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-pthread")
"""Without contraction: the compiler would fuse other multiplications and additions at each level."""
UNALIGNED = ("-Wa,-muse-unaligned-vector-move",)
"""For Windows, where GCC aligns the stack to 16 bytes, and yet moves the larger vectors that it keeps there as if they
were aligned, which ends the process. clang aligns them, and does not know this flag."""


class CannotCompileError(Exception):
    """The native engine cannot be compiled; the message is one line."""


def compiler() -> str:
    """The path of the system's C++ compiler, or $CXX."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise CannotCompileError("no C++ compiler (c++, g++, clang++ or $CXX)")


def architecture() -> str:
    """The architecture of this machine, by its name in `LEVELS`, where it has levels."""
    name = platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64", "ARM64": "aarch64"}.get(name, name)


def source_digest() -> str:
    """Digest of the sources and flags. A library contains the digest of its own, and is loaded only if they match."""
    whole = hashlib.sha256(repr((FLAGS, COMMON, LEVELS)).encode())
    for path in sorted((*CPP.rglob("*.h"), *CPP.rglob("*.cpp"))):
        whole.update(path.relative_to(CPP).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def digest(compiler: str) -> str:
    """Digest of everything that a compiled library depends on."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
    return hashlib.sha256(repr((compiler, version, source_digest())).encode()).hexdigest()[:16]


def compile_library(
    target: Path, compiler: str, machine: str = "", extra: tuple[str, ...] = (), *, every_level: bool = False
) -> None:
    """Compile the library to `target`. It appears complete or not at all, even if several processes compile it.

    `machine`: the architecture that the compiler compiles for, by default this one. A `target` that ends in .dll is for
    Windows. `extra`: more flags. Levels whose instructions the compiler does not know are left out, unless
    `every_level` is wanted.
    """
    wanted = LEVELS.get(machine or architecture(), {})
    with (
        tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as name,
        ThreadPoolExecutor() as pool,
    ):
        folder = Path(name)
        known = list(pool.map(lambda flags: _knows(compiler, flags, folder), wanted.values()))
        levels = {level: flags for (level, flags), usable in zip(wanted.items(), known, strict=True) if usable}
        if every_level and len(levels) < len(wanted):
            raise CannotCompileError(f"{compiler} does not know {', '.join(wanted.keys() - levels.keys())}")
        extra = (*_flags_of_system(compiler, target, folder), *extra)
        defined = [f"-DHEADWISE_HAS_{level.upper()}" for level in levels]
        defined.append(f'-DHEADWISE_SOURCES="{source_digest()}"')
        sources = dict.fromkeys(COMMON, (*defined, *extra))
        sources |= {f"levels/{level}.cpp": (*flags, *extra) for level, flags in levels.items()}
        objects = list(pool.map(lambda source: _compiled(compiler, source, sources[source], folder), sources))
        made = folder / target.name  # a library of Windows knows its name
        _run([compiler, *FLAGS, *extra, "-shared", *objects, "-o", str(made)])
        made.replace(target)


def _flags_of_system(compiler: str, target: Path, folder: Path) -> tuple[str, ...]:
    if target.suffix != ".dll":
        return ("-fPIC",)
    return UNALIGNED if _knows(compiler, UNALIGNED, folder) else ()


def _knows(compiler: str, flags: tuple[str, ...], folder: Path) -> bool:
    """Whether a compiler and its assembler are new enough for these flags."""
    number, output = tempfile.mkstemp(dir=folder, suffix=".o")
    os.close(number)
    try:
        _run([compiler, *flags, "-c", "-x", "c++", os.devnull, "-o", output])
    except CannotCompileError:
        return False
    return True


def _compiled(compiler: str, source: str, flags: tuple[str, ...], folder: Path) -> str:
    output = str(folder / f"{Path(source).stem}.o")
    _run([compiler, *FLAGS, *flags, "-c", str(CPP / source), "-o", output])
    return output


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, check=True, text=True, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines()
        raise CannotCompileError(f"{command[0]} failed: {lines[0] if lines else error}") from error
    except OSError as error:
        raise CannotCompileError(f"{command[0]} cannot be run: {error}") from error
