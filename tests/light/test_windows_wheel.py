"""The wheel of Windows, which is built on Linux: its library needs nothing but Windows, and finds what others find."""

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwise.decode.engines.native.compile import CPP, LEVELS, LIBRARIES
from headwise.decode.engines.native.library import supported, why_not
from tests.decode.engines.native.repeated_searches import USED, linked, ran, searched
from tests.light.test_wheel import CHECK, built, names

TOOL = "x86_64-w64-mingw32-g++-posix"
pytestmark = [
    pytest.mark.skipif(shutil.which(TOOL) is None, reason=f"{TOOL} is not installed"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    result = built(folder, CXX=TOOL, HEADWISE_RELEASE="1", HEADWISE_PLATFORM="win_amd64")
    assert result.returncode == 0, result.stdout + result.stderr
    [made] = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def native(wheel: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "site")
    return Path(CHECK["library_in"](wheel.parent / "site"))


def dumped(option: str, native: Path) -> str:
    return subprocess.run(["x86_64-w64-mingw32-objdump", option, native], capture_output=True, text=True).stdout


def test_it_is_for_one_platform_and_every_python(wheel: Path, native: Path) -> None:
    assert wheel.name.endswith("-py3-none-win_amd64.whl")
    assert native.name == LIBRARIES["win32"]
    assert not [name for name in names(wheel) if name.endswith((".so", ".dylib"))]


def test_a_release_without_the_library_fails(tmp_path: Path) -> None:
    result = built(tmp_path, CXX="", PATH=str(tmp_path), HEADWISE_RELEASE="1", HEADWISE_PLATFORM="win_amd64")
    assert result.returncode != 0
    assert "a release needs the native engine" in result.stdout + result.stderr
    assert not list(tmp_path.glob("*.whl"))


def test_the_library_needs_windows_alone(native: Path) -> None:
    """It brings the run-time of the compiler along, and exports all functions of the interface and no other."""
    table = dumped("-p", native)
    needed = {line.split()[-1].lower() for line in table.splitlines() if "DLL Name:" in line}
    assert needed == {"kernel32.dll", "msvcrt.dll"}
    _, _, exported = table.partition("[Ordinal/Name Pointer] Table")
    found = [line.split()[-1] for line in exported.splitlines() if line.lstrip().startswith("[")]
    declared = (CPP / "interface.cpp").read_text().split("HEADWISE_PUBLIC\n")[1:]
    assert sorted(found) == sorted(each.partition("(")[0].split()[-1].lstrip("*") for each in declared)


def test_no_vector_is_moved_as_if_the_stack_were_aligned(native: Path) -> None:
    """On Windows it is aligned to 16 bytes: such a move of 32 or 64 bytes ends the process, now and then."""
    moves = [
        line for line in dumped("-d", native).splitlines() if "vmov" in line and ("%ymm" in line or "%zmm" in line)
    ]
    assert len(moves) > 1000
    assert not [line for line in moves if ("vmovap" in line or "vmovdqa" in line) and "(" in line]


@pytest.fixture(scope="module")
def wine() -> Iterator[str]:
    """The program that runs those of Windows. Debian's package of 64-bit Wine alone leaves it outside of $PATH."""
    found = next(filter(None, map(shutil.which, ("wine64", "wine", "/usr/lib/wine/wine64"))), None)
    if found is None:
        pytest.skip("Wine is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("WINEPREFIX", str(Path(place) / "prefix"))  # hundreds of MB: not kept
        patch.setenv("WINEDEBUG", "-all")
        patch.setenv("WINEDLLOVERRIDES", "mscoree,mshtml=")  # else it asks whether to download them
        patch.delenv("DISPLAY", raising=False)
        try:
            subprocess.run([found, "cmd", "/c", "exit"], check=True, capture_output=True, timeout=120)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"Wine does not run here: {error}")
        yield found
        subprocess.run([found, "wineboot", "--kill"], check=False, capture_output=True, timeout=60)


@pytest.mark.skipif(not supported(), reason=f"no native engine here: {why_not()}")
def test_searches_find_the_same(native: Path, wine: str, tmp_path: Path) -> None:
    """Recorded here, repeated by a program of Windows at each level that this CPU runs: equal to the last bit."""
    searches = searched(tmp_path / "calls", USED, 26)
    shutil.copy(native, tmp_path)
    program = linked(TOOL, tmp_path / native.name, "-static")
    levels = dict(line.split() for line in ran(wine, program))
    assert [*levels] == [*LEVELS["x86_64"], "portable"]
    for level, runs in levels.items():
        if runs == "1":
            assert searches.again([wine, program], level) == searches.found, level
