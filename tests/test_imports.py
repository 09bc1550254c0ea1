"""Imports point one way, and the leaves know nothing of the tree.

cli -> serve, inspect -> synthesis, documents -> train, evaluate, decode -> models, data -> nn, text -> files, config
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwise

ROOT = Path(headwise.__file__).parent

LEVELS: list[set[str]] = [
    {"config", "recipe", "presets"},
    {"nn", "text"},
    {"models", "data"},
    {"decode", "evaluate", "metrics", "train"},
    {"synthesis", "documents"},
    {"inspect", "serve", "info", "model_list"},
    {"cli"},
    {"__main__", "__init__"},
]
"""From the ground up: a part may use what lies on a lower level."""

BESIDE = {
    ("recipe", "config"),
    ("presets", "config"),
    ("presets", "recipe"),
    ("evaluate", "decode"),
    ("train", "decode"),
    ("train", "evaluate"),
    ("train", "metrics"),
    ("serve", "inspect"),
    ("__main__", "cli"),
}
"""Steps within a level, none of which has a way back."""

EVERYWHERE = {"errors", "ranges", "files", "devices", "interrupt", "bundled", "extras"}
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


def imports_at_top(module: str, path: Path) -> Iterator[str]:
    """Full names of what a file imports when it is loaded: not in functions, not for types only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.If | ast.Try | ast.With):
            waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


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


def test_imports_point_one_way() -> None:
    offenders = []
    for module, path in MODULES.items():
        own = module.split(".")[0]
        for part in sorted(parts_used(module, path) - EVERYWHERE - {own}):
            if own in EVERYWHERE:
                offenders.append(f"{module} is a leaf that anyone imports: it must not import {part}")
            elif part not in LEVEL:
                offenders.append(f"{module} imports {part}, which has no level")
            elif LEVEL[part] >= LEVEL[own] and (own, part) not in BESIDE:
                offenders.append(f"{module} must not import {part}")
    assert not offenders, "\n".join(offenders)


def test_nn_imports_torch_alone() -> None:
    for module, path in MODULES.items():
        if module.split(".")[0] != "nn":
            continue
        for name in imports(module, path):
            top = name.split(".")[0]
            if top == "triton" and module.startswith("nn.kernels."):  # what GPU kernels are written in
                continue
            assert top == "torch" or name.startswith("headwise.nn.") or top in sys.stdlib_module_names, (module, name)


def reached(module: str) -> set[str]:
    """Every module that importing `module` loads, itself included: imports at the top of files, followed to the end."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or name not in MODULES:
            continue
        found.add(name)
        for used in imports_at_top(name, MODULES[name]):
            if used.startswith("headwise."):
                inside = used.removeprefix("headwise.")
                waiting += [inside, inside.rpartition(".")[0]]  # a module, or a name in one
        waiting += [f"{parent}.__init__" for parent in _parents(name)]
    return found


def _parents(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts)))


FUNCTIONS = {"nn.__init__", "nn.dropout", "nn.lora"}
"""What works on tensors and on any module."""
FOLDER = {"models.__init__"} | {
    f"models.folder.{name}" for name in ("__init__", "config_file", "description", "run_layout", "shards", "weights")
}
"""What knows the files of a model's folder, and no class of model."""
KNOW_NO_MODEL = [
    "decode.search.beam",
    "decode.search.sampling",
    "decode.search.constraints",
    "train.loop",
    "train.step.loss",
]


@pytest.mark.parametrize("module", KNOW_NO_MODEL)
def test_search_and_the_loop_reach_no_model(module: str) -> None:
    """Directly or through others: neither a model class nor a part of one."""
    nets = {name for name in reached(module) if name.startswith(("models.", "nn."))}
    known = {name for name in nets if name.startswith("nn.kernels.")} | FUNCTIONS | FOLDER
    assert not nets - known


def test_the_walk_goes_through_others() -> None:
    """Else the test above would hold nothing."""
    assert {"models.encoder_decoder", "nn.attention", "errors"} <= reached("train.tasks.translation_task")


@pytest.mark.parametrize(
    "module", [module for module in MODULES if module.split(".")[0] in {"config", "presets", "text", "bundled"}]
)
def test_config_and_text_do_without_torch(module: str) -> None:
    """The command line reads recipes before it loads anything heavy."""
    assert "torch" not in {name.split(".")[0] for name in imports(module, MODULES[module])}
