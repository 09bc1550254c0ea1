"""Pictures of an image classifier's attention, drawn over the image."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib import colormaps
from numpy.typing import NDArray
from torch import Tensor

from headwise.inspect.figure import check_format, check_layer, page, plain
from headwise.inspect.image_attention import ImageMaps

_ACROSS = 6
"""Small maps per row."""
_PIXELS = 224
"""The smallest side of a map in pixels, so that patches do not look like pixels."""
_HEAT = colormaps["inferno"]

Pixels = NDArray[np.float32]


def draw_over_image(maps: ImageMaps, path: Path, layer: int | None = None) -> None:
    """Draw the image and maps of its attention: through all layers, in each layer, and by each head of one layer.

    That layer is `layer`, or the last. The colours of each map span its own range of weights.
    """
    check_format(path)
    layers = len(maps.looks)
    check_layer(layer, layers)
    chosen = layers if layer is None else layer
    by_layer = [(f"layer {i + 1}", weights.mean(0)) for i, weights in enumerate(maps.looks)]
    by_head = [(f"head {i + 1}", weights) for i, weights in enumerate(maps.looks[chosen - 1])]
    groups = {
        "mean of the heads of each layer (in brackets: the weight of the class token)": by_layer,
        f"each head of layer {chosen}": by_head,
    }
    lines = [math.ceil(len(group) / _ACROSS) for group in groups.values()]
    heights = [5.2, *(0.4 + 1.8 * each for each in lines)]
    title = f"where {maps.looker}" + (f"; prediction: {maps.text}" if maps.text else "")
    with page(path, 9.6, sum(heights)) as figure:
        top, *others = figure.subfigures(1 + len(groups), 1, squeeze=False, height_ratios=heights).flat
        top.suptitle(plain(title), fontsize=11)
        left, right = top.subplots(1, 2)
        _draw(left, "the model's input", _coloured(maps.pixels), 9)
        _draw(right, "all layers together (rollout)", _heated(maps, maps.rollout), 9)
        for part, rows, (name, group) in zip(others, lines, groups.items(), strict=True):
            part.suptitle(name, fontsize=9)
            places = list(part.subplots(rows, _ACROSS, squeeze=False).flat)
            for axes, (each, weights) in zip(places, group, strict=False):
                _draw(axes, f"{each} ({float(weights[0]):.0%})", _heated(maps, weights), 7)
            for axes in places[len(group) :]:
                axes.set_axis_off()


def _draw(axes: Any, title: str, image: Pixels, size: int) -> None:
    axes.set_axis_off()
    axes.set_title(title, fontsize=size)
    axes.imshow(image)


def _coloured(pixels: Tensor) -> Pixels:
    """Bytes [C, H, W] -> [H, W, 3] between 0 and 1."""
    image: Pixels = (pixels.permute(1, 2, 0).float() / 255).numpy()
    return np.repeat(image, 3, -1) if image.shape[-1] == 1 else image


def _heated(maps: ImageMaps, weights: Tensor) -> Pixels:
    """The image in grey under a heat map of the weights."""
    size = max(_PIXELS, maps.pixels.size(-1))
    grey = maps.pixels.float().mean(0)[None, None] / 255
    grey = torch.nn.functional.interpolate(grey, size=(size, size), mode="nearest")[0, 0]
    heat = maps.over_image(weights)[None, None]
    heat = torch.nn.functional.interpolate(heat, size=(size, size), mode="bicubic")[0, 0]
    heat = (heat - heat.min()) / (heat.max() - heat.min()).clamp(min=1e-9)
    glow = torch.from_numpy(_HEAT(0.3 + 0.65 * heat.numpy())[..., :3]).float()
    opacity = 0.75 * heat[..., None]
    mixed: Pixels = ((0.15 + 0.6 * grey[..., None]) * (1 - opacity) + glow * opacity).numpy()
    return mixed
