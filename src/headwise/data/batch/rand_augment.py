"""RandAugment: each image is changed by an operation drawn from a pool, with a strength that is drawn too.

The pool is that of Cubuk et al. (2020). All images pass through each kind of computation, and the drawn result is
selected: geometry is one affine sampling, the blends with a plainer image are one interpolation, the rest are tables.
"""

import math

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

OPERATIONS = (
    "identity",
    "auto_contrast",
    "equalise",
    "rotate",
    "solarise",
    "colour",
    "posterise",
    "contrast",
    "brightness",
    "sharpness",
    "shear_x",
    "shear_y",
    "translate_x",
    "translate_y",
)
FULL_MAGNITUDE = 30
# At full strength:
ANGLE = math.radians(30)
SHEAR = 0.3
SHIFT = 0.45
"""As a share of the image size."""
BLEND = 0.9
BITS = 4
"""How many of 8 bits posterising drops."""

GEOMETRIC = ("rotate", "shear_x", "shear_y", "translate_x", "translate_y")
BLENDED = ("colour", "contrast", "brightness", "sharpness")
_LUMA = (0.299, 0.587, 0.114)


def random_operations(images: Tensor, magnitude: float, generator: Generator) -> Tensor:
    """One operation on each of the images float32 [B, C, H, W], from 0 to 255.

    Strengths are spread evenly from 0 to twice the magnitude, as far as 30 allows. Auto-contrast and
    equalisation have none.
    """
    B, device = len(images), images.device
    operation = torch.randint(len(OPERATIONS), (B,), generator=generator, device=device)
    draws = torch.rand((2, B), generator=generator, device=device)
    strength = (draws[0] * (2 * magnitude / FULL_MAGNITUDE)).clamp(max=1.0)
    sign = torch.where(draws[1] < 0.5, -1.0, 1.0)
    return operate(images, operation, strength, sign)


def operate(images: Tensor, operation: Tensor, strength: Tensor, sign: Tensor) -> Tensor:
    """Image i changed by OPERATIONS[operation[i]]; strengths [B] from 0 to 1, signs [B] are 1 or -1."""

    def chosen(*names: str) -> Tensor:
        numbers = [OPERATIONS.index(name) for name in names]
        hits = operation == numbers[0]
        for number in numbers[1:]:
            hits = hits | (operation == number)
        return hits[:, None, None, None]

    def by_name(values: dict[str, Tensor], otherwise: Tensor) -> Tensor:
        for name, value in values.items():
            otherwise = torch.where(chosen(name), value, otherwise)
        return otherwise

    signed, column = strength * sign, strength[:, None, None, None]
    changed = torch.where(chosen(*GEOMETRIC), moved(images, operation, signed), images)
    plain = by_name(
        {"colour": grey(images), "contrast": grey(images).mean((2, 3), keepdim=True), "sharpness": smoothed(images)},
        torch.zeros_like(images),
    )
    blended = torch.lerp(plain, images, 1 + BLEND * signed[:, None, None, None]).clamp(0, 255)
    changed = torch.where(chosen(*BLENDED), blended, changed)
    return by_name(
        {
            "auto_contrast": auto_contrast(images),
            "equalise": equalised(images),
            "solarise": torch.where(images > 255 * (1 - column), 255 - images, images),
            "posterise": posterised(images, (BITS * column).round()),
        },
        changed,
    )


def moved(images: Tensor, operation: Tensor, signed: Tensor) -> Tensor:
    """Rotated, sheared or shifted, with what comes in from outside mirrored: one affine map per image."""

    def amount(name: str) -> Tensor:
        return torch.where(operation == OPERATIONS.index(name), signed, 0.0)

    height, width = images.shape[2:]
    angle = ANGLE * amount("rotate")
    cosine, sine = angle.cos(), angle.sin()
    ratio = height / width
    # Coordinates run from -1 to 1 on both axes: a shift by the whole size is 2.
    across = torch.stack([cosine, sine * ratio + SHEAR * amount("shear_x"), 2 * SHIFT * amount("translate_x")], 1)
    down = torch.stack([-sine / ratio + SHEAR * amount("shear_y"), cosine, 2 * SHIFT * amount("translate_y")], 1)
    grid = F.affine_grid(torch.stack([across, down], 1), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="reflection", align_corners=False)


def grey(images: Tensor) -> Tensor:
    """[B, 1, H, W]: the lightness of colours, or the mean of other channels."""
    if images.size(1) != len(_LUMA):
        return images.mean(1, keepdim=True)
    red, green, blue = _LUMA
    return red * images[:, :1] + green * images[:, 1:2] + blue * images[:, 2:]


def smoothed(images: Tensor) -> Tensor:
    """The mean of each pixel's neighbourhood, in which the pixel itself counts 5 of 13."""
    around = F.avg_pool2d(images, 3, 1, 1, count_include_pad=False)
    return torch.lerp(images, around, 9 / 13)


def auto_contrast(images: Tensor) -> Tensor:
    """Each channel stretched to the whole range; a channel of one value stays as it is."""
    lowest = images.amin((2, 3), keepdim=True)
    extent = images.amax((2, 3), keepdim=True) - lowest
    return torch.where(extent > 0, (images - lowest) * (255 / extent.clamp_min(1e-6)), images)


def equalised(images: Tensor) -> Tensor:
    """Each channel with its values spread evenly: the share of darker pixels becomes the value."""
    B, C, H, W = images.shape
    values = images.round().long().view(B * C, H * W)
    counts = torch.zeros((B * C, 256), device=images.device)
    counts.scatter_add_(1, values, torch.ones((), device=images.device).expand(values.shape))
    below = counts.cumsum(1) - counts
    others = H * W - counts.gather(1, values.amax(1, keepdim=True))  # than the brightest, which becomes 255
    table = (below * (255 / others.clamp_min(1))).clamp(max=255)
    spread = table.gather(1, values).view_as(images)
    return torch.where((others > 0).view(B, C, 1, 1), spread, images)


def posterised(images: Tensor, bits: Tensor) -> Tensor:
    """The lowest `bits` of each value set to 0."""
    step = bits.exp2()
    return torch.where(bits > 0, (images / step).floor() * step, images)
