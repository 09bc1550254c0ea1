"""Attention as a picture: one large map of the mean, and one small map a head and layer."""

import math
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure

from headwise.errors import ConfigError, DataError
from headwise.inspect.attention import AttentionMaps

KINDS = {
    "cross": "cross-attention: the target looks at the source",
    "encoder": "encoder self-attention: the source looks at itself",
    "decoder": "masked decoder self-attention: the target looks at what is written",
}

FORMATS = (".png", ".svg", ".pdf")

MOST_TOKENS = 400
"""A side of the map; more makes a picture that viewers cannot open."""

_FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans Devanagari",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Thai",
    "Arial Unicode MS",
    "Microsoft YaHei",
    "PingFang SC",
)


def draw_attention(maps: AttentionMaps, path: Path, kind: str = "cross", layer: int | None = None) -> None:
    """Write the picture of one kind of attention; its format follows from the name.

    Without `layer`, the large map shows the last but one layer (the last of a single one), where the
    alignment of words is clearest, and below it every head of every layer; with it, that layer alone.
    """
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"{path}: a picture ends in {', '.join(FORMATS)} (or .json for the numbers)")
    weights = getattr(maps, kind).numpy()  # [layers, H, rows, columns]
    layers, heads = weights.shape[:2]
    if layer is not None and not 1 <= layer <= layers:
        raise ConfigError(f"layer {layer} does not exist: there are 1 to {layers}")
    rows, columns = _labels(maps, kind)
    if max(len(rows), len(columns)) > MOST_TOKENS:
        tokens = max(len(rows), len(columns))
        raise DataError(f"{tokens} tokens are too many for a picture (at most {MOST_TOKENS}); write .json instead")
    main = layer - 1 if layer is not None else max(0, layers - 2)
    shown = [main] if layer is not None else list(range(layers))

    cell = 0.34
    large_width, large_height = 2.2 + cell * len(columns), 1.8 + cell * len(rows)
    per_row = heads if layer is None else min(heads, 4)
    grid_rows = layers if layer is None else math.ceil(heads / per_row)
    side = max(1.1, 0.07 * max(len(rows), len(columns)))
    width = max(large_width, per_row * (side + 0.2) + 0.6, 6.0)
    heights = [large_height, grid_rows * (side + 0.35) + 0.5]

    with warnings.catch_warnings(), _fonts():
        for message in ("Glyph .* missing from font", "Matplotlib currently does not support .* natively"):
            warnings.filterwarnings("ignore", message=message)
        figure = Figure(figsize=(width, sum(heights)), layout="constrained")
        top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=heights).flat
        top.suptitle(KINDS[kind], fontsize=11)
        axes = top.add_subplot()
        image = _map(axes, weights[main].mean(0))
        axes.set_title(f"mean of the heads of layer {main + 1}", fontsize=9)
        axes.set_xticks(range(len(columns)), columns, rotation=60, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(rows)), rows)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labelsize=9)
        top.colorbar(image, ax=axes, fraction=0.03, pad=0.02, label="attention weight")
        small = bottom.subplots(grid_rows, per_row, squeeze=False)
        for place, each in enumerate(small.flat):
            number, head = divmod(place, heads) if layer is None else (0, place)
            each.set_axis_off()
            if head < heads and number < len(shown):
                _map(each, weights[shown[number], head])
                each.set_title(f"layer {shown[number] + 1}, head {head + 1}", fontsize=7)
        figure.savefig(path, dpi=110)


def _labels(maps: AttentionMaps, kind: str) -> tuple[list[str], list[str]]:
    labels = {
        "cross": (maps.target, maps.source),
        "encoder": (maps.source, maps.source),
        "decoder": (maps.target, maps.shown),
    }
    rows, columns = labels[kind]
    # "$" would start mathematics.
    return [label.replace("$", r"\$") for label in rows], [label.replace("$", r"\$") for label in columns]


def _map(axes: Any, weights: np.ndarray[Any, Any]) -> Any:
    return axes.imshow(weights, cmap="Blues", vmin=0, vmax=max(0.3, float(weights.max())), aspect="auto")


def _fonts() -> AbstractContextManager[None]:
    """Use every installed font that covers another script; matplotlib falls back from one to the next."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return rc_context({"font.family": [font for font in _FONTS if font in installed]})
