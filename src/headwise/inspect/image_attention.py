"""Where a model of pictures looks: every head's weights over the patches of one picture."""

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
"""Which rows of [..., T, T] weights lead to the answer, by how the model pools: attention of others leads nowhere."""


@dataclass(frozen=True)
class ImageMaps:
    """The weights over one picture; the first of each 1 + patches is that of the class token, then row by row."""

    pixels: Tensor  # [C, size, size] bytes: what the model saw
    grid: int
    """Patches along a side."""
    looks: Tensor  # [layers, H, 1 + patches]
    rollout: Tensor  # [1 + patches]
    """All layers together: how much of each place reaches the answer, residual paths counted."""
    looker: str
    text: str
    """The predicted class, if the model is a classifier."""

    def over_image(self, weights: Tensor) -> Tensor:
        """[..., 1 + patches] -> [..., grid, grid]: the class token has no place in the picture."""
        return weights[..., 1:].reshape(*weights.shape[:-1], self.grid, self.grid)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: nested lists, rounded to what a picture can show."""
        return {
            "text": self.text,
            "looker": self.looker,
            "grid": [self.grid, self.grid],
            "encoder": rounded(self.looks),
            "rollout": rounded(self.rollout),
        }


@torch.inference_mode()
def capture_image(model: str | LoadedModel, file: Path, device: str = "auto") -> ImageMaps:
    """Attention of every head in a picture, which is prepared as in training."""
    loaded, chosen = open_model(model, device)
    body = loaded.model.body if isinstance(loaded.model, Classifier) else loaded.model
    if not isinstance(body, VisionTransformer):
        raise ConfigError("this model reads texts: it cannot look at a picture")
    config = loaded.config
    pixels = read_images(loaded, [str(file)])
    images = normalised(loaded, pixels, chosen)
    captured = body.to(chosen).eval().encode(images, capture=True).self_weights
    if not captured:
        raise ConfigError(f"there is no attention to look at in this model: {RECURRENT}")
    weights = stacked(captured)  # [layers, H, T, T]
    looker, rows_of = LOOKERS[config.pooling.kind if isinstance(loaded.model, Classifier) else "first"]
    text = ""
    if isinstance(loaded.model, Classifier):
        label = Labeller(loaded, device=device).see(pixels)[0]
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
    """[layers, H, T, T] -> [T, T], attention through all layers (Abnar and Zuidema, 2020).

    Half of what a layer gives on is what it was given, by its residual path; the heads count alike.
    """
    whole = torch.eye(weights.size(-1))
    for layer in weights.mean(1):
        whole = (layer + torch.eye(len(layer))) / 2 @ whole
    return whole
