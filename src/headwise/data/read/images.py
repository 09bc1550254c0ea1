"""Labelled images from folders of pictures and files of arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headwise.data.read.image_arrays import read_arrays
from headwise.data.read.image_files import class_folders, decode_files
from headwise.errors import DataError
from headwise.files.digest import arrays_digest, table_digest

_CHUNK = 4096  # images whose pixels are counted at a time


@dataclass(frozen=True)
class ImageSet:
    """Images with the numbers of their classes."""

    images: NDArray[np.uint8]
    """[N, C, H, W], in memory or mapped from a file."""
    labels: NDArray[np.int64]
    """[N], each the number of a class."""
    classes: tuple[str, ...]
    where: Callable[[int], str]
    """Where an image comes from: its file, or the file of arrays and its number there."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def channels(self) -> int:
        return int(self.images.shape[1])

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return int(self.images.shape[2]), int(self.images.shape[3])


def read_images(
    paths: Sequence[Path],
    *,
    size: int,
    channels: int,
    cache: Path,
    say: Callable[[str], None],
    classes: tuple[str, ...] = (),
) -> ImageSet:
    """All images of folders (one subfolder per class), .npz, .npy and IDX files, one after the other.

    Pictures in folders are converted to `size` and `channels`; arrays stay as they are. With `classes`, those of the
    training set, labels are numbers in that list, and a class that is not in it is an error.
    """
    parts: list[ImageSet] = []
    for path in paths:
        known = classes or (parts[0].classes if parts else ())
        parts.append(
            _read_folder(path, size, channels, cache, say, known) if path.is_dir() else _read_file(path, known)
        )
    return joined(parts)


def joined(parts: Sequence[ImageSet]) -> ImageSet:
    """Several sets of images as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts[1:]:
        if part.images.shape[1:] != first.images.shape[1:]:
            raise DataError(f"{part.where(0)} is {_shape(part)}, but {first.where(0)} is {_shape(first)}")
        if part.classes != first.classes:
            raise DataError(f"{part.where(0)} and {first.where(0)} are of sets with different classes")
    starts = np.cumsum([0, *map(len, parts)])

    def where(index: int) -> str:
        part = int(np.searchsorted(starts, index, side="right")) - 1
        return parts[part].where(index - int(starts[part]))

    images, labels = (np.concatenate([getattr(part, name) for part in parts]) for name in ("images", "labels"))
    return ImageSet(images, labels, first.classes, where)


def content_key(images: ImageSet, sample: int = 256) -> str:
    """A short name for the content of a set, wherever its files are: all labels, and a sample of the images."""
    chosen = np.linspace(0, len(images) - 1, min(sample, len(images))).astype(int)
    content = arrays_digest({"labels": images.labels, "images": images.images[chosen]})
    return table_digest([images.images.shape, images.classes, content], size=12)


def channel_statistics(images: NDArray[np.uint8]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel, with pixels scaled to [0, 1]; exact for any number of images."""
    counts = np.zeros((images.shape[1], 256), np.int64)
    for start in range(0, len(images), _CHUNK):
        part = images[start : start + _CHUNK]
        for channel in range(images.shape[1]):
            counts[channel] += np.bincount(part[:, channel].ravel(), minlength=256)
    values = np.arange(256) / 255
    shares = counts / counts.sum(1, keepdims=True)
    means = shares @ values
    deviations = np.sqrt(np.maximum(shares @ values**2 - means**2, 0))
    return tuple(means.tolist()), tuple(np.maximum(deviations, 1e-3).tolist())


def _read_folder(
    path: Path, size: int, channels: int, cache: Path, say: Callable[[str], None], known: tuple[str, ...]
) -> ImageSet:
    folders = class_folders(path)
    names = known or tuple(folders)
    for name in folders:
        if name not in names:
            raise DataError(f"{path / name}: not a class of the training images ({', '.join(names[:10])})")
    files = [file for each in folders.values() for file in each]
    labels = np.repeat([names.index(name) for name in folders], [len(each) for each in folders.values()])
    images = decode_files(files, size, channels, cache, say)
    return ImageSet(images, labels.astype(np.int64), names, lambda index: str(files[index]))


def _read_file(path: Path, known: tuple[str, ...]) -> ImageSet:
    arrays = read_arrays(path)
    labels, highest = arrays.labels, int(arrays.labels.max())
    names = known or arrays.classes or tuple(map(str, range(highest + 1)))
    if known and arrays.classes:
        if set(arrays.classes) - set(known):
            raise DataError(f"{path}: its classes are not those of the training images")
        labels = np.array([known.index(name) for name in arrays.classes])[labels]
    elif highest >= len(names):
        raise DataError(
            f"{path}: image {int(labels.argmax())} has the label {highest}, but there are {len(names)} classes"
        )
    return ImageSet(arrays.images, labels, names, lambda index: f"{path}: image {index}")


def _shape(part: ImageSet) -> str:
    height, width = part.size
    return f"{height}x{width} in {part.channels} channel{'s' if part.channels > 1 else ''}"
