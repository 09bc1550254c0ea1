"""The curves of a run's log as a picture."""

import math
from pathlib import Path
from typing import Any

from headwise.files.atomic import replacing
from headwise.metrics import SHARES
from headwise.train.report.console import read_log

NO_METRIC = ("kind", "step", "loss", "best")
"""Keys of a validation record that are no metric; metrics of a part, such as a direction, have a space."""
NAMES = {"bleu": "BLEU, greedy"}


def draw_curves(run: Path) -> Path | None:
    """Draw `curves.png`: training and validation loss, and the first other metric of the log."""
    records = read_log(run)
    train = [r for r in records if r["kind"] == "train"]
    valid = [r for r in records if r["kind"] == "valid"]
    if not train:
        return None
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(_column(train, "step"), _column(train, "nll"), color="#9aa5b1", label="training loss")
    if valid:
        axes.plot(
            _column(valid, "step"),
            _column(valid, "loss"),
            "o-",
            ms=3,
            color="#1f4e79",
            label="validation loss",
        )
    axes.set_xlabel("step")
    axes.set_ylabel("loss (negative log-likelihood)")
    axes.grid(alpha=0.3)
    handles, labels = axes.get_legend_handles_labels()
    metric = next((name for record in valid for name in record if name not in NO_METRIC and " " not in name), "")
    measured = [record for record in valid if metric in record]
    if measured:
        name, times = (f"{metric}, %", 100) if metric in SHARES else (NAMES.get(metric, metric), 1)
        values = [times * value for value in _column(measured, metric)]
        right = axes.twinx()
        right.plot(
            _column(measured, "step"),
            values,
            "s--",
            ms=3,
            color="#c0561f",
            label=f"validation {name}",
        )
        right.set_ylabel(name)
        right.set_ylim(bottom=min(0.0, *values))
        more_handles, more_labels = right.get_legend_handles_labels()
        handles, labels = handles + more_handles, labels + more_labels
    axes.legend(handles, labels, loc="center right")
    path = run / "curves.png"
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
    return path


def _column(records: list[dict[str, Any]], name: str) -> list[float]:
    """A column of the log; NaN, which draws a gap, where it has null or is damaged."""
    return [value if isinstance(value := record.get(name), int | float) else math.nan for record in records]
