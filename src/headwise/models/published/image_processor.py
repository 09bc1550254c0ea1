"""The preprocessor_config.json of a published vision model: how an image becomes the model's input."""

from pathlib import Path
from typing import Any

from headwise.errors import CheckpointError
from headwise.files.tables import read_object
from headwise.models.folder.description import Description, ImageFit

PREPROCESSOR = "preprocessor_config.json"

KINDS = ("ViTImageProcessor", "ViTFeatureExtractor")
"""Supported image processors, without the suffix of their fast implementation."""
RESAMPLING = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
"""Pillow's filters by number, as `resample` gives them."""
DEFAULTS: dict[str, Any] = {
    **{"do_resize": True, "do_center_crop": False, "do_rescale": True, "do_normalize": True, "do_pad": False},
    **{"resample": 2, "rescale_factor": 1 / 255, "size": {"height": 224, "width": 224}},
}


class Processor:
    """A preprocessor_config.json, read strictly: an unsupported value is an error that names the key."""

    def __init__(self, folder: Path, channels: int, image_size: int) -> None:
        self.path = folder / PREPROCESSOR
        default = {**DEFAULTS, "size": {"height": image_size, "width": image_size}}
        values = read_object(self.path) if self.path.is_file() else default
        self.values = {**DEFAULTS, **{key: value for key, value in values.items() if value is not None}}
        self.channels, self.image_size = channels, image_size
        kind = self.values.get("image_processor_type", self.values.get("feature_extractor_type", KINDS[0]))
        if str(kind).removesuffix("Fast") not in KINDS:
            raise CheckpointError(f"{self.path}: the image processor {kind!r} is not supported, only {KINDS[0]}")
        self._need("do_resize", True)
        self._need("do_pad", False)

    def normalisation(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation per channel, for pixels between 0 and 1.

        A `rescale_factor` f other than 1/255 is folded into them: (x f - m) / s = (x / 255 - m / 255f) / (s / 255f).
        """
        factor = self._number("rescale_factor") if self._flag("do_rescale") else 1.0
        if not 0 < factor < float("inf"):
            raise CheckpointError(f"{self.path}: rescale_factor must be above 0, not {factor}")
        mean, std = (0.0,) * self.channels, (1.0,) * self.channels
        if self._flag("do_normalize"):
            mean, std = self._by_channel("image_mean"), self._by_channel("image_std")
        if 0 in std:
            raise CheckpointError(f"{self.path}: image_std must not be 0")
        if factor == 1 / 255:
            return mean, std
        return tuple(each / 255 / factor for each in mean), tuple(each / 255 / factor for each in std)

    def fit(self) -> ImageFit:
        """The size that an image is scaled to before its centre is cropped."""
        resample, size = self.values["resample"], self.values["size"]
        if type(resample) is not int or not 0 <= resample < len(RESAMPLING):
            raise CheckpointError(f"{self.path}: resample = {resample!r} is not supported")
        size = {"height": size, "width": size} if type(size) is int else size
        sides = size if isinstance(size, dict) else {}
        if any(type(side) is not int or side < self.image_size for side in sides.values()):
            sides = {}
        crops = self._flag("do_center_crop")
        if crops:
            self._crop()
        if sides.keys() == {"height", "width"} and (crops or set(sides.values()) == {self.image_size}):
            return ImageFit(RESAMPLING[resample], height=sides["height"], width=sides["width"])
        if sides.keys() == {"shortest_edge"} and crops:
            return ImageFit(RESAMPLING[resample], shortest=sides["shortest_edge"])
        raise CheckpointError(
            f"{self.path}: size = {size!r}{' without do_center_crop' if not crops else ''} is not supported: "
            f"the model takes images of {self.image_size} x {self.image_size}"
        )

    def _crop(self) -> None:
        size = self.values.get("crop_size")
        sides = size.values() if isinstance(size, dict) else [size]
        if set(sides) != {self.image_size}:
            wanted = f"{self.image_size} x {self.image_size}"
            raise CheckpointError(f"{self.path}: crop_size = {size!r} is not supported: the model takes {wanted}")

    def _need(self, key: str, value: bool) -> None:
        if self._flag(key) is not value:
            raise CheckpointError(f"{self.path}: {key} = {str(not value).lower()} is not supported")

    def _flag(self, key: str) -> bool:
        if type(self.values[key]) is not bool:
            raise CheckpointError(f"{self.path}: {key} must be true or false")
        return bool(self.values[key])

    def _number(self, key: str) -> float:
        if type(self.values[key]) not in (int, float):
            raise CheckpointError(f"{self.path}: {key} must be a number")
        return float(self.values[key])

    def _by_channel(self, key: str) -> tuple[float, ...]:
        values = self.values.get(key, [0.5] * self.channels)
        if not isinstance(values, list) or len(values) != self.channels or {*map(type, values)} - {int, float}:
            raise CheckpointError(f"{self.path}: {key} must be {self.channels} numbers, one per channel")
        return tuple(map(float, values))


def preprocessor_config(description: Description) -> dict[str, Any]:
    """The preprocessor_config.json that makes `transformers` preprocess images as we do for this model."""
    task, side = description.task, description.config.image_patches.image_size
    fit = task.image_fit if task.image_fit.stretches else ImageFit("bicubic", shortest=side)
    stretched = {"shortest_edge": fit.shortest} if fit.shortest else {"height": fit.height, "width": fit.width}
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": stretched,
        "resample": RESAMPLING.index(fit.resample),
        "do_center_crop": stretched != {"height": side, "width": side},
        "crop_size": {"height": side, "width": side},
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(task.image_mean),
        "image_std": list(task.image_std),
    }
