"""Pictures of attention: a large map of the mean over one layer's heads, and a small map of every head."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from headwise.decode.alignment import alignment_layer
from headwise.errors import DataError
from headwise.inspect.figure import check_format, check_layer, page, plain
from headwise.inspect.maps import AttentionMaps

MOST_TOKENS = 120
"""The most tokens along a side of a map: more cannot be read, whatever the size of the picture."""
MOST_WITH_HEADS = 60
"""The most tokens along a side with small maps of every head below the large one."""
SMALLEST_FONT = 4.5
"""Font size in points that tokens beside a small map need; if there is less room, they are left out."""
ACROSS = 4
"""Small maps per row if a single layer is drawn."""

Weights = NDArray[np.float32]
T = TypeVar("T")


class _Grid(NamedTuple):
    """Small maps in rows: titles of rows and columns or of each map, and the side of a map in inches."""

    maps: list[list[Weights]]
    row_titles: list[str]
    column_titles: list[str]
    titles: list[list[str]]
    side: float


def draw_attention(maps: AttentionMaps, path: Path, kind: str | None = None, layer: int | None = None) -> None:
    """Draw a picture of one kind of attention; the suffix of the file chooses the format.

    Without `layer`, the large map is that of the layer that aligns words best, above every head of every layer; with
    it, only that layer is drawn. Texts that are too long for small maps are drawn without them.
    """
    check_format(path)
    shown = maps[kind or maps.kind]
    weights: Weights = shown.weights.numpy()  # [layers, H, rows, columns]
    check_layer(layer, len(weights))
    tokens = max(len(shown.rows), len(shown.columns))
    if tokens > MOST_TOKENS:
        raise DataError(
            f"{tokens} tokens are too many for a picture (at most {MOST_TOKENS}): inspect one sentence at a time, or "
            "write .json"
        )
    main = alignment_layer(len(weights)) if layer is None else layer - 1
    grid = _grid(weights, main, tokens, layer is None) if tokens <= MOST_WITH_HEADS else None
    rows, columns = labels(shown.rows), labels(shown.columns)
    margins = _room(rows), _room(columns)
    cell = min(0.34, max(0.15, 14 / tokens))
    width = max(margins[0] + cell * len(columns) + 1.2, _width(grid, margins[0]), 6.0)
    title = "\n".join(textwrap.wrap(maps.title, int(width * 9), max_lines=3, placeholder=" ..."))
    heights = [0.6 + 0.2 * title.count("\n") + margins[1] + cell * len(rows) + 0.5]
    if grid is not None:
        heights.append(len(grid.maps) * (grid.side + (0.05 if grid.column_titles else 0.25)) + margins[1] + 0.6)
    with page(path, width, sum(heights)) as figure:
        top, *bottom = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights).flat
        top.suptitle(plain(title), fontsize=12, fontweight="bold")
        name = f"{shown.title}\nmean of the {weights.shape[1]} heads of layer {main + 1} of {len(weights)}"
        _large(top, weights[main].mean(0), rows, columns, name, font=9 if cell > 0.25 else 6)
        for part in bottom:
            assert grid is not None
            part.suptitle("every head", fontsize=10)
            _small(part, grid, rows, columns)


def labels(pieces: Sequence[str]) -> list[str]:
    """Tokens as labels: `▁` is left out, and a token that continues a word begins with `·`."""
    if not any(piece.startswith("▁") and len(piece) > 1 for piece in pieces):
        return list(pieces)
    return [_label(piece) for piece in pieces]


def _label(piece: str) -> str:
    if piece.startswith("▁") and len(piece) > 1:
        return piece[1:]
    special = len(piece) > 2 and piece[0] in "<[" and piece[-1] in ">]"
    return f"·{piece}" if piece[:1].isalnum() and not special else piece


def _grid(weights: Weights, main: int, tokens: int, every_layer: bool) -> _Grid:
    layers, heads = weights.shape[:2]
    side = max(1.0, min(0.11 * tokens, 2.4, 18 / heads))
    if every_layer and heads <= 16:
        row_titles, column_titles = _numbered("layer", layers), _numbered("head", heads)
        return _Grid([list(layer) for layer in weights], row_titles, column_titles, [], side)
    chosen, across = (weights, 12) if every_layer else (weights[main : main + 1], ACROSS)
    first = 0 if every_layer else main
    maps = [head for layer in chosen for head in layer]
    titles = [f"layer {first + i // heads + 1}, head {i % heads + 1}" for i in range(len(maps))]
    side = side if every_layer else max(1.8, min(0.16 * tokens, 4.0))
    return _Grid(_lines(maps, across), [], [], _lines(titles, across), side)


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name} {number}" for number in range(1, count + 1)]


def _lines(items: list[T], length: int) -> list[list[T]]:
    return [items[start : start + length] for start in range(0, len(items), length)]


def _room(names: Sequence[str]) -> float:
    """The width of the longest of these labels, in inches."""
    return 0.2 + 0.085 * min(30, max(map(len, names), default=0))


def _width(grid: _Grid | None, margin: float) -> float:
    return 0.0 if grid is None else margin + len(grid.maps[0]) * grid.side * 1.1 + 1.2


def _large(figure: Any, weights: Weights, rows: list[str], columns: list[str], title: str, font: int) -> None:
    axes = figure.add_subplot()
    limit = _others_limit(weights)
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=limit, aspect="equal")
    axes.set_title(title, fontsize=9, color="0.35")
    axes.set_xticks(range(len(columns)), map(plain, columns), rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), map(plain, rows))
    axes.set_xticks(np.arange(0.5, len(columns) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(rows) - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.xaxis.tick_top()
    axes.tick_params(which="both", length=0, labelsize=font)
    for spine in axes.spines.values():
        spine.set_color("0.7")
    width = 0.5 / max(1, len(columns))
    _scale(figure, axes, image, width, 0.9, "max" if weights.max() > limit else "neither")


def _small(figure: Any, grid: _Grid, rows: list[str], columns: list[str]) -> None:
    """Draw all small maps in one Axes: the layout of a thousand Axes would take minutes."""
    axes = figure.add_subplot()
    limit = max(_others_limit(weights) for line in grid.maps for weights in line)
    down = 1.06 if grid.column_titles else 1.06 + 0.2 / grid.side
    frames, image = [], None
    font = min(8.0, 60 * grid.side / max(len(rows), len(columns)))
    labelled = font >= SMALLEST_FONT
    for number, (line, line_below) in enumerate(zip(grid.maps, [*grid.maps[1:], []], strict=True)):
        top = number * down
        for place, weights in enumerate(line):
            left = place * 1.06
            extent = (left, left + 1, top + 1, top)
            image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=limit, extent=extent)
            frames.append(Rectangle((left, top), 1, 1))
            if grid.titles:
                axes.text(left + 0.5, top - 0.02, grid.titles[number][place], fontsize=7, ha="center", va="bottom")
            if labelled and place >= len(line_below):
                _label_columns(axes, columns, left, top, font)
        for at, name in enumerate(rows if labelled else []):
            axes.text(-0.02, top + (at + 0.5) / len(rows), plain(name), fontsize=font, ha="right", va="center")
        if grid.row_titles:
            right = len(line) * 1.06
            axes.text(right, top + 0.5, grid.row_titles[number], fontsize=8, rotation=-90, ha="left", va="center")
    for place, name in enumerate(grid.column_titles):
        axes.text(place * 1.06 + 0.5, -0.03, name, fontsize=8, ha="center", va="bottom")
    axes.add_collection(PatchCollection(frames, facecolor="none", edgecolor="0.6", linewidth=0.5))
    left = -_room(rows) / grid.side if labelled else -0.05
    height = (len(grid.maps) - 1) * down + 1 + (_room(columns) / grid.side if labelled else 0.05)
    axes.set(xlim=(left, len(grid.maps[0]) * 1.06 + 0.15), ylim=(height, -0.2), aspect="equal")
    axes.set_axis_off()
    inches = (len(grid.maps[0]) * 1.06 + 0.15 - left) * grid.side
    _scale(figure, axes, image, 0.15 / inches, 0.7, "max")


def _label_columns(axes: Any, columns: list[str], left: float, top: float, font: float) -> None:
    how = {"rotation": 60, "ha": "right", "va": "top", "rotation_mode": "anchor"}
    for at, name in enumerate(columns):
        axes.text(left + (at + 0.5) / len(columns), top + 1.03, plain(name), fontsize=font, **how)


def _scale(figure: Any, axes: Any, image: Any, width: float, height: float, beyond: str) -> None:
    """Draw the colour bar beside the axes, without moving them off centre."""
    place = axes.inset_axes((1.0 + width, (1 - height) / 2, width, height))
    bar = figure.colorbar(image, cax=place, label="attention weight", extend=beyond)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8)


def _limit(weights: Weights) -> float:
    """The weight that is drawn darkest; a map of equal weights should look pale."""
    least: float = min(0.3, 3 / weights.shape[1])
    return max(least, float(weights.max()))


def _others_limit(weights: Weights) -> float:
    """`_limit` without a column that receives most of the attention, beside which all others would look empty."""
    shares = weights.mean(0)
    if len(shares) < 3 or shares.max() < 1 / 3:
        return _limit(weights)
    return _limit(np.delete(weights, int(shares.argmax()), axis=1))
