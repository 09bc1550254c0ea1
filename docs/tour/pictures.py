"""The pictures of the tour."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image
from torch import Tensor

from headwise.config import TrainConfig
from headwise.inspect.picture import draw_attention
from headwise.nn.masks import causal_mask
from headwise.presets import preset_config
from headwise.train.step.schedules import SCHEDULES, learning_rate
from tour.one_pass import Pass

FOLDER = Path(__file__).parent
DPI = 100
GREY, RED, ORANGE, BLUE, GREEN, PURPLE = "#eeeeee", "#f9d9d5", "#fbe3c0", "#cfe5f5", "#eef2c4", "#dcd6ef"


def machine() -> None:
    """The steps of the tour, numbered as its sections."""
    figure = Figure(figsize=(7.5, 6.4))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, 15)
    axes.set_ylim(0, 12.8)
    axes.set_axis_off()
    left, right = 4.2, 10.4

    def box(x: float, y: float, text: str, colour: str, height: float = 0.6) -> None:
        _rectangle(axes, (x - 2, y), (4, height), facecolor=colour, edgecolor="#555555", linewidth=0.8)
        axes.text(x, y + height / 2, text, ha="center", va="center", fontsize=8.5)

    def sublayer(x: float, y: float, text: str, colour: str) -> None:
        box(x, y, text, colour)
        box(x, y + 0.6, "9 Add & Norm", GREEN, 0.45)

    def arrow(*points: tuple[float, float]) -> None:
        across, up = zip(*points[:-1], strict=True)
        axes.plot(across, up, color="#555555", linewidth=0.9)
        style = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "color": "#555555", "linewidth": 0.9}
        axes.annotate("", points[-1], points[-2], arrowprops=style)

    for x, text in ((left, "source text"), (right, "target so far")):
        box(x, 0.6, text, GREY)
        box(x, 1.4, "1 tokenisation", GREY)
        box(x, 2.2, "2 embedding + 3 positions", RED)
    sublayer(left, 3.5, "4-7 self-attention", ORANGE)
    sublayer(left, 5.3, "8 feed-forward", BLUE)
    sublayer(right, 3.5, "11 masked self-attention", ORANGE)
    sublayer(right, 5.3, "12 encoder-decoder attention", ORANGE)
    sublayer(right, 7.1, "8 feed-forward", BLUE)
    box(right, 9.1, "13 linear", PURPLE)
    box(right, 10.0, "14 softmax", PURPLE)
    box(right, 10.9, "18 greedy, 19 beam search", PURPLE)
    box(right, 11.8, "next token", GREY)

    frame = {"facecolor": "none", "edgecolor": "#999999", "linewidth": 1, "linestyle": "--"}
    _rectangle(axes, (left - 2.5, 3.1), (5, 3.4), **frame)
    _rectangle(axes, (right - 2.5, 3.1), (5, 5.5), **frame)
    axes.text(left - 2.65, 4.8, "10 encoder\nlayer, × N", ha="right", va="center", fontsize=8.5)
    axes.text(right + 2.6, 5.9, "15 decoder\nlayer, × N", ha="left", va="center", fontsize=8.5)

    steps = [(1.2, 1.4), (2.0, 2.2), (2.8, 3.5), (4.55, 5.3)]
    for start, end in steps:
        arrow((left, start), (left, end))
    for start, end in [*steps, (6.35, 7.1), (8.15, 9.1), (9.7, 10.0), (10.6, 10.9), (11.5, 11.8)]:
        arrow((right, start), (right, end))
    arrow((left, 6.35), (left, 7.1), (7.3, 7.1), (7.3, 5.6), (right - 2, 5.6))
    axes.text(left - 0.1, 7.2, "memory, to every layer", fontsize=8.5, va="bottom")
    arrow((right + 2, 12.1), (14.8, 12.1), (14.8, 0.9), (right + 2, 0.9))
    _save(figure, "machine")


def inspected(p: Pass, kind: str, name: str) -> None:
    """What `headwise inspect` draws."""
    path = FOLDER / f"{name}.png"
    draw_attention(p.maps, path, kind)
    _shrink(path)


def positions(sinusoids: Tensor) -> None:
    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(sinusoids, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_xlabel("dimension", fontsize=9)
    axes.set_ylabel("position", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.set_title("each row is what is added to the token at that position", fontsize=9)
    figure.colorbar(image, ax=axes, pad=0.01).ax.tick_params(labelsize=8)
    _save(figure, "positions")


def self_attention(p: Pass) -> None:
    query, key = (p.heads("encoder", part, p.head) for part in ("query", "key"))
    scores = query @ key.T / math.sqrt(key.size(-1))
    limit = float(scores.abs().max())
    title = f"encoder layer 1, head {p.head + 1}"
    figure = Figure(figsize=(7.5, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = p.maps.labels["source"]
    maps = [
        _map(left, scores, names, f"{title}: scaled scores", "RdBu_r", -limit, limit),
        _map(right, scores.softmax(-1), names, f"{title}: weights", "Blues", 0, 1),
    ]
    for axes, image in zip((left, right), maps, strict=True):
        axes.set_ylabel("looks", fontsize=9)
        axes.set_xlabel("is looked at", fontsize=9)
        figure.colorbar(image, ax=axes, shrink=0.75).ax.tick_params(labelsize=8)
    _save(figure, "self_attention")


def masked_attention(p: Pass) -> None:
    names, weights = p.maps.labels["shown"], p.maps["decoder"].weights[0]
    count, columns = len(weights) + 1, 3
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(8, 2.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    mask = causal_mask(len(names), len(names)).float()
    _map(axes[0], mask, names, "mask: dark = may attend", "Greys", 0, 1.6)
    for head, each in enumerate(weights):
        _map(axes[head + 1], each, names, f"weights, head {head + 1}", "Blues", 0, 1)
    for empty in axes[count:]:
        empty.set_axis_off()
    _save(figure, "causal_mask")


def warmup() -> None:
    model = preset_config("base")
    steps = range(1, 40_001, 50)
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.add_subplot()
    for schedule in SCHEDULES:
        train = TrainConfig(steps=steps[-1], warmup=4000, schedule=schedule)
        rates = [learning_rate(step, train, model) for step in steps]
        if schedule == "inverse_sqrt":
            axes.plot(steps, rates, label=f"{schedule}, the paper's", linewidth=2.2)
        else:
            axes.plot(steps, rates, label=schedule, linewidth=1, linestyle="--")
    axes.set_xlabel("step", fontsize=9)
    axes.set_ylabel("learning rate", fontsize=9)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    axes.tick_params(labelsize=8)
    axes.set_title(f"preset base: width {model.width}, 4,000 steps of warm-up", fontsize=9)
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    _save(figure, "warmup")


def _map(axes: Any, values: Tensor, names: Sequence[str], title: str, colours: str, low: float, high: float) -> Any:
    image = axes.imshow(values, cmap=colours, vmin=low, vmax=high, aspect="equal")
    axes.set_xticks(range(len(names)), names, rotation=55, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0, labelsize=8)
    axes.set_title(title, fontsize=9)
    return image


def _rectangle(axes: Any, corner: tuple[float, float], size: tuple[float, float], **style: Any) -> None:
    axes.add_patch(FancyBboxPatch(corner, *size, boxstyle="round,pad=0,rounding_size=0.1", **style))


def _save(figure: Figure, name: str) -> None:
    path = FOLDER / f"{name}.png"
    figure.savefig(path, dpi=DPI)
    _shrink(path)


def _shrink(path: Path) -> None:
    """A palette is enough for maps and lines, and makes small files."""
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
    small.save(path, optimize=True)
