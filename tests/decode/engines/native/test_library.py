"""The native library is compiled once and whole; one that cannot be used is named in one line, and replaced."""

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headwise.decode.engines.native import compile as build_step
from headwise.decode.engines.native import library
from headwise.decode.engines.native.compile import CannotCompileError, compile_library, compiler, digest
from headwise.decode.engines.native.library import Library, supported, why_not
from headwise.errors import HeadwiseError
from tests.taught import SOURCES, TARGETS

pytestmark = pytest.mark.skipif(
    not supported() and "failed" not in why_not(), reason=f"no native engine here: {why_not()}"
)


@pytest.fixture
def compiled() -> Path:
    """The library, which has been compiled already. Read only."""
    return library.library().path


@pytest.fixture
def fresh(tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's cache with the compiled library in it, and nothing found yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "_found", library._found.__wrapped__)
    path = tmp_path / "headwise" / "native" / f"{digest(compiler())}{compiled.suffix}"
    path.parent.mkdir(parents=True)
    shutil.copy(compiled, path)
    return path


class TestCompiling:
    def test_once(self, fresh: Path) -> None:
        when = fresh.stat().st_mtime_ns
        assert isinstance(library._found(), Library)
        assert fresh.stat().st_mtime_ns == when
        assert list(fresh.parent.iterdir()) == [fresh]

    def test_all_levels_are_in_it(self, compiled: Path) -> None:
        expected = [level.replace("_", "-") for level in build_step.LEVELS[build_step.architecture()]]
        assert list(Library(compiled).levels) == [*expected, "portable"]

    def test_other_sources_another_library(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "interface.cpp").write_text("int x;")
        before = digest(compiler())
        monkeypatch.setattr(build_step, "CPP", tmp_path)
        assert digest(compiler()) != before

    def test_an_error_is_one_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "interface.cpp").write_text("no C++ at all")
        monkeypatch.setattr(build_step, "CPP", tmp_path)
        with pytest.raises(CannotCompileError, match="failed") as caught:
            compile_library(tmp_path / "made.so", compiler())
        assert "\n" not in str(caught.value)
        assert [path.name for path in tmp_path.iterdir()] == ["interface.cpp"]

    def test_a_level_that_the_compiler_does_not_know_is_left_out(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machine = build_step.architecture()
        names = list(build_step.LEVELS[machine])
        monkeypatch.setitem(build_step.LEVELS, machine, dict.fromkeys(names, ("-munknown-instructions",)))
        compile_library(tmp_path / library.LIBRARY, compiler(), extra=("-O0",))
        assert Library(tmp_path / library.LIBRARY).levels == {"portable": True}

    def test_without_a_compiler(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CXX", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(library, "_found", library._found.__wrapped__)
        assert not supported()
        assert "no C++ compiler" in why_not()
        with pytest.raises(HeadwiseError, match="no C\\+\\+ compiler"):
            library.library()


class TestPackage:
    def test_is_searched_where_the_build_puts_the_library(self) -> None:
        root = Path(__file__).parents[4]
        [folder] = re.findall(r'^FOLDER = "(.+)"$', (root / "build_native.py").read_text(), re.MULTILINE)
        assert root / "src" / folder / library.LIBRARY == library.PACKAGED
        assert library.PACKAGED.parent.is_dir()

    def test_is_not_compiled_where_it_is_installed(self, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert library.CHECKOUT.is_file()
        monkeypatch.setattr(library, "CHECKOUT", fresh.parent / "build_native.py")
        assert not supported()
        assert "built without a C++ compiler" in why_not()

    def test_of_a_release_has_every_level(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        levels = {build_step.architecture(): {"future": ("-mno-such-instructions",)}}
        monkeypatch.setattr(build_step, "LEVELS", levels)
        with pytest.raises(build_step.CannotCompileError, match="does not know future"):
            build_step.compile_library(tmp_path / library.LIBRARY, compiler(), every_level=True)

    def test_its_library_comes_first(self, fresh: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(library, "PACKAGED", compiled)
        fresh.write_bytes(b"")
        assert supported()


class TestUnusable:
    """Reported in one line, and the next best library does the work."""

    @pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.999])
    def test_truncated(
        self, share: float, fresh: Path, compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = compiled.read_bytes()
        packaged = tmp_path / library.LIBRARY
        packaged.write_bytes(whole[: int(share * len(whole))])
        monkeypatch.setattr(library, "PACKAGED", packaged)
        with pytest.warns(UserWarning, match="of this installation is not used: .* is (truncated|not a library)$"):
            assert isinstance(library._found(), Library)

    def test_a_damaged_cache_is_compiled_anew(
        self, fresh: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As the others are, but without the time that it takes."""
        monkeypatch.setattr(library, "compile_library", lambda path, tool: shutil.copy(compiled, path))
        whole = fresh.read_bytes()
        fresh.write_bytes(whole[: len(whole) // 2])
        with pytest.warns(UserWarning, match="compiled anew: .* is truncated$"):
            assert isinstance(library._found(), Library)
        assert fresh.stat().st_size > len(whole) // 2

    def test_without_a_compiler_the_reason_is_kept(
        self, fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "packaged.so").write_bytes(b"nothing")
        monkeypatch.setattr(library, "PACKAGED", tmp_path / "packaged.so")
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CXX", raising=False)
        with pytest.warns(UserWarning, match="packaged.so is not a library"):
            assert "no C++ compiler" in str(library._found())

    def test_of_another_version(self, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(library, "source_digest", lambda: "0123456789abcdef")
        with pytest.raises(OSError, match="of another version of Headwise: build it anew"):
            Library(compiled)

    def test_of_before_versions(self, tmp_path: Path) -> None:
        (tmp_path / "old.cpp").write_text('extern "C" int headwise_supported() { return 1; }')
        made = tmp_path / library.LIBRARY
        subprocess.run([compiler(), "-shared", "-fPIC", tmp_path / "old.cpp", "-o", made], check=True)
        with pytest.raises(OSError, match="of another version of Headwise"):
            Library(made)

    def test_with_other_structs(self, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class Longer(library.SearchSettings):
            _fields_ = (("extra", ctypes.c_int64),)

        monkeypatch.setattr(library, "_STRUCTS", (*library._STRUCTS[:-1], Longer))
        with pytest.raises(OSError, match="another Longer: build it anew"):
            Library(compiled)

    def test_a_translation_is_not_stopped(self, fresh: Path, small_folder: Path, tmp_path: Path) -> None:
        """The command prints one line and translates."""
        (tmp_path / library.LIBRARY).write_bytes(fresh.read_bytes()[:5000])
        script = (
            "import sys, pathlib\n"
            "from headwise.decode.engines.native import library\n"
            "library.PACKAGED = pathlib.Path(sys.argv[1])\n"
            "from headwise.cli import main\n"
            "main(['translate', '--model', sys.argv[2], '--from', 'en', '--to', 'de', sys.argv[3]])\n"
        )
        command = [sys.executable, "-c", script, str(tmp_path / library.LIBRARY), str(small_folder), SOURCES[0]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [TARGETS[0]]
        [line] = done.stderr.splitlines()
        assert line.startswith("headwise: the native library of this installation is not used: ")
