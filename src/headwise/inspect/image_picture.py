"""Where a model of pictures looks, drawn over the picture itself."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headwise.inspect.page import check_format, check_layer, page, plain
from headwise.inspect.vision import ImageMaps

_ACROSS = 6
"""Small pictures in a row."""


def draw_over_image(maps: ImageMaps, path: Path, layer: int | None = None) -> None:
    """Write the picture beside what it looks at: through all layers, in each layer, and in each head of one.

    That one is `layer`, or the last. Each map is drawn from its own smallest to its own largest weight.
    """
    check_format(path)
    layers, heads = maps.looks.shape[:2]
    check_layer(layer, layers)
    chosen = layers - 1 if layer is None else layer - 1
    by_layer = [(f"layer {i + 1}", weights.mean(0)) for i, weights in enumerate(maps.looks)]
    by_head = [(f"layer {chosen + 1}, head {i + 1}", weights) for i, weights in enumerate(maps.looks[chosen])]
    groups = {"mean of the heads of each layer": by_layer, "each head": by_head}
    heights = [3.6, *(0.4 + 1.75 * -(-len(group) // _ACROSS) for group in groups.values())]
    with page(path, 9.6, sum(heights)) as figure:
        top, *others = figure.subfigures(1 + len(groups), 1, squeeze=False, height_ratios=heights).flat
        top.suptitle(plain(f"where {maps.looker}" + (f"; the model says: {maps.text}" if maps.text else "")), fontsize=11)
        left, right = top.subplots(1, 2)
        _picture(left, maps, "what the model is given")
        _picture(right, maps, "all layers together (rollout)", maps.rollout, 9)
        for part, (title, group) in zip(others, groups.items(), strict=True):
            part.suptitle(title, fontsize=9)
            places = part.subplots(-(-len(group) // _ACROSS), _ACROSS, squeeze=False).flat
            for axes in places:
                axes.set_axis_off()
            for axes, (name, weights) in zip(places, group, strict=False):
                _picture(axes, maps, name, weights, 7)


def _picture(axes: Any, maps: ImageMaps, title: str, weights: Tensor | None = None, size: int = 9) -> None:
    """The picture, and over its grey the weights."""
    pixels = _shown(maps.pixels)
    axes.set_axis_off()
    axes.set_title(title, fontsize=size)
    extent = (0, 1, 1, 0)
    if weights is None:
        axes.imshow(pixels, extent=extent)
        return
    heat = maps.over_image(weights).numpy()
    axes.imshow(np.repeat(pixels.mean(-1, keepdims=True), 3, -1), extent=extent)
    axes.imshow(heat, cmap="inferno", alpha=0.65, extent=extent, interpolation="bicubic")


def _shown(pixels: Tensor) -> NDArray[np.float32]:
    """Bytes [C, H, W] -> [H, W, 3] between 0 and 1."""
    image = pixels.permute(1, 2, 0).numpy().astype(np.float32) / 255
    return np.repeat(image, 3, -1) if image.shape[-1] == 1 else image
