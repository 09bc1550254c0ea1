"""Attention as a picture: one large map of the mean, and one small map a head and layer."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from headwise.errors import DataError
from headwise.inspect.figure import check_format, check_layer, page, plain
from headwise.inspect.maps import AttentionMap, AttentionMaps

MOST_TOKENS = 400
"""A side of the map; more makes a picture that viewers cannot open."""

_CELL = 0.34
"""Inches of a row or a column of the large map: room for its label."""
_WIDEST = 40.0
"""Inches that all small maps of a row may take: long texts of many heads must still make a picture."""
_STEP = 1.12
"""From one small map to the next, if its side is 1."""

Weights = NDArray[np.float32]


def draw_attention(maps: AttentionMaps, path: Path, kind: str | None = None, layer: int | None = None) -> None:
    """Write the picture of one kind of attention; its format follows from the name.

    Without `layer`, the large map shows the last but one layer (the last of a single one), where the
    alignment of words is clearest, and below it every head of every layer; with it, that layer alone.
    """
    check_format(path)
    shown = maps[kind or maps.kind]
    weights: Weights = shown.weights.numpy()  # [layers, H, rows, columns]
    layers, heads = weights.shape[:2]
    check_layer(layer, layers)
    tokens = max(len(shown.rows), len(shown.columns))
    if tokens > MOST_TOKENS:
        raise DataError(f"{tokens} tokens are too many for a picture (at most {MOST_TOKENS}); write .json instead")
    main = max(0, layers - 2) if layer is None else layer - 1
    if layer is None:
        side = max(1.1, min(0.07 * tokens, _WIDEST / heads))
        rows = [_named(weights[i], f"layer {i + 1}, head") for i in range(layers)]
    else:
        each = _named(weights[main], "head")
        side, rows = max(1.8, min(0.1 * tokens, _WIDEST / 4)), [each[start : start + 4] for start in range(0, heads, 4)]

    width = max(2.2 + _CELL * len(shown.columns), len(rows[0]) * side * _STEP + 0.4, 6.0)
    heights = [1.8 + _CELL * len(shown.rows), len(rows) * (side * _STEP + 0.15) + 0.4]
    with page(path, width, sum(heights)) as figure:
        top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=heights).flat
        top.suptitle(shown.title, fontsize=11)
        _large(top, shown, weights[main].mean(0), f"mean of the heads of layer {main + 1}")
        _small(bottom.add_subplot(), rows)


def _named(heads: Weights, name: str) -> list[tuple[str, Weights]]:
    return [(f"{name} {number + 1}", weights) for number, weights in enumerate(heads)]


def _large(figure: Any, shown: AttentionMap, weights: Weights, title: str) -> None:
    axes = figure.add_subplot()
    limit = _others_limit(weights)
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=limit, aspect="auto")
    axes.set_title(title, fontsize=9)
    labels = [plain(label) for label in shown.columns]
    axes.set_xticks(range(len(labels)), labels, rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(shown.rows)), [plain(label) for label in shown.rows])
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=9)
    beyond = "max" if weights.max() > limit else "neither"
    figure.colorbar(image, ax=axes, fraction=0.03, pad=0.02, label="attention weight", extend=beyond)


def _small(axes: Any, rows: list[list[tuple[str, Weights]]]) -> None:
    """All in one pair of axes: a thousand of them would take minutes to lay out."""
    frames = []
    for line, row in enumerate(rows):
        for place, (name, weights) in enumerate(row):
            left, top = place * _STEP, line * (_STEP + 0.1)
            axes.imshow(weights, cmap="Blues", vmin=0, vmax=_limit(weights), extent=(left, left + 1, top + 1, top))
            axes.text(left + 0.5, top - 0.02, name, fontsize=7, ha="center", va="bottom")
            frames.append(Rectangle((left, top), 1, 1))
    axes.add_collection(PatchCollection(frames, facecolor="none", edgecolor="0.7", linewidth=0.5))
    axes.set(xlim=(-0.02, len(rows[0]) * _STEP), ylim=(len(rows) * (_STEP + 0.1), -0.15), aspect="equal")
    axes.set_axis_off()


def _limit(weights: Weights) -> float:
    """The weight that is drawn darkest; weights that are all alike should look pale."""
    least: float = min(0.3, 3 / weights.shape[1])
    return max(least, float(weights.max()))


def _others_limit(weights: Weights) -> float:
    """The same, without a column that takes most of the attention: beside it all others would look empty."""
    shares = weights.mean(0)
    if len(shares) < 3 or shares.max() < 1 / 3:
        return _limit(weights)
    return _limit(np.delete(weights, int(shares.argmax()), axis=1))
