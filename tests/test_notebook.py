"""The notebook: its cells run one after the other, in a new interpreter and an empty folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "first_translator.ipynb"
CELLS = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]

RUN = """
import ast, json, sys
names = {"__name__": "__main__"}
for number, source in enumerate(json.load(sys.stdin)):
    tree = ast.parse(source, f"cell {number}")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), names)
    if last is not None:  # as a notebook does, show the value of the last expression
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        print(f"[{number}]", repr(value) if value is not None else "")
"""


def test_no_results_are_stored() -> None:
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in CELLS)


@pytest.mark.slow
def test_every_cell_runs(tmp_path: Path) -> None:
    sources = ["".join(cell["source"]) for cell in CELLS if "install" not in cell["metadata"].get("tags", [])]
    assert len(sources) == len(CELLS) - 1
    result = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(sources),
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "HEADWISE_NOTEBOOK_STEPS": "20", "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert "[1] {'validation set': " in result.stdout
    assert "[3] <PIL." in result.stdout
    assert "I ate an apple." in result.stdout
    assert (tmp_path / "attention.png").stat().st_size > 1000
    assert (tmp_path / "my-model-int8" / "config.json").is_file()
