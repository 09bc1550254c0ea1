"""Augmentation of training images, a whole batch together, on the device that trains.

B images, C channels, H by W pixels; values from 0 to 255, as float32 once they are changed. Every image draws its own
changes, from one generator. Nothing waits for the device: no size and no branch depends on what was drawn.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from headwise.config import ImageConfig
from headwise.data.batch.rand_augment import random_operations

ERASED_AREA = (0.02, 0.33)
ERASED_ASPECT = (0.3, 3.3)
"""Height over width."""


class Augmented(NamedTuple):
    images: Tensor
    """float32 [B, C, H, W], from 0 to 255."""
    targets: Tensor
    """[B, classes]: the share of each class in an image."""


def augment(images: Tensor, labels: Tensor, classes: int, config: ImageConfig, generator: Generator) -> Augmented:
    """Apply the augmentations of the config to images uint8 [B, C, H, W] with labels [B]."""
    with torch.no_grad(), torch.autocast(images.device.type, enabled=False):
        images = crop_and_flip(images, config.crop, config.flip, generator).float()
        for _ in range(config.random_augment):
            images = random_operations(images, config.magnitude, generator)
        if config.erase:
            images = erase(images, config.erase, generator)
        targets = F.one_hot(labels, classes).float()
        if config.mixup or config.cutmix:
            return mix(images, targets, config.mixup, config.cutmix, generator)
        return Augmented(images, targets)


def crop_and_flip(images: Tensor, padding: int, flip: bool, generator: Generator) -> Tensor:
    """Shift each image by up to `padding` pixels, the border mirrored, and flip half of them: one gather."""
    B, C, H, W = images.shape
    device = images.device
    if padding >= min(H, W):
        raise ValueError(f"images.crop must be below the size of the images, {min(H, W)}, not {padding}")
    moves = torch.randint(-padding, padding + 1, (2, B, 1), generator=generator, device=device)
    rows = mirrored(torch.arange(H, device=device) + moves[0], H)
    columns = mirrored(torch.arange(W, device=device) + moves[1], W)
    if flip:
        flipped = torch.rand((B, 1), generator=generator, device=device) < 0.5
        columns = torch.where(flipped, columns.flip(1), columns)
    every = torch.arange(B, device=device)[:, None, None, None]
    channels = torch.arange(C, device=device)[None, :, None, None]
    return images[every, channels, rows[:, None, :, None], columns[:, None, None, :]]


def mirrored(positions: Tensor, size: int) -> Tensor:
    """Reflect positions that are outside of 0 ... size - 1, by less than `size`, into it."""
    return (size - 1) - ((size - 1) - positions.abs()).abs()


def erase(images: Tensor, probability: float, generator: Generator) -> Tensor:
    """Fill a rectangle of some images with noise."""
    B, _, H, W = images.shape
    draws = torch.rand((3, B), generator=generator, device=images.device)
    area = between(ERASED_AREA, draws[1]) * H * W
    aspect = between([math.log(each) for each in ERASED_ASPECT], draws[2]).exp()
    height, width = (area * aspect).sqrt(), (area / aspect).sqrt()
    inside = rectangles(height, width, (H, W), generator) & (draws[0] < probability)[:, None, None, None]
    noise = torch.rand(images.shape, generator=generator, device=images.device) * 255
    return torch.where(inside, noise, images)


def mix(images: Tensor, targets: Tensor, mixup: float, cutmix: float, generator: Generator) -> Augmented:
    """Blend each image with its neighbour (mixup) or replace a rectangle by the neighbour's (cutmix).

    Both are a share of each pixel that stays; targets are mixed by the mean of the shares. With both, each image
    takes one of them.
    """
    B, _, H, W = images.shape
    device = images.device
    shares = []
    if mixup:
        shares.append(beta(mixup, B, generator, device)[:, None, None, None].expand(B, 1, H, W))
    if cutmix:
        side = (1 - beta(cutmix, B, generator, device)).sqrt()
        shares.append((~rectangles(side * H, side * W, (H, W), generator)).float())
    first = torch.rand((B, 1, 1, 1), generator=generator, device=device) < 0.5
    share = torch.where(first, shares[0], shares[-1])
    weights = share.mean((1, 2, 3))[:, None]
    return Augmented(
        torch.lerp(images.roll(1, 0), images, share), weights * targets + (1 - weights) * targets.roll(1, 0)
    )


def beta(alpha: float, count: int, generator: Generator, device: torch.device) -> Tensor:
    """Draws from Beta(alpha, alpha), as the share of one of two gamma variates."""
    variates = torch._standard_gamma(torch.full((2, count), alpha, device=device), generator=generator)
    return variates[0] / (variates[0] + variates[1]).clamp_min(1e-30)


def rectangles(height: Tensor, width: Tensor, size: tuple[int, int], generator: Generator) -> Tensor:
    """Masks [B, 1, H, W] of rectangles of these sizes [B] in pixels, round random centres, cut at the border."""
    B, device, (H, W) = len(height), height.device, size
    centres = torch.rand((2, B, 1), generator=generator, device=device)
    rows = (torch.arange(H, device=device) + 0.5 - centres[0] * H).abs() < height[:, None] / 2
    columns = (torch.arange(W, device=device) + 0.5 - centres[1] * W).abs() < width[:, None] / 2
    return (rows[:, :, None] & columns[:, None, :])[:, None]


def between(ends: Sequence[float], draws: Tensor) -> Tensor:
    return ends[0] + (ends[1] - ends[0]) * draws


def normalise(images: Tensor, mean: Tensor, deviation: Tensor, channels: int, size: int) -> Tensor:
    """Images from 0 to 255 as a model's input: [B, channels, size, size] of mean 0 and deviation 1.

    Grey images are repeated for each channel, and images of another size are resized.
    """
    images = images.float()
    if images.shape[2:] != (size, size):
        images = F.interpolate(images, (size, size), mode="bilinear", antialias=True)
    return (images.expand(-1, channels, -1, -1) / 255 - mean[:, None, None]) / deviation[:, None, None]
