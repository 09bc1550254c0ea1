"""Wheels: a release has the native library, and works in a new environment without a compiler."""

import os
import runpy
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.light.without_extras import ROOT
from tests.taught import SOURCES, TARGETS

pytest.importorskip("hatchling", reason="hatchling, which builds wheels, is not installed: scripts/setup dev does it")

CHECK: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "release" / "check_wheel.py"))


def built(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Build a wheel into a folder, without looking for a compiler anywhere but in $CXX and $PATH."""
    environment = {name: value for name, value in os.environ.items() if name != "CXX" and name[:9] != "HEADWISE_"}
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**environment, **variables}, cwd=ROOT, check=False, timeout=300
    )


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_a_release_without_the_library_fails(tmp_path: Path) -> None:
    result = built(tmp_path, PATH=str(tmp_path), HEADWISE_RELEASE="1")
    assert result.returncode != 0
    assert "a release needs the native engine: no C++ compiler" in result.stdout + result.stderr
    assert not list(tmp_path.glob("*.whl"))


def test_without_a_compiler_there_is_a_wheel_for_any_machine(tmp_path: Path) -> None:
    result = built(tmp_path, PATH=str(tmp_path))
    assert result.returncode == 0, result.stderr
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "headwise/recipes/gpt.toml" in names(wheel)
    assert not [name for name in names(wheel) if name.endswith((".so", ".dll", ".dylib"))]
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    with pytest.raises(CHECK["WheelError"], match="has 0 native libraries"):
        CHECK["library_in"](tmp_path / "site")
    assert CHECK["size"](CHECK["bundled_model_in"](tmp_path / "site")) > 1_000_000
    with pytest.raises(CHECK["WheelError"], match="no bundled model"):
        CHECK["bundled_model_in"](tmp_path)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    result = built(folder, HEADWISE_RELEASE="1")
    if "no C++ compiler" in result.stdout + result.stderr:
        pytest.skip("there is no C++ compiler")
    assert result.returncode == 0, result.stdout + result.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


def test_a_release_is_for_one_platform_and_every_python(release: Path) -> None:
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert release.name.endswith(f"-py3-none-{machine}.whl") or "universal2" in machine
    library = [name for name in names(release) if name.endswith((".so", ".dll", ".dylib"))]
    assert len(library) == 1
    assert not [name for name in names(release) if name.startswith(("tests/", "scripts/", "docs/"))]


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files")
def test_the_library_brings_its_run_time_along(release: Path, tmp_path: Path) -> None:
    """Else it would need the libstdc++ of the machine that built it."""
    [name] = [name for name in names(release) if name.endswith(".so")]
    with zipfile.ZipFile(release) as archive:
        content = archive.read(name)
    assert b"libc.so" in content
    for needed in (b"libstdc++.so", b"libgcc_s.so", b"libgomp"):
        assert needed not in content


@pytest.mark.slow
def test_a_wheel_works_in_a_new_environment(release: Path, small_folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path), "filelock"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no package registry can be reached")
    found = CHECK["check"](release, small_folder, tmp_path, sentence=SOURCES[0])
    assert found["installed_bytes"] <= CHECK["MOST_BYTES"]
    assert found["packages"].keys() >= {"headwise", "numpy", "sentencepiece"}
    assert found["engines"]["int8"].startswith("yes")
    assert found["translation"] == TARGETS[0]
    assert 0 < found["peak_bytes"] < 400e6
