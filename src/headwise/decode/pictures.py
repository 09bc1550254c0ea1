"""Image files as the input of a vision model, resized and normalised as its description says."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headwise.data.read.image_files import read_pictures
from headwise.errors import ConfigError
from headwise.models.folder.description import ImageFit, LoadedModel


def read_images(loaded: LoadedModel, files: Sequence[str]) -> Tensor:
    """Pixels [N, C, size, size] of image files as bytes, in the size that the model takes."""
    size, fit = loaded.config.image_patches.image_size, loaded.task.image_fit
    resize = (lambda picture: fitted(picture, size, fit)) if fit.stretches else None
    return torch.from_numpy(read_pictures(files, size, loaded.config.image_patches.channels, resize))


def fitted(picture: Any, size: int, fit: ImageFit) -> Any:
    """A Pillow image, stretched and then cut to its middle, as the image processors of `transformers` do it."""
    from PIL import Image

    width, height = fit.width, fit.height
    if fit.shortest:
        short, long = sorted(picture.size)
        longer = int(fit.shortest * long / short)
        width, height = (fit.shortest, longer) if picture.width <= picture.height else (longer, fit.shortest)
    stretched = picture.resize((width, height), Image.Resampling[fit.resample.upper()])
    left, top = (width - size) // 2, (height - size) // 2
    return stretched.crop((left, top, left + size, top + size))


def normalised(loaded: LoadedModel, images: Tensor, device: torch.device) -> Tensor:
    """Images of bytes [N, C, size, size] as the model's input."""
    task = loaded.task
    if not task.image_mean or not task.image_std:
        raise ConfigError(
            "this model's description lacks the mean and deviation of its images (task.image_mean and image_std)"
        )
    mean, std = (torch.tensor(each, device=device)[:, None, None] for each in (task.image_mean, task.image_std))
    return (images.to(device).float() / 255 - mean) / std
