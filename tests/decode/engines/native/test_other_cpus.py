"""On emulated CPUs the library runs the levels that they have and no other, and its searches find the same.

The calls of searches here are recorded, and repeated under qemu by a library that was compiled for the other CPU.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from headwise.decode.engines.native import compile as build_step
from headwise.decode.engines.native.compile import compile_library, compiler
from headwise.decode.engines.native.library import PACKAGED, library, supported, why_not
from tests.decode.engines.native.repeated_searches import USED, Searches, linked, ran, searched

pytestmark = pytest.mark.skipif(
    not supported() and "failed" not in why_not(), reason=f"no native engine here: {why_not()}"
)


class Emulated(NamedTuple):
    """A program for another CPU."""

    emulator: tuple[str, ...]
    program: Path

    def on(self, cpu: str) -> list[str | Path]:
        return [*self.emulator, "-cpu", cpu, self.program]


@pytest.fixture(scope="module")
def searches(tmp_path_factory: pytest.TempPathFactory) -> Searches:
    return searched(tmp_path_factory.mktemp("calls") / "calls", USED, 26)


@pytest.fixture(scope="module")
def few_searches(tmp_path_factory: pytest.TempPathFactory) -> Searches:
    """For the slowest emulation."""
    return searched(tmp_path_factory.mktemp("calls") / "calls", USED[:3], 6)


def skip_without(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


@pytest.fixture(scope="module")
def for_arm(tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    tool, native = "aarch64-linux-gnu-g++", tmp_path_factory.mktemp("arm") / "libheadwise.so"
    skip_without(tool, "qemu-aarch64")
    compile_library(native, tool, "aarch64")
    program = linked(tool, native, f"-Wl,-rpath,{native.parent}")
    return Emulated(("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"), program)


@pytest.fixture(scope="module")
def for_x86(tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    if build_step.architecture() != "x86_64" or library().path == PACKAGED:
        pytest.skip("needs a library that was compiled on x86-64")
    skip_without("qemu-x86_64")
    native = Path(shutil.copy(library().path, tmp_path_factory.mktemp("x86")))
    return Emulated(("qemu-x86_64",), linked(compiler(), native, f"-Wl,-rpath,{native.parent}"))


@pytest.mark.slow
class TestArm:
    @pytest.mark.parametrize("level", ["neon-i8mm", "neon-dotprod", "portable"])
    def test_searches_find_the_same(self, level: str, for_arm: Emulated, searches: Searches) -> None:
        """With the same log-probabilities, to the last bit, as on x86."""
        assert searches.again(for_arm.on("max"), level) == searches.found

    @pytest.mark.parametrize(
        ("cpu", "runs"), [("cortex-a72", [0, 0, 1]), ("neoverse-n1", [0, 1, 1]), ("max", [1, 1, 1])]
    )
    def test_levels_by_cpu(self, cpu: str, runs: list[int], for_arm: Emulated) -> None:
        names = ("neon-i8mm", "neon-dotprod", "portable")
        assert ran(*for_arm.on(cpu)) == [f"{name} {here}" for name, here in zip(names, runs, strict=True)]

    def test_without_dot_products(self, for_arm: Emulated, few_searches: Searches) -> None:
        """An illegal instruction would end it."""
        assert few_searches.again(for_arm.on("cortex-a72"), "portable") == few_searches.found


@pytest.mark.slow
class TestX86:
    @pytest.mark.parametrize(("cpu", "runs"), [("Nehalem", [0, 0, 0, 0, 1]), ("Haswell", [0, 0, 0, 1, 1])])
    def test_levels_by_cpu(self, cpu: str, runs: list[int], for_x86: Emulated) -> None:
        names = ("amx", "avx512vnni", "avxvnni", "avx2", "portable")
        assert ran(*for_x86.on(cpu)) == [f"{name} {here}" for name, here in zip(names, runs, strict=True)]

    @pytest.mark.parametrize(("cpu", "level"), [("Nehalem", "portable"), ("Haswell", "avx2")])
    def test_searches_find_the_same(self, cpu: str, level: str, for_x86: Emulated, few_searches: Searches) -> None:
        """A CPU of 2008 without AVX, and one of 2013: an illegal instruction would end it."""
        assert few_searches.again(for_x86.on(cpu), level) == few_searches.found
