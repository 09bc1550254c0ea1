"""The layout of the package stays a map: small folders, names used once, docstrings that stand alone."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwise

PACKAGE = Path(headwise.__file__).parent
ROOT = Path(__file__).parent.parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "corpora" not in path.parts)
MOST_FILES = 17

OPENINGS = re.compile(r"^(Of|The same|Same|As above|Likewise|\.\.\. )\b")
"""First words of a docstring that cannot be understood without the lines before it."""
SPOKEN = re.compile(
    r"\b(?:tokens|sentences|words|steps|lines|images) a second\b|\ba \w+ a (?:line|file|family|class)\b"
)


def documented() -> Iterator[tuple[str, str]]:
    """Every docstring of the package, with its place."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            body = getattr(node, "body", None)
            for statement in body if isinstance(body, list) else []:
                value = statement.value if isinstance(statement, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield f"{path.relative_to(PACKAGE)}:{statement.lineno}", value.value


def test_no_folder_is_too_large_to_be_a_map() -> None:
    sizes: dict[Path, int] = defaultdict(int)
    for path in FILES:
        sizes[path.parent] += path.name != "__init__.py"
    sizes.pop(PACKAGE / "cli")  # one file per command
    large = {str(folder.relative_to(PACKAGE)): size for folder, size in sizes.items() if size > MOST_FILES}
    assert not large


def test_no_file_name_is_used_twice() -> None:
    """Commands are named after what they do, so `cli/` may repeat a name."""
    places = defaultdict(list)
    for path in FILES:
        if path.name != "__init__.py" and path.parent.name != "cli":
            places[path.name].append(str(path.relative_to(PACKAGE)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_every_package_and_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(PACKAGE)) for path in FILES if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert not silent
    folders = {path.parent for path in FILES}
    assert all((folder / "__init__.py").exists() for folder in folders)


def test_docstrings_stand_alone() -> None:
    assert not [f"{place}: {text.splitlines()[0]}" for place, text in documented() if OPENINGS.match(text)]


def test_docstrings_write_per_not_a() -> None:
    assert not [f"{place}: {found[0]}" for place, text in documented() if (found := SPOKEN.search(text))]


def test_the_map_is_up_to_date() -> None:
    made = subprocess.run([sys.executable, ROOT / "docs" / "make_map.py", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


QUESTION = re.compile(
    r"^\| (?P<question>[^|]+\?) \| \[`?(?P<path>[^]`]+)`?\]\((?P<link>[^)]+)\)(?P<names>[^|]*) \|$", re.M
)


def questions() -> list[tuple[str, str, list[str]]]:
    """The table of CONTRIBUTING.md: a question, the file that answers it, and the names to look at there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return [(row["question"], row["link"], re.findall(r"`(\w+)`", row["names"])) for row in QUESTION.finditer(text)]


def test_there_are_questions() -> None:
    assert len(questions()) >= 6


@pytest.mark.parametrize(("question", "link", "names"), questions(), ids=lambda value: str(value)[:40])
def test_the_answer_is_where_the_table_says(question: str, link: str, names: list[str]) -> None:
    path = ROOT / link
    assert path.is_file(), f"{question} {link}"
    text = path.read_text(encoding="utf-8")
    assert names, question
    for name in names:
        assert re.search(rf"\b(?:def|class) {name}\b|^{name}\b.*=", text, re.M), f"{question} {name} is not in {link}"
