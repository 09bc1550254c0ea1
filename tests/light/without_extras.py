"""An interpreter in which only the packages that `pip install headwise` installs can be imported."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

HOOK = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in ALLOWED and top not in sys.stdlib_module_names and not top.startswith("_"):
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)
sys.meta_path.insert(0, Refuse())
"""
"""Refuses the import of everything but the standard library and the packages in ALLOWED."""


def light_distributions() -> set[str]:
    """The distributions that `pip install headwise` installs here beside Headwise, what they need included."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: set[str] = set()
    waiting = list(map(str, table["project"]["dependencies"]))
    while waiting:
        requirement, _, marker = waiting.pop().partition(";")
        name = re.split(r"[^\w.-]", requirement.strip())[0].lower().replace("_", "-")
        needed_here = "extra" not in marker and (
            "python_version" not in marker or sys.version_info < _version_in(marker)
        )
        if needed_here and name not in found:
            found.add(name)
            waiting += distribution(name).requires or []
    return found


def _version_in(marker: str) -> tuple[int, ...]:
    """The version of a marker such as python_version < '3.14'."""
    match = re.search(r"python_version < ['\"]([\d.]+)", marker)
    assert match, f"not a marker that this test knows: {marker}"
    return tuple(map(int, match[1].split(".")))


def light_python(code: str, *arguments: object, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter without extras."""
    light = light_distributions()
    allowed = {
        package
        for package, names in packages_distributions().items()
        if any(name.lower().replace("_", "-") in light for name in names)
    }
    script = f"ALLOWED = {sorted(allowed | {'headwise'})!r}\n{HOOK}\n{code}"
    command = [sys.executable, "-c", script, *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "error"}
    return subprocess.run(
        command, input=given, capture_output=True, encoding="utf-8", env=environment, check=False, timeout=120
    )


def light_command(*arguments: object, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of Headwise in an interpreter without extras."""
    return light_python("from headwise.cli import main; sys.exit(main())", *arguments, given=given)
