"""Folders of pictures, one subfolder per class, decoded once into one array on disk."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwise.data.prepare.progress import Throttle
from headwise.devices import usable_cpus
from headwise.errors import DataError
from headwise.extras import packages_for
from headwise.files.atomic import move
from headwise.files.digest import table_digest

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp"})
_MODES = {1: "L", 3: "RGB"}


def class_folders(folder: Path) -> dict[str, list[Path]]:
    """The picture files of each class, by the name of its subfolder, sorted."""
    classes = {
        each.name: sorted(file for file in each.iterdir() if file.suffix.lower() in SUFFIXES)
        for each in sorted(folder.iterdir())
        if each.is_dir() and not each.name.startswith(".")
    }
    if not classes:
        raise DataError(f"{folder}: no subfolders: a folder of images has one for each class")
    for name, files in classes.items():
        if not files:
            raise DataError(f"{folder / name}: a class without an image ({', '.join(sorted(SUFFIXES))})")
    return classes


def decode_files(
    files: Sequence[Path], size: int, channels: int, cache: Path, say: Callable[[str], None]
) -> NDArray[np.uint8]:
    """Decode pictures to [N, channels, size, size], from the largest central square of each.

    The result is a file in `cache`, which the next run with the same pictures uses.
    """
    mode = _mode(channels)
    stamps = [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    path = cache / f"images-{table_digest([stamps, size, channels], size=12)}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        array = np.lib.format.open_memmap(unfinished, "w+", np.uint8, (len(files), channels, size, size))
        throttle = Throttle(say)
        for number, pixels in enumerate(_decoded(files, size, mode)):
            array[number] = pixels
            throttle.tick(f"reading images: {number + 1:,} of {len(files):,}")
        array.flush()
        del array
        move(unfinished, path)
    decoded: NDArray[np.uint8] = np.load(path, mmap_mode="c")
    return decoded


Resize = Callable[[Any], Any]
"""A Pillow image -> the square that a model takes."""


def read_pictures(files: Sequence[str], size: int, channels: int, resize: Resize | None = None) -> NDArray[np.uint8]:
    """Decode a few pictures to [N, channels, size, size], in memory."""
    mode = _mode(channels)
    return np.stack([decode_file(Path(file), size, mode, resize) for file in files])


def decode_file(path: Path, size: int, mode: str, resize: Resize | None = None) -> NDArray[np.uint8]:
    """Decode a picture to [C, size, size]: rotated by its EXIF data, shorter side resized, centre cropped."""
    image_module, operations = _pillow()
    try:
        with image_module.open(path) as opened:
            picture = operations.exif_transpose(opened)
            if "transparency" in picture.info:
                picture = picture.convert("RGBA")
            plain = picture.convert(mode)
            fitted = resize(plain) if resize else operations.fit(plain, (size, size), image_module.Resampling.BICUBIC)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        raise DataError(f"{path}: cannot be read as an image: {error}") from None
    pixels = np.asarray(fitted, np.uint8)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def _mode(channels: int) -> str:
    if channels not in _MODES:
        raise DataError(f"pictures have 1 or 3 channels; model.channels is {channels}")
    return _MODES[channels]


def _decoded(files: Sequence[Path], size: int, mode: str, ahead: int = 512) -> Iterator[NDArray[np.uint8]]:
    """Decode pictures on all processors, in order; at most `ahead` are decoded in advance."""
    with ThreadPoolExecutor(len(usable_cpus())) as pool:
        for start in range(0, len(files), ahead):
            yield from pool.map(lambda file: decode_file(file, size, mode), files[start : start + ahead])


def _pillow() -> tuple[Any, Any]:
    with packages_for("reading pictures"):
        from PIL import Image, ImageOps

    return Image, ImageOps
