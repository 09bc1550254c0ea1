"""Output of the benchmarks: a table for people, one JSON line per row for programs."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

Row = dict[str, Any]


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="append the JSON lines here (default: stdout)")


def machine() -> Row:
    """The machine that the measurements were made on."""
    names = (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name"))
    cpu = next(names, platform.processor())
    load = round(os.getloadavg()[0], 2)
    return {"cpu": cpu, "threads": torch.get_num_threads(), "torch": torch.__version__, "load": load}


def show(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Print a table of these columns."""
    cells = [list(columns)] + [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def write(rows: Sequence[Row], path: Path | None) -> None:
    """Write one JSON line per row, with the machine; to stdout if no file is given."""
    where = machine()
    text = "".join(json.dumps({**row, **where}) + "\n" for row in rows)
    if path is None:
        sys.stdout.write(text)
    else:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
