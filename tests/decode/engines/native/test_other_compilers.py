"""The compilers g++ and clang++ make libraries that find the same, to the last bit, at every level of this CPU."""

import shutil
from pathlib import Path

import pytest

from headwise.decode.engines.native.compile import compile_library, compiler
from headwise.decode.engines.native.library import library, supported, why_not
from tests.decode.engines.native.repeated_searches import USED, Searches, linked, ran, searched

pytestmark = [
    pytest.mark.skipif(not supported(), reason=f"no native engine here: {why_not()}"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def searches(tmp_path_factory: pytest.TempPathFactory) -> Searches:
    return searched(tmp_path_factory.mktemp("calls") / "calls", USED, 26)


@pytest.mark.parametrize("tool", ["clang++", "g++"])
def test_searches_find_the_same(tool: str, searches: Searches, tmp_path: Path) -> None:
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    if Path(found).resolve() == Path(compiler()).resolve():
        pytest.skip(f"{tool} compiled the library that all tests use")
    native = tmp_path / library().path.name
    compile_library(native, found, every_level=True)
    program = linked(found, native, f"-Wl,-rpath,{tmp_path}")
    levels = [line.split() for line in ran(program)]
    assert dict.fromkeys(library().levels) == dict.fromkeys(name for name, _ in levels)
    for level, runs in levels:
        if runs == "1":
            assert searches.again([program], level) == searches.found, level
