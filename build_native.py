"""Build hook: compiles the native engine into the wheel. Without a compiler the wheel is made without it."""

import importlib.util
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "headwise/decode/engines/native"


class NativeEngine(BuildHookInterface):
    """An editable install has no wheel to put it into: there it is compiled at first use."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        step = _compile_step(Path(self.root) / "src" / FOLDER / "compile.py")
        self._folder = tempfile.TemporaryDirectory()
        made = Path(self._folder.name) / step.LIBRARY
        try:
            step.compile_library(made, step.compiler())
        except step.CannotCompileError as error:
            self.app.display_warning(f"without the native engine: {error}")
            return
        build_data["force_include"][str(made)] = f"{FOLDER}/{step.LIBRARY}"
        # The library belongs to this kind of machine, but to no version of Python.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def _compile_step(path: Path) -> ModuleType:
    """The module that compiles, without the package that it is part of: nothing of that is installed yet."""
    specification = importlib.util.spec_from_file_location("compile_step", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
