"""Training on images: what is learned, in what order, and how it is measured."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from headwise.config import ImageConfig, Recipe
from headwise.data.batch.image_batches import ImageStream, Normalisation, Store, ordered_images
from headwise.data.batch.stream import Position, batches_from
from headwise.data.read.images import ImageSet
from headwise.errors import ConfigError, DataError
from headwise.files.tensors import load_tensors
from headwise.models.folder.load import load
from headwise.presets import resolve
from headwise.recipe import from_tables
from headwise.train.run import train
from headwise.train.tasks.image_task import measure, open_job, split, with_classes

SIZE = 12
KINDS = ("bars", "stripes", "square", "nothing")
CHANGES = ImageConfig(crop=2, random_augment=1, mixup=0.2, cutmix=1.0, erase=0.2)
MODEL = {
    "family": "vision",
    "patches.image_size": SIZE,
    "patches.patch_size": 3,
    "patches.channels": 1,
    "width": 32,
    "layers": 2,
    "attention.heads": 2,
    "feed_forward.hidden": 64,
    "norm.order": "pre",
    "positions.kind": "learned",
    "feed_forward.activation": "gelu",
    "pooling.kind": "mean",
    "dropout": 0.0,
}
CPU = torch.device("cpu")


def shapes(count: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Noise, and in it what a class is named after, somewhere."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(KINDS), count)
    images = rng.normal(60, 25, (count, SIZE, SIZE))
    for image, label in zip(images, labels, strict=True):
        row, column = rng.integers(0, 6, 2)
        window = image[row : row + 6, column : column + 6]
        if KINDS[label] == "bars":
            window[:, ::3] += 120
        elif KINDS[label] == "stripes":
            window[::3] += 120
        elif KINDS[label] == "square":
            window[1:5, 1:5] += 120
    return images.clip(0, 255).astype(np.uint8)[..., None], labels


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    for name, count, seed in (("train", 1200, 1), ("test", 300, 2)):
        images, labels = shapes(count, seed)
        np.savez(folder / f"{name}.npz", images=images, labels=labels, classes=np.array(KINDS))
    return folder


def recipe(folder: Path, out: Path, *, test: bool = True, **tables: Any) -> Recipe:
    """A run of seconds; `tables` are laid over its own."""
    own = {
        "task": "images",
        "out": str(out),
        "model": MODEL,
        "data": {
            "folder": str(folder),
            "train": [{"images": ["train.npz"]}],
            "test": [{"images": ["test.npz"]}] if test else [],
            "held_out": 50,
        },
        "images": {"crop": 1, "flip": False},
        "train": {
            "steps": 250,
            "batch_tokens": 64,
            "learning_rate": 3e-3,
            "schedule": "cosine",
            "warmup": 20,
            "precision": "float32",
            "device": "cpu",
            "validate_every": 125,
            "checkpoint_every": 125,
            "keep": 10,
        },
    }
    merged = {key: {**own.get(key, {}), **value} if isinstance(value, dict) else value for key, value in tables.items()}
    return from_tables(Recipe, {**own, **merged})


def test_images_may_be_at_home(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(data))
    paths = {"folder": str(tmp_path), "train": [{"images": ["~/train.npz"]}], "test": []}
    assert train(recipe(data, tmp_path / "out", data=paths, train={"steps": 1}), quiet).scores


def quiet(_: str) -> None:
    pass


def test_a_small_model_learns_to_tell_shapes_apart(data: Path, tmp_path: Path) -> None:
    outcome = train(recipe(data, tmp_path / "run"), quiet)
    scores = outcome.scores["test set"].as_dict()
    assert scores["accuracy"] > 0.95
    assert scores["images"] == 300
    assert json.loads((tmp_path / "run" / "scores.json").read_text())["test set"] == scores

    loaded = load(tmp_path / "run")
    assert loaded.task.kind == "images"
    assert loaded.task.labels == KINDS
    assert loaded.config.classes == len(KINDS)
    assert loaded.tokenizer is None
    images, labels = shapes(300, 2)
    pixels = torch.from_numpy(images.transpose(0, 3, 1, 2) / 255).float()
    normal = (pixels - loaded.task.image_mean[0]) / loaded.task.image_std[0]
    with torch.no_grad():
        right = (loaded.model(normal).argmax(-1) == torch.from_numpy(labels)).float().mean()
    assert right.item() == pytest.approx(scores["accuracy"]), "the folder is all one needs"

    card = (tmp_path / "run" / "README.md").read_text()
    assert "bars, stripes, square, nothing" in card
    assert "1,150 images for training, 50 for validation, held out" in card


def test_a_run_that_is_taken_up_again_is_the_same_run(data: Path, tmp_path: Path) -> None:
    def run(folder: str, steps: int) -> dict[str, torch.Tensor]:
        settings = {"steps": steps, "schedule": "inverse_sqrt", "validate_every": 4, "checkpoint_every": 4, "ema": 0.9}
        changes = {"random_augment": 1, "mixup": 0.5, "cutmix": 1.0, "erase": 0.2, "flip": True}
        model = {**MODEL, "dropout": 0.1}
        train(recipe(data, tmp_path / folder, train=settings, images=changes, model=model), quiet)
        return load_tensors(tmp_path / folder / "checkpoints" / f"step-{steps:08d}" / "model.safetensors")

    straight = run("straight", 24)
    run("halves", 16)  # within the first epoch, which has 17 batches
    run("halves", 20)  # within the second
    halves = run("halves", 24)
    assert all(torch.equal(straight[name], halves[name]) for name in straight)


def test_other_images_are_not_the_same_run(data: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    images, labels = shapes(100, 1)
    np.savez(tmp_path / "data" / "train.npz", images=images, labels=labels)
    small = {"steps": 1, "batch_tokens": 16}
    train(recipe(tmp_path / "data", tmp_path / "run", test=False, train=small), quiet)
    np.savez(tmp_path / "data" / "train.npz", images=images, labels=labels[::-1])
    with pytest.raises(ConfigError, match="started with other data"):
        train(recipe(tmp_path / "data", tmp_path / "run", test=False, train={**small, "steps": 2}), quiet)


def test_the_validation_set_is_measured_where_there_is_no_test_set(data: Path, tmp_path: Path) -> None:
    outcome = train(recipe(data, tmp_path / "run", test=False, train={"steps": 2}), quiet)
    assert outcome.scores["validation set"].as_dict()["images"] == 50


def test_a_trained_model_is_taught_other_classes(data: Path, tmp_path: Path) -> None:
    train(recipe(data, tmp_path / "first", train={"steps": 2}), quiet)
    first = load(tmp_path / "first")
    (tmp_path / "data").mkdir()
    images, labels = shapes(100, 5)
    np.savez(tmp_path / "data" / "train.npz", images=images // 2, labels=labels % 2)
    tables = {"init": str(tmp_path / "first"), "model": {**MODEL, "classes": 4}}
    job = open_job(recipe(tmp_path / "data", tmp_path / "run", test=False, **tables), tmp_path / "run", CPU, quiet)
    start = job.loaded
    assert start.config.classes == 2
    assert start.task.labels == ("0", "1")
    assert start.task.image_mean == first.task.image_mean, "the weights expect what they were trained with"
    old, new = first.model.state_dict(), start.model.state_dict()
    assert all(torch.equal(old[name], new[name]) for name in new if not name.startswith("output."))
    assert new["output.weight"].shape == (2, 32)


def a_store(count: int = 100) -> Store:
    images, labels = shapes(count, 3)
    planar = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    return Store(
        ImageSet(planar, labels, KINDS, lambda index: f"image {index}"), Normalisation((0.2,), (0.3,), 1, SIZE), CPU
    )


def a_stream(
    count: int = 100, batch: int = 16, seed: int = 1, config: ImageConfig = CHANGES, group: int = 1
) -> ImageStream:
    return ImageStream(a_store(count), [np.arange(count)], [1.0], batch, len(KINDS), config, seed, group)


@pytest.mark.parametrize("group", [1, 4, 100])
def test_batches_go_on_from_any_position(group: int) -> None:
    """Batch by batch, in groups of four that do not divide the six of an epoch, and all of an epoch together."""
    straight = list(itertools.islice(batches_from(a_stream(group=group)), 15))
    for taken, (_, position) in enumerate(straight[:-1], 1):
        batch, following = next(iter(batches_from(a_stream(group=group), position)))
        wanted, after = straight[taken]
        assert torch.equal(batch.to(CPU).images, wanted.to(CPU).images)
        assert torch.equal(batch.to(CPU).targets, wanted.to(CPU).targets)
        assert following == after


def test_an_epoch_has_whole_batches_and_no_image_twice() -> None:
    batches = list(itertools.islice(batches_from(a_stream()), 12))
    assert {batch.count for batch, _ in batches} == {16}
    assert batches[5][1] == Position(1, 0)
    first, second = (np.concatenate([batch.members for batch, _ in part]) for part in (batches[:6], batches[6:]))
    assert len(set(first)) == len(set(second)) == 96
    assert set(first) != set(second), "others are left out the next time"


def test_few_images_make_one_batch() -> None:
    batch, position = next(iter(batches_from(a_stream(count=10))))
    assert sorted(batch.members) == list(range(10))
    assert position == Position(1, 0)


def test_the_seed_decides_order_and_changes() -> None:
    first, same, other = (next(iter(batches_from(a_stream(seed=seed))))[0] for seed in (1, 1, 2))
    assert torch.equal(first.to(CPU).images, same.to(CPU).images)
    assert (first.members != other.members).any()


def test_targets_belong_to_their_images() -> None:
    stream = a_stream(config=ImageConfig(crop=0, flip=False))
    planned, _ = next(iter(batches_from(stream)))
    batch, members = planned.to(CPU), planned.members
    assert batch.targets.argmax(1).tolist() == stream.store.set.labels[members].tolist()
    pixels = torch.from_numpy(stream.store.set.images[members] / 255).float()
    assert torch.allclose(batch.images, (pixels - 0.2) / 0.3, atol=1e-5)
    assert stream.lines(planned)[0] == f"image {members[0]}"


class Means(nn.Module):
    """Tells classes by the mean of an image, each image by itself."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        means = images.mean((1, 2, 3))
        return torch.stack([means, -means, means**2, means.sin()], 1)


@pytest.mark.parametrize("batch", [1, 7, 50, 1000])
def test_every_image_is_measured_once_whatever_the_batch(batch: int) -> None:
    store, members = a_store(), np.arange(3, 53)
    shapes_seen = {images.shape for images, _, _ in ordered_images(store, members, batch)}
    assert len(shapes_seen) == 1, "a compiled model wants one shape"
    whole, part = measure(Means(), store, members, 50), measure(Means(), store, members, batch)
    assert part.images == 50
    assert part.accuracy == pytest.approx(whole.accuracy)
    assert part.loss == pytest.approx(whole.loss, rel=1e-5)


def test_images_are_held_out_of_every_source() -> None:
    training, validation = split([200, 400], 30, 1)
    assert [len(each) for each in training] == [190, 380]
    assert len(validation) == 30
    assert sorted([*np.concatenate(training), *validation]) == list(range(600))


def test_a_model_may_have_more_classes_than_the_images(data: Path, tmp_path: Path) -> None:
    wanted, names = with_classes(recipe(data, tmp_path, model={"classes": 6}), KINDS)
    assert wanted.model.classes == 6
    assert names == (*KINDS, "4", "5")
    with pytest.raises(ConfigError, match="of 4 classes"):
        with_classes(recipe(data, tmp_path, model={"classes": 3}), KINDS)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"model": {"family": "masked_lm"}}, "reads no images"),
        ({"images": {"magnitude": 31.0}}, "at least 0 and at most 30"),
        ({"images": {"erase": 1.5}}, "at least 0 and at most 1"),
        ({"images": {"mixup": -1.0}}, "must be at least 0"),
        ({"images": {"crop": 12}}, "below 12"),
        ({"model": {"patches.patch_size": 5}}, "multiple of model.patches.patch_size"),
        ({"data": {"test": [{"images": ["nowhere.npz"]}]}}, "no such file"),
        ({"data": {"train": [{"pairs": ["pairs.tsv"]}]}}, "needs `images`"),
        ({"data": {"train": []}}, "no training images"),
        ({"train": {"select_by": "bleu"}}, "loss, accuracy"),
    ],
)
def test_what_cannot_work_is_refused_at_once(tables: dict[str, Any], message: str, data: Path, tmp_path: Path) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        train(recipe(data, tmp_path / "run", **tables), quiet)


def test_colours_need_channels(tmp_path: Path) -> None:
    np.savez(tmp_path / "train.npz", images=np.zeros((9, SIZE, SIZE, 3), np.uint8), labels=np.arange(9) % 2)
    with pytest.raises(ConfigError, match=r"set model\.patches\.channels"):
        train(recipe(tmp_path, tmp_path / "run", test=False), quiet)


def test_a_batch_of_images_is_small_unless_the_recipe_says_otherwise() -> None:
    """The default of texts, 4096, would be as many images."""
    assert resolve({"task": "images"}).train.batch_tokens == 128
    assert resolve({"task": "images", "train": {"batch_tokens": 4096}}).train.batch_tokens == 4096
