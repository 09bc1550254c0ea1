"""Attention of an image classifier: the weights of every head over the patches of one image."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headwise.decode.labeller import Labeller
from headwise.decode.open import open_model
from headwise.decode.pictures import normalised, read_images
from headwise.errors import ConfigError
from headwise.inspect.attention_capture import RECURRENT
from headwise.inspect.maps import rounded, stacked
from headwise.models.classifier import Classifier
from headwise.models.folder.description import LoadedModel
from headwise.models.vision import VisionTransformer

LOOKERS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "first": ("the class token looks", lambda weights: weights[..., 0, :]),
    "mean": ("all tokens look, on average", lambda weights: weights.mean(-2)),
    "last": ("the last patch looks", lambda weights: weights[..., -1, :]),
}
"""By pooling, the rows of [..., T, T] weights that the prediction depends on, and how a title describes them."""


@dataclass(frozen=True)
class ImageMaps:
    """The weights over one image: of each 1 + patches, the first is that of the class token, then row by row."""

    pixels: Tensor  # [C, size, size] bytes: what the model saw
    grid: int
    """The number of patches along a side."""
    looks: Tensor  # [layers, H, 1 + patches]
    rollout: Tensor  # [1 + patches]
    """Attention through all layers, with residual connections: how much each patch contributes to the prediction."""
    looker: str
    text: str
    """The predicted class, if the model is a classifier."""

    def over_image(self, weights: Tensor) -> Tensor:
        """[..., 1 + patches] -> [..., grid, grid], without the class token, which has no place in the image."""
        return weights[..., 1:].reshape(*weights.shape[:-1], self.grid, self.grid)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: nested lists of rounded numbers."""
        return {
            "text": self.text,
            "looker": self.looker,
            "grid": [self.grid, self.grid],
            "encoder": rounded(self.looks),
            "rollout": rounded(self.rollout),
        }


@torch.inference_mode()
def capture_image(model: str | LoadedModel, file: Path, device: str = "auto") -> ImageMaps:
    """Attention of every head on an image, which is preprocessed as in training."""
    loaded, chosen = open_model(model, device)
    body = loaded.model.body if isinstance(loaded.model, Classifier) else loaded.model
    if not isinstance(body, VisionTransformer):
        raise ConfigError("this model reads text: it cannot look at an image")
    config = loaded.config
    pixels = read_images(loaded, [str(file)])
    images = normalised(loaded, pixels, chosen)
    captured = body.to(chosen).eval().encode(images, capture=True).self_weights
    if not captured:
        raise ConfigError(f"this model has no attention to inspect: {RECURRENT}")
    weights = stacked(captured)  # [layers, H, T, T]
    looker, rows_of = LOOKERS[config.pooling.kind if isinstance(loaded.model, Classifier) else "first"]
    text = ""
    if isinstance(loaded.model, Classifier):
        label = Labeller(loaded, device=device).classify_images(pixels)[0]
        text = label.label if loaded.task.regression else f"{label.label} ({label.score:.0%})"
    return ImageMaps(
        pixels=pixels[0],
        grid=config.image_patches.image_size // config.image_patches.patch_size,
        looks=rows_of(weights),
        rollout=rows_of(rollout(weights)),
        looker=looker,
        text=text,
    )


def rollout(weights: Tensor) -> Tensor:
    """Attention rollout through all layers (Abnar and Zuidema, 2020), [layers, H, T, T] -> [T, T].

    Half of a layer's output is its input, through the residual connection; all heads have the same weight.
    """
    whole = torch.eye(weights.size(-1))
    for layer in weights.mean(1):
        whole = (layer + torch.eye(len(layer))) / 2 @ whole
    return whole
