"""Images come out the same whatever they are stored as, and what is wrong with them is said."""

import gzip
import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from headwise.data.read.image_files import read_pictures
from headwise.data.read.images import ImageSet, channel_statistics, content_key, joined, read_images
from headwise.errors import DataError


def some_images(count: int = 6, channels: int = 3, size: int = 8) -> NDArray[np.uint8]:
    return np.random.default_rng(5).integers(0, 256, (count, channels, size, size)).astype(np.uint8)


LABELS = np.array([0, 2, 1, 1, 0, 2])


def read(*paths: Path, cache: Path | None = None, size: int = 8, channels: int = 3, **more: Any) -> ImageSet:
    cache = cache or paths[0].parent / "cache"
    return read_images(paths, size=size, channels=channels, cache=cache, say=lambda _: None, **more)


def idx(array: NDArray[np.uint8]) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def save_folder(folder: Path, images: NDArray[np.uint8], labels: NDArray[np.int64], names: str = "abc") -> None:
    for number, (pixels, label) in enumerate(zip(images, labels, strict=True)):
        (folder / names[label]).mkdir(parents=True, exist_ok=True)
        mode = pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)
        Image.fromarray(mode).save(folder / names[label] / f"{number}.png")


def save_npz(path: Path, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> Path:
    np.savez(path, images=images.transpose(0, 2, 3, 1), labels=labels)
    return path


def save_npz_planar(path: Path, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> Path:
    np.savez(path, x=images.astype(np.int32), y=labels[:, None])
    return path


def save_npy(path: Path, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> Path:
    path = path.with_name("train_images.npy")
    np.save(path, images)
    np.save(path.with_name("train_labels.npy"), labels)
    return path


@pytest.mark.parametrize("save", [save_npz, save_npz_planar, save_npy])
def test_arrays_come_back_as_they_were(
    save: Callable[[Path, NDArray[np.uint8], NDArray[np.int64]], Path], tmp_path: Path
) -> None:
    images = some_images()
    found = read(save(tmp_path / "set.npz", images, LABELS))
    assert (found.images == images).all()
    assert found.images.dtype == np.uint8
    assert found.labels.tolist() == LABELS.tolist()
    assert found.classes == ("0", "1", "2")
    assert "image 3" in found.where(3)


@pytest.mark.parametrize(("images_end", "labels_end"), [("", ""), (".gz", ".gz"), (".gz", ""), ("", ".gz")])
def test_idx_files_find_their_labels(images_end: str, labels_end: str, tmp_path: Path) -> None:
    images = some_images(channels=1)
    path = tmp_path / f"train-images-idx3-ubyte{images_end}"
    for name, array in ((path.name, images[:, 0]), (f"train-labels-idx1-ubyte{labels_end}", LABELS.astype(np.uint8))):
        content = idx(array)
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    (tmp_path / "classes.txt").write_text("shirt\nshoe\nbag")
    found = read(path)
    assert (found.images == images).all()
    assert found.labels.tolist() == LABELS.tolist()
    assert found.classes == ("shirt", "shoe", "bag")


def test_a_folder_has_a_class_a_subfolder(tmp_path: Path) -> None:
    images = some_images()
    save_folder(tmp_path / "pictures", images, LABELS)
    found = read(tmp_path / "pictures")
    assert found.classes == ("a", "b", "c")
    order = [int(Path(found.where(i)).stem) for i in range(len(found))]
    assert sorted(order) == list(range(6))
    assert found.labels.tolist() == LABELS[order].tolist()
    assert (found.images == images[order]).all()


def test_a_folder_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_folder(tmp_path / "pictures", some_images(), LABELS)
    first = read(tmp_path / "pictures")
    monkeypatch.setattr("headwise.data.read.image_files.decode_file", lambda *_: pytest.fail("decoded again"))
    again = read(tmp_path / "pictures")
    assert (first.images == again.images).all()


def test_pictures_are_fitted_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "pictures" / "a").mkdir(parents=True)
    wide = np.zeros((10, 30, 3), np.uint8)
    wide[:, 10:20] = 255  # the square in the middle
    Image.fromarray(wide).save(tmp_path / "pictures" / "a" / "wide.bmp")
    grey = Image.fromarray(np.full((20, 20), 99, np.uint8))
    grey.save(tmp_path / "pictures" / "a" / "grey.webp", lossless=True)
    colours = read(tmp_path / "pictures")
    assert colours.images.shape == (2, 3, 8, 8)
    assert (colours.images[0] == 99).all()
    assert (colours.images[1, :, :, 1:-1] == 255).all()
    assert read(tmp_path / "pictures", channels=1).images.shape == (2, 1, 8, 8)


def test_a_few_pictures_are_read_as_a_folder_of_them_is(tmp_path: Path) -> None:
    images = some_images(3)
    save_folder(tmp_path / "folder", images, np.array([0, 0, 0]))
    files = sorted(map(str, (tmp_path / "folder").rglob("*.png")))
    for channels in (1, 3):
        expected = read(tmp_path / "folder", cache=tmp_path / "cache", channels=channels).images
        np.testing.assert_array_equal(read_pictures(files, 8, channels), expected)
    for channels in (0, 2, 4):
        with pytest.raises(DataError, match=f"1 or 3 channels; model.channels is {channels}"):
            read_pictures(files, 8, channels)


def test_several_paths_are_one_set(tmp_path: Path) -> None:
    images = some_images()
    first = save_npz(tmp_path / "first.npz", images, LABELS)
    second = save_npz(tmp_path / "second.npz", images[:2], LABELS[:2])
    found = read(first, second)
    assert len(found) == 8
    assert (found.images[6:] == images[:2]).all()
    assert "second.npz: image 1" in found.where(7)
    assert "first.npz: image 5" in found.where(5)


def test_a_test_set_has_the_classes_of_the_training_set(tmp_path: Path) -> None:
    save_folder(tmp_path / "some", some_images()[1:2], LABELS[1:2])
    found = read(tmp_path / "some", classes=("b", "c", "d"))
    assert found.labels.tolist() == [1]
    with pytest.raises(DataError, match="not a class of the training images"):
        read(tmp_path / "some", classes=("a", "b"))
    path = save_npz(tmp_path / "test.npz", some_images(), LABELS)
    with pytest.raises(DataError, match="label 2, but there are 2 classes"):
        read(path, classes=("a", "b"))


def bad_npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


IMAGES = some_images()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive", "not an .npz"),
        (bad_npz(images=IMAGES, labels=LABELS)[:-300], "not an .npz"),
        (bad_npz(images=IMAGES), "no array labels or y; it holds: images"),
        (bad_npz(images=IMAGES, labels=LABELS[:-1]), "6 images, but 5 labels"),
        (bad_npz(images=IMAGES, labels=LABELS - 1), "image 0 has the label -1"),
        (bad_npz(images=IMAGES, labels=LABELS / 2), "one whole number per image"),
        (bad_npz(images=IMAGES / 255, labels=LABELS), "0 to 255, not float64"),
        (bad_npz(images=IMAGES.astype(int) + 1, labels=LABELS), "between 0 and 255"),
        (bad_npz(images=IMAGES[..., :3], labels=LABELS), "cannot tell which axis"),
        (bad_npz(images=IMAGES, labels=LABELS, classes=["a"]), "has no name"),
        (bad_npz(images=IMAGES[:0], labels=LABELS[:0]), "no images"),
        (bad_npz(images=IMAGES.reshape(6, -1), labels=LABELS), "3 or 4 axes"),
    ],
)
def test_what_is_wrong_with_an_npz_is_said(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as error:
        read(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: b"\1" + content[1:], "not an IDX file"),
        (lambda content: content[:-1], "but its header says"),
        (lambda content: content[:9], "but its header says"),
        (lambda content: b"", "not an IDX file"),
    ],
)
def test_damaged_idx_files_are_told(change: Callable[[bytes], bytes], message: str, tmp_path: Path) -> None:
    path = tmp_path / "t-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(change(idx(IMAGES[:, 0]))))
    (tmp_path / "t-labels-idx1-ubyte").write_bytes(idx(LABELS.astype(np.uint8)))
    with pytest.raises(DataError, match=message):
        read(path)


def test_a_broken_download_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t-images-idx3-ubyte.gz"
    (tmp_path / "t-labels-idx1-ubyte").write_bytes(idx(LABELS.astype(np.uint8)))
    whole = gzip.compress(idx(IMAGES[:, 0]))
    path.write_bytes(whole[:-100])
    with pytest.raises(DataError, match="cut off"):
        read(path)
    path.write_bytes(whole[:50] + bytes(50) + whole[100:])
    with pytest.raises(DataError, match="damaged"):
        read(path)
    (tmp_path / "t-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match=r"its labels, t-labels-idx1-ubyte\.gz, are not beside it"):
        read(path)


def test_what_is_wrong_with_a_folder_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    with pytest.raises(DataError, match="no subfolders"):
        read(folder)
    save_folder(folder, IMAGES, LABELS)
    (folder / "d").mkdir()
    (folder / "d" / "notes.txt").touch()
    with pytest.raises(DataError, match="d: a class without an image"):
        read(folder)
    (folder / "d" / "broken.png").write_bytes((folder / "a" / "0.png").read_bytes()[:60])
    with pytest.raises(DataError, match=r"broken\.png: cannot be read as an image"):
        read(folder)
    assert not list((tmp_path / "cache").glob("*.npy")), "half a set must not be taken for a whole one"
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nowhere.npz")
    (tmp_path / "images.csv").touch()
    (tmp_path / "labels.csv").touch()
    with pytest.raises(DataError, match="unknown format"):
        read(tmp_path / "images.csv")


def test_sets_of_different_sizes_cannot_be_joined(tmp_path: Path) -> None:
    first = read(save_npz(tmp_path / "first.npz", some_images(), LABELS))
    other = read(save_npz(tmp_path / "other.npz", some_images(size=9), LABELS))
    with pytest.raises(DataError, match=r"9x9 in 3 channels, but .* 8x8"):
        joined([first, other])


def test_statistics_are_those_of_the_pixels() -> None:
    images = some_images(9000, 3, 4)
    mean, deviation = channel_statistics(images)
    assert mean == pytest.approx((images / 255).mean((0, 2, 3)))
    assert deviation == pytest.approx((images / 255).std((0, 2, 3)))


def test_the_key_of_a_set_knows_its_content_alone(tmp_path: Path) -> None:
    first = read(save_npz(tmp_path / "first.npz", IMAGES, LABELS))
    moved = read(save_npz_planar(tmp_path / "moved.npz", IMAGES, LABELS))
    other = read(save_npz(tmp_path / "other.npz", IMAGES, LABELS[::-1]))
    assert content_key(first) == content_key(moved) != content_key(other)
