"""Imports point one way, and the leaves know nothing of the tree.

cli -> serve, inspect -> train, evaluate, decode -> models, data -> nn, text -> config
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwise

ROOT = Path(headwise.__file__).parent

LEVELS: list[set[str]] = [
    {"config", "presets"},
    {"nn", "text"},
    {"models", "data"},
    {"decode", "evaluate", "metrics", "train"},
    {"synthesis"},
    {"inspect", "serve", "info"},
    {"cli"},
    {"__main__", "__init__"},
]
"""From the ground up: a part may use what lies on a lower level."""

BESIDE = {
    ("presets", "config"),
    ("evaluate", "decode"),
    ("train", "decode"),
    ("train", "evaluate"),
    ("train", "metrics"),
    ("__main__", "cli"),
}
"""Steps within a level, none of which has a way back."""

EVERYWHERE = {"errors", "files", "devices", "interrupt"}
"""Anyone may import them; they import nothing of the package but each other."""

LEVEL = {part: number for number, parts in enumerate(LEVELS) for part in parts}


def modules() -> dict[str, Path]:
    """Every module of the package by its name below `headwise`."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in sorted(ROOT.rglob("*.py"))
        if "corpora" not in path.parts
    }


def imports(module: str, path: Path) -> Iterator[str]:
    """Full names of what a file imports, wherever in it: at the top, in a function, for types only."""
    package = ["headwise", *module.split(".")[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)


def parts_used(module: str, path: Path) -> set[str]:
    """The parts of Headwise that a module imports; the package itself for its version is none."""
    names = [name.split(".") for name in imports(module, path)]
    return {name[1] for name in names if name[0] == "headwise" and len(name) > 1} - {"__version__"}


MODULES = modules()


def test_the_walk_finds_imports_of_every_kind(tmp_path: Path) -> None:
    """Else this file would hold nothing."""
    path = tmp_path / "module.py"
    path.write_text(
        "import headwise.cli\n"
        "from headwise import info, __version__\n"
        "from headwise.decode.search.beam import walk\n"
        "from . import run\n"
        "from ..models import build\n"
        "def f():\n    from headwise.inspect import x\n"
    )
    assert parts_used("train.module", path) == {"cli", "info", "decode", "train", "models", "inspect"}
    assert len(MODULES) > 50
    assert parts_used("train.tasks.translation_task", MODULES["train.tasks.translation_task"]) >= {
        "decode",
        "data",
        "models",
        "evaluate",
    }


def test_every_part_has_a_level() -> None:
    parts = {module.split(".")[0] for module in MODULES}
    assert parts <= LEVEL.keys() | EVERYWHERE, "a new part: give it a level here and in the style guide"


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    own = module.split(".")[0]
    for part in parts_used(module, MODULES[module]) - EVERYWHERE - {own}:
        if own in EVERYWHERE:
            raise AssertionError(f"{module} is a leaf that anyone imports: it must not import {part}")
        assert part in LEVEL, f"{module} imports {part}, which has no level"
        assert LEVEL[part] < LEVEL[own] or (own, part) in BESIDE, f"{module} must not import {part}"


def test_nn_imports_torch_alone() -> None:
    for module, path in MODULES.items():
        if module.split(".")[0] != "nn":
            continue
        for name in imports(module, path):
            top = name.split(".")[0]
            if top == "triton" and module.startswith("nn.kernels."):  # what GPU kernels are written in
                continue
            assert top == "torch" or name.startswith("headwise.nn.") or top in sys.stdlib_module_names, (module, name)


@pytest.mark.parametrize(
    "module",
    ["decode.search.beam", "decode.search.sampling", "decode.search.constraints", "train.loop", "train.step.loss"],
)
def test_search_and_the_loop_know_no_model(module: str) -> None:
    used = set(imports(module, MODULES[module]))
    used = {name for name in used if not name.startswith("headwise.nn.kernels")}  # functions of tensors alone
    assert not {name for name in used if name.startswith(("headwise.models", "headwise.nn"))}


@pytest.mark.parametrize(
    "module", [module for module in MODULES if module.split(".")[0] in {"config", "presets", "text"}]
)
def test_config_and_text_do_without_torch(module: str) -> None:
    """The command line reads recipes before it loads anything heavy."""
    assert "torch" not in {name.split(".")[0] for name in imports(module, MODULES[module])}
