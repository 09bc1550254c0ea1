"""Write docs/map.md: every module of the package with the first sentence of its docstring.

.venv/bin/python docs/make_map.py            # write it
.venv/bin/python docs/make_map.py --check    # exit with 1 if it is not what would be written
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "src" / "headwise"
MAP = DOCS / "map.md"

HEAD = """# Map of the package

Every module with its one-line purpose, made from the docstrings by `docs/make_map.py`; a test keeps it true.
Imports point one way: `cli -> serve, inspect -> synthesis, documents -> train, evaluate, decode -> models, data ->
nn, text -> files, config`. To read the architecture of the paper, start with `nn/` and `models/encoder_decoder.py`, or
take [the tour](tour.md). Where to look for what: the table in [CONTRIBUTING.md](../CONTRIBUTING.md).
"""


def purpose(path: Path) -> str:
    """The first paragraph of a module's docstring, on one line."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not docstring:
        raise SystemExit(f"{path} has no docstring")
    return " ".join(docstring.split("\n\n")[0].split())


def folders(folder: Path) -> Iterator[Path]:
    """A folder and those below it that hold Python modules, parents first."""
    if any(folder.glob("*.py")):
        yield folder
    for child in sorted(each for each in folder.iterdir() if each.is_dir() and each.name != "__pycache__"):
        yield from folders(child)


def lines() -> Iterator[str]:
    """The lines of the map."""
    yield HEAD
    for folder in folders(PACKAGE):
        name = folder.relative_to(PACKAGE.parent).as_posix()
        package = folder / "__init__.py"
        yield f"## [{name}/](../src/{name})\n"
        if package.exists():
            yield f"{purpose(package)}\n"
        modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
        if modules:
            yield "| module | purpose |\n| --- | --- |"
            for path in modules:
                text = purpose(path).replace("|", "\\|")
                yield f"| [{path.name}](../{path.relative_to(DOCS.parent).as_posix()}) | {text} |"
            yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the map is out of date")
    args = parser.parse_args()
    text = "\n".join(lines()).rstrip() + "\n"
    if not args.check:
        MAP.write_text(text, encoding="utf-8")
    elif not MAP.exists() or MAP.read_text(encoding="utf-8") != text:
        sys.exit("docs/map.md is out of date: run docs/make_map.py")


if __name__ == "__main__":
    main()
