"""Training curves: the losses and metrics in the log of a run, as a picture."""

import math
from pathlib import Path
from typing import Any

from headwise.files.atomic import replacing
from headwise.metrics import SHARES
from headwise.train.report.console import read_log

OTHER_KEYS = ("kind", "step", "loss", "best")
"""Keys of a validation record that are not drawn as its metric; nor are names with a space, for one of several sets."""
NAMES = {"bleu": "BLEU, greedy"}


def draw_curves(run: Path) -> Path | None:
    """Draw `curves.png`: training and validation loss, and the first other metric of the log."""
    records = read_log(run)
    train, valid = ([record for record in records if record["kind"] == kind] for kind in ("train", "valid"))
    if not train:
        return None
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(_column(train, "step"), _column(train, "nll"), color="#9aa5b1", label="training loss")
    if valid:
        steps, losses = _column(valid, "step"), _column(valid, "loss")
        axes.plot(steps, losses, "o-", ms=3, color="#1f4e79", label="validation loss")
    axes.set_xlabel("step")
    axes.set_ylabel("loss (negative log-likelihood)")
    axes.grid(alpha=0.3)
    handles = axes.get_lines() + _draw_metric(axes, valid)
    axes.legend(handles=handles, loc="center right")
    path = run / "curves.png"
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
    return path


def _draw_metric(axes: Any, valid: list[dict[str, Any]]) -> list[Any]:
    """Draw the first metric beside the loss, with a scale on the right; returns its lines."""
    metric = next((name for record in valid for name in record if name not in OTHER_KEYS and " " not in name), "")
    measured = [record for record in valid if metric in record]
    if not measured:
        return []
    name, factor = (f"{metric}, %", 100) if metric in SHARES else (NAMES.get(metric, metric), 1)
    values = [factor * value for value in _column(measured, metric)]
    right = axes.twinx()
    right.set_ylabel(name)
    lines: list[Any] = right.plot(
        _column(measured, "step"), values, "s--", ms=3, color="#c0561f", label=f"validation {name}"
    )
    right.set_ylim(bottom=min(0.0, *values))
    return lines


def _column(records: list[dict[str, Any]], name: str) -> list[float]:
    """A column of the log; NaN, which is drawn as a gap, where the value is null or damaged."""
    return [value if isinstance(value := record.get(name), int | float) else math.nan for record in records]
