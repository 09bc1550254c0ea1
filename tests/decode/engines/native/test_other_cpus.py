"""On emulated CPUs the library runs the levels that they have and no other, and its searches find the same.

The calls of searches here are recorded, and repeated under qemu by a library that was compiled for the other CPU.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from headwise.decode.engines.native import compile as build_step
from headwise.decode.engines.native.compile import compile_library, compiler
from headwise.decode.engines.native.library import PACKAGED, library, supported, why_not
from headwise.decode.search.options import SearchOptions, SearchRequest
from headwise.decode.shortlist.shortlists import Allowed
from tests.decode.engines.native.recorded_calls import recorded_calls
from tests.decode.engines.native.test_native_model import EOS, PAD, SHAPES, SOS, native_model, sources
from tests.decode.engines.native.test_native_search import VOCABULARY, speaking

pytestmark = pytest.mark.skipif(
    not supported() and "failed" not in why_not(), reason=f"no native engine here: {why_not()}"
)
USED = ("paper", "rms", "gated-silu-no-bias", "gated-gelu", "gelu-tanh", "two-key-heads", "rotary", "heads-of-48")
"""Shapes that use all kernels."""


class Machine(NamedTuple):
    """How to run a program of an architecture."""

    emulator: tuple[str, ...]

    def ran(self, cpu: str, *command: str | Path) -> list[str]:
        done = subprocess.run([*self.emulator, "-cpu", cpu, *command], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{done.returncode} {done.stderr}"
        return done.stdout.splitlines()


ARM = Machine(("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"))
X86 = Machine(("qemu-x86_64",))


class Found(NamedTuple):
    log_probability: float
    tokens: list[int]


class Searches(NamedTuple):
    calls: Path
    found: list[Found]
    """The best hypothesis of each sentence."""

    def again(self, machine: Machine, cpu: str, program: Path, level: str) -> list[Found]:
        """What the same calls find on another CPU."""
        lines = [line.split() for line in machine.ran(cpu, program, self.calls, level)]
        return [Found(float.fromhex(value), [*map(int, tokens)]) for value, *tokens in lines]


def searched(path: Path, names: Sequence[str], sentences: int) -> Searches:
    """Greedy and beam searches of models of these shapes, half of them with a shortlist."""
    found = []
    with recorded_calls(path):
        for index, name in enumerate(names):
            model = native_model(speaking(index, **SHAPES[name]), threads=2)
            rows = [row[row != PAD].tolist() for row in sources(sentences, 24) % VOCABULARY]
            options = SearchOptions(SOS, EOS, beam=1 + index % 4, length_penalty=1.0, exact=False, forbidden=(PAD, SOS))
            request = SearchRequest(rows, [16] * sentences, options, [[]] * sentences)
            own = [np.arange(30 + i % 9, VOCABULARY, dtype=np.int64) for i in range(sentences)]
            allowed = [Allowed(np.arange(30, dtype=np.int64), each) for each in own]
            for [best] in model.search(request, allowed if index % 2 else None):
                tokens = [*best.tokens, EOS] if best.finished else best.tokens
                found.append(Found(best.log_probability, tokens))
    assert len({str(each.tokens) for each in found}) > len(found) / 2  # not always the same
    return Searches(path, found)


@pytest.fixture(scope="module")
def searches(tmp_path_factory: pytest.TempPathFactory) -> Searches:
    return searched(tmp_path_factory.mktemp("calls") / "calls", USED, 26)


@pytest.fixture(scope="module")
def few_searches(tmp_path_factory: pytest.TempPathFactory) -> Searches:
    """For the slowest emulation."""
    return searched(tmp_path_factory.mktemp("calls") / "calls", USED[:3], 6)


def linked(machine: Machine, tool: str, native: Path, folder: Path) -> Path:
    """A program that repeats recorded calls with a library."""
    if shutil.which(machine.emulator[0]) is None:
        pytest.skip(f"{machine.emulator[0]} is not installed")
    program, source = folder / "replay", Path(__file__).with_name("replay.cpp")
    flags = ["-std=c++17", "-O1", f"-Wl,-rpath,{native.parent}"]
    subprocess.run([tool, *flags, str(source), str(native), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def for_arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tool, folder = "aarch64-linux-gnu-g++", tmp_path_factory.mktemp("arm")
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    compile_library(folder / "libheadwise.so", tool, "aarch64")
    return linked(ARM, tool, folder / "libheadwise.so", folder)


@pytest.fixture(scope="module")
def for_x86(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if build_step.architecture() != "x86_64" or library().path == PACKAGED:
        pytest.skip("needs a library that was compiled on x86-64")
    return linked(X86, compiler(), library().path, tmp_path_factory.mktemp("x86"))


@pytest.mark.slow
class TestArm:
    @pytest.mark.parametrize("level", ["neon-i8mm", "neon-dotprod", "portable"])
    def test_searches_find_the_same(self, level: str, for_arm: Path, searches: Searches) -> None:
        """With the same log-probabilities, to the last bit, as on x86."""
        assert searches.again(ARM, "max", for_arm, level) == searches.found

    @pytest.mark.parametrize(
        ("cpu", "runs"), [("cortex-a72", [0, 0, 1]), ("neoverse-n1", [0, 1, 1]), ("max", [1, 1, 1])]
    )
    def test_levels_by_cpu(self, cpu: str, runs: list[int], for_arm: Path) -> None:
        names = ("neon-i8mm", "neon-dotprod", "portable")
        assert ARM.ran(cpu, for_arm) == [f"{name} {here}" for name, here in zip(names, runs, strict=True)]

    def test_without_dot_products(self, for_arm: Path, few_searches: Searches) -> None:
        """An illegal instruction would end it."""
        assert few_searches.again(ARM, "cortex-a72", for_arm, "portable") == few_searches.found


@pytest.mark.slow
class TestX86:
    @pytest.mark.parametrize(("cpu", "runs"), [("Nehalem", [0, 0, 0, 1]), ("Haswell", [0, 0, 1, 1])])
    def test_levels_by_cpu(self, cpu: str, runs: list[int], for_x86: Path) -> None:
        names = ("avx512vnni", "avxvnni", "avx2", "portable")
        assert X86.ran(cpu, for_x86) == [f"{name} {here}" for name, here in zip(names, runs, strict=True)]

    @pytest.mark.parametrize(("cpu", "level"), [("Nehalem", "portable"), ("Haswell", "avx2")])
    def test_searches_find_the_same(self, cpu: str, level: str, for_x86: Path, few_searches: Searches) -> None:
        """A CPU of 2008 without AVX, and one of 2013: an illegal instruction would end it."""
        assert few_searches.again(X86, cpu, for_x86, level) == few_searches.found
