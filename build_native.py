"""Build hook: compiles the native engine into the wheel.

Without a compiler the wheel is made without it, unless HEADWISE_RELEASE is set: a release must have it. A compiler for
another system (CXX) makes the wheel of that system, which HEADWISE_PLATFORM names: scripts/release/windows.
"""

import importlib.util
import os
import platform
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "headwise/decode/engines/native"
RELEASE = "HEADWISE_RELEASE"
"""The environment variable of a release build: what would otherwise be a warning is an error."""
PLATFORM = "HEADWISE_PLATFORM"
"""The environment variable with the platform tag of the wheel, if that is not the one of this machine."""
ELSEWHERE = {"win_amd64": ("win32", "x86_64")}
"""The other platforms that a wheel can be built for: their system and architecture."""
LINK = {"linux": ("-static-libstdc++", "-static-libgcc", "-s"), "win32": ("-static", "-s")}
"""Linker flags by system: the library brings the C++ run-time along, since another machine may have an older one or
none, and no symbols for debuggers. On macOS the run-time is part of the system."""


class NativeEngine(BuildHookInterface):
    """An editable install has no wheel to put it into: there it is compiled at first use."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        step = _compile_step(Path(self.root) / "src" / FOLDER / "compile.py")
        self._folder = tempfile.TemporaryDirectory()
        tag = os.environ.get(PLATFORM) or _platform()
        system, machine = ELSEWHERE.get(tag, (sys.platform, step.architecture()))
        made = Path(self._folder.name) / step.LIBRARIES.get(system, step.LIBRARY)
        release = bool(os.environ.get(RELEASE))
        try:
            step.compile_library(made, step.compiler(), machine, LINK.get(system, ()), every_level=release)
        except step.CannotCompileError as error:
            if release:
                raise RuntimeError(f"a release needs the native engine: {error}") from error
            self.app.display_warning(f"without the native engine: {error}")
            return
        build_data["force_include"][str(made)] = f"{FOLDER}/{made.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def _platform() -> str:
    """The platform tag: the library belongs to this kind of machine, but to no version of Python."""
    name = sysconfig.get_platform().replace("universal2", platform.machine())  # a Python for two kinds of Macs
    return name.replace("-", "_").replace(".", "_")


def _compile_step(path: Path) -> ModuleType:
    """The module that compiles, without the package that it is part of: nothing of that is installed yet."""
    specification = importlib.util.spec_from_file_location("compile_step", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
