"""Shared parts of the attention pictures: file formats, fonts, checks."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure

from headwise.errors import ConfigError

FORMATS = (".png", ".svg", ".pdf")

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


def check_format(path: Path) -> None:
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"{path}: a picture ends in {', '.join(FORMATS)} (or .json for the numbers)")


def check_layer(layer: int | None, layers: int) -> None:
    if layer is not None and not 1 <= layer <= layers:
        raise ConfigError(f"layer {layer} does not exist: there are 1 to {layers}")


@contextmanager
def page(path: Path, width: float, height: float) -> Iterator[Figure]:
    """An empty figure, which is saved at the end of the block.

    Matplotlib falls back from one of the installed fonts to the next. A character that none of them has is drawn as a
    box, without a warning.
    """
    installed = {font.name for font in font_manager.fontManager.ttflist}
    fonts = [font for font in _FONTS if font in installed]
    with warnings.catch_warnings(), rc_context({"font.family": fonts}):
        for message in ("Glyph .* missing from font", "Matplotlib currently does not support .* natively"):
            warnings.filterwarnings("ignore", message=message)
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        figure.savefig(path, dpi=110)


def plain(text: str) -> str:
    """The text as a label: a dollar sign would start a formula."""
    return text.replace("$", r"\$")
