"""Files of image arrays: NumPy's .npz and .npy, and IDX files such as those of MNIST."""

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwise.data.read.files import format_suffix, numbered_lines, open_bytes, reading
from headwise.errors import DataError

IMAGE_KEYS, LABEL_KEYS = ("images", "x"), ("labels", "y")
CHANNELS = (1, 3)
CLASS_NAMES = "classes.txt"
_IDX_BYTES = 0x08  # the code of unsigned bytes in an IDX header


class LabelledArrays(NamedTuple):
    """The checked content of a file: images uint8 [N, C, H, W], labels from 0 [N], and names of classes, if any."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]


def read_arrays(path: Path) -> LabelledArrays:
    """Read the images and labels of an .npz, or of a file of images and the file of labels beside it."""
    with reading(path):
        path.stat()
    if path.suffix.lower() == ".npz":
        images, labels, classes = _read_npz(path)
    else:
        partner = labels_file(path)
        images, labels, classes = _read_array(path), _read_array(partner), _names_beside(path)
    planar, numbers = _planar(path, images), _numbers(path, labels)
    if len(planar) != len(numbers):
        raise DataError(f"{path}: {len(planar):,} images, but {len(numbers):,} labels")
    if not len(planar):
        raise DataError(f"{path}: no images")
    lowest = int(numbers.min())
    if lowest < 0:
        raise DataError(f"{path}: image {int(numbers.argmin())} has the label {lowest}; labels count from 0")
    if classes and int(numbers.max()) >= len(classes):
        raise DataError(f"{path}: the label {int(numbers.max())} has no name: there are {len(classes)} classes")
    return LabelledArrays(planar, numbers, classes)


def labels_file(path: Path) -> Path:
    """The file of labels beside a file of images: train-labels-idx1-ubyte.gz for train-images-idx3-ubyte.gz."""
    name = path.name.replace("images", "labels").replace("idx3", "idx1")
    if name == path.name:
        raise DataError(
            f"{path}: a file of images alone is named ...images..., so that ...labels... is found beside it"
        )
    packed = name if name.endswith(".gz") else f"{name}.gz"
    for candidate in (name, packed.removesuffix(".gz"), packed):
        if path.with_name(candidate).is_file():
            return path.with_name(candidate)
    raise DataError(f"{path}: its labels, {name}, are not beside it")


def _read_npz(path: Path) -> tuple[NDArray[Any], NDArray[Any], tuple[str, ...]]:
    try:
        with reading(path), path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            images, labels = _array_named(path, file, IMAGE_KEYS), _array_named(path, file, LABEL_KEYS)
            names = tuple(map(str, file["classes"].tolist())) if "classes" in file else ()
    except (zipfile.BadZipFile, ValueError) as error:
        raise DataError(f"{path}: damaged, or not an .npz file: {error}") from None
    return images, labels, names


def _array_named(path: Path, file: Any, keys: tuple[str, ...]) -> NDArray[Any]:
    for key in keys:
        if key in file:
            array: NDArray[Any] = file[key]
            return array
    raise DataError(f"{path}: no array {' or '.join(keys)}; it holds: {', '.join(file) or 'nothing'}")


def _read_array(path: Path) -> NDArray[Any]:
    if path.suffix.lower() == ".npy":
        try:
            with reading(path):
                # Copy on write: only what is used is read, and PyTorch takes it without a copy.
                array: NDArray[Any] = np.load(path, mmap_mode="c", allow_pickle=False)
        except ValueError as error:
            raise DataError(f"{path}: damaged, or not an .npy file: {error}") from None
        return array
    if format_suffix(path) in ("", ".idx") or "ubyte" in path.name:
        return _read_idx(path)
    raise DataError(f"{path}: unknown format; images come as a folder, .npz, .npy or an IDX file")


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file: two zero bytes, the type, the number of axes, their sizes (big-endian), the values."""
    with reading(path), open_bytes(path) as stream:
        content = stream.read()
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _IDX_BYTES or content[3] not in (1, 3):
        raise DataError(f"{path}: not an IDX file of bytes with one axis (labels) or three (images)")
    axes = content[3]
    start = 4 + 4 * axes
    shape = np.frombuffer(content[4:start].ljust(4 * axes, b"\0"), ">u4").astype(int).tolist()
    expected = int(np.prod(shape))
    if len(content) - start != expected:
        raise DataError(
            f"{path}: {max(0, len(content) - start):,} bytes of values, but its header says {expected:,} ({shape})"
        )
    return np.frombuffer(bytearray(content), np.uint8, offset=start).reshape(shape)


def _names_beside(path: Path) -> tuple[str, ...]:
    """The names of the classes in the file classes.txt of the same folder, one per line."""
    names = path.with_name(CLASS_NAMES)
    return tuple(line for _, line in numbered_lines(names) if line) if names.is_file() else ()


def _planar(path: Path, images: NDArray[Any]) -> NDArray[np.uint8]:
    """Images as uint8 [N, C, H, W], whichever of the usual orders they are in."""
    if not np.issubdtype(images.dtype, np.integer):
        raise DataError(f"{path}: images must be whole numbers from 0 to 255, not {images.dtype}")
    if images.dtype != np.uint8:
        if images.size and not 0 <= images.min() <= images.max() <= 255:
            raise DataError(f"{path}: images must lie between 0 and 255, not {images.min()} and {images.max()}")
        images = images.astype(np.uint8)
    if images.ndim == 3:
        return images[:, None]
    if images.ndim != 4:
        raise DataError(f"{path}: images must have 3 or 4 axes (count, height, width, channels), not {images.shape}")
    first, last = images.shape[1] in CHANNELS, images.shape[3] in CHANNELS
    if first == last:
        raise DataError(f"{path}: cannot tell which axis of {images.shape} holds the channels (1 or 3 of them)")
    return images if first else np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def _numbers(path: Path, labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise DataError(f"{path}: labels must be one whole number per image, not {labels.dtype} {labels.shape}")
    return np.asarray(labels, np.int64)
