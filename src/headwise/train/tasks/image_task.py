"""Image classification. For this task, `train.batch_tokens` counts images."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from headwise.config import CorpusConfig, Recipe
from headwise.data.batch.image_batches import (
    ImageBatch,
    ImageStream,
    Normalisation,
    Store,
    batches_per_group,
    ordered_images,
)
from headwise.data.prepare.fingerprint import hash_files
from headwise.data.prepare.held_out import hold_out_images
from headwise.data.prepare.result import SourceFile
from headwise.data.read.images import ImageSet, channel_statistics, content_key, joined, read_images
from headwise.data.read.paths import recipe_path
from headwise.errors import ConfigError
from headwise.metrics import shown
from headwise.models.classifier import Classifier
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.models.folder.weights import parameter_count
from headwise.models.vision import VisionTransformer
from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Say, Scored, note_few
from headwise.train.report.card import Card, batches_of, model_card, shape_of
from headwise.train.run_folder import FOLDER, data_folder
from headwise.train.set_names import VALIDATION, file_names, named_sets
from headwise.train.start import new_model, presets_of, starting_point
from headwise.train.step.learner import Objective, Validate
from headwise.train.step.loss import TokenLoss

Measured = tuple[Store, NDArray[np.int64]]
"""Images to measure a model on: a store, and the numbers of the images in it."""


def check(recipe: Recipe, model: nn.Module) -> None:
    """Refuse a recipe that would otherwise fail late."""
    body = model.body if isinstance(model, Classifier) else model
    if not isinstance(body, VisionTransformer):
        raise ConfigError(
            f"a model of the family {recipe.model.family} cannot classify images: choose vision, such as the presets "
            f"{presets_of('vision')}"
        )
    if recipe.text.sampling:
        raise ConfigError("text.sampling is for translation: images have no text")
    for role in ("train", "valid", "test"):
        for number, corpus in enumerate(getattr(recipe.data, role)):
            if not corpus.images:
                raise ConfigError(f"data.{role}[{number}] needs `images`: the task is images")
            for path in (recipe_path(recipe.data.folder, name) for name in corpus.images):
                if not path.exists():
                    raise ConfigError(f"data.{role}[{number}]: {path}: no such file")
    if not recipe.data.train:
        raise ConfigError("no training images: the recipe has no data.train")


@dataclass(frozen=True)
class ImageScores:
    """The figures of one set."""

    images: int
    accuracy: float
    """The share of images whose most probable class is right."""
    loss: float
    """Mean negative log-likelihood of the true class."""

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return f"{shown('accuracy', self.accuracy)}\nloss {self.loss:.4f}\nimages {self.images:,}"


@dataclass(frozen=True)
class ImageJob:
    recipe: Recipe
    loaded: LoadedModel
    stream: ImageStream
    objective: Objective
    validate: Validate | None
    scored: Mapping[str, Measured]
    """The sets that the finished model is measured on, by name."""
    data_key: str
    sizes: Mapping[str, int]
    """How many images there are for training and for validation."""
    files: Sequence[SourceFile]
    metrics: tuple[str, ...] = ("loss", "accuracy")
    unit: str = "images"

    def describe(self) -> str:
        near = self.stream.store.on_device
        return (
            f"{parameter_count(self.loaded.model) / 1e6:.1f} million parameters, {self.sizes['training']:,} training "
            f"images of {len(self.loaded.task.labels)} classes, {self.sizes['validation']:,} for validation, "
            f"{'in the memory of the device' if near else 'read from main memory'}"
        )

    def finish(self, say: Say) -> dict[str, ImageScores]:
        scores = {}
        for name, (store, members) in self.scored.items():
            scores[name] = measure(self.loaded.model, store, members, self.recipe.train.batch_tokens)
            say(f"{name}:\n{scores[name]}")
            note_few(name, len(members), "images", say)
        return scores

    def card(self, progress: RunState, scores: Mapping[str, Scored], source: str) -> str:
        return image_card(self.recipe, self.loaded, self.sizes, self.files, progress, scores, source)


def open_job(recipe: Recipe, run: Path, device: torch.device, say: Say) -> ImageJob:
    """Read the images, hold some out for validation, and build the model with an output for each class."""
    cache = data_folder(recipe, run)
    sources = read_sources(recipe, cache, say)
    train, valid, tests = ([each for each in sources if each.role == role] for role in ("train", "valid", "test"))
    whole = all_images(train)
    recipe, classes = with_classes(recipe, whole.classes)
    start = starting_point(recipe, device)
    model = start.model if start else new_model(recipe, 0, 0).to(device)
    patches, (mean, deviation) = recipe.model.image_patches, channel_scale(recipe, start, whole)
    task = dataclasses.replace(
        start.task if start else Task(), kind="images", labels=classes, image_mean=mean, image_std=deviation
    )
    normalisation = Normalisation(mean, deviation, patches.channels, patches.image_size)

    def stored(images: ImageSet) -> Measured:
        return Store(images, normalisation, device), np.arange(len(images))

    store = Store(whole, normalisation, device)
    training, held_out = split([len(each.images) for each in train], 0 if valid else recipe.data.held_out, recipe.seed)
    validating = stored(all_images(valid)) if valid else (store, held_out)
    names = named_sets([file_names([str(each.path)]) for each in tests])
    measured = {name: stored(each.images) for name, each in zip(names, tests, strict=True)}
    if not measured and len(validating[1]):
        measured = {VALIDATION: validating}
    batch = recipe.train.batch_tokens
    return ImageJob(
        recipe,
        LoadedModel(model, Description(recipe.model, None, task)),
        ImageStream(
            store,
            training,
            [each.corpus.weight for each in train],
            batch,
            len(classes),
            recipe.images,
            recipe.seed,
            batches_per_group(store, batch),
        ),
        soft_cross_entropy(recipe.train.label_smoothing),
        validator(*validating, batch) if len(validating[1]) else None,
        measured,
        content_key(whole),
        {"training": sum(map(len, training)), "validation": len(validating[1])},
        source_files(sources, cache, say),
    )


def channel_scale(
    recipe: Recipe, start: LoadedModel | None, images: ImageSet
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation by channel that pixels are normalised with: the starting point's, or the data's."""
    if start is not None and start.task.image_mean:
        return start.task.image_mean, start.task.image_std
    mean, deviation = channel_statistics(images.images)
    repeats = recipe.model.image_patches.channels if len(mean) == 1 else 1  # grey images for a model of colour images
    return mean * repeats, deviation * repeats


@dataclass(frozen=True)
class Source:
    """The images of one path in a recipe."""

    path: Path
    corpus: CorpusConfig
    role: str
    images: ImageSet


def read_sources(recipe: Recipe, cache: Path, say: Say) -> list[Source]:
    """All images that the recipe names; the classes are those of the first training images."""
    sources: list[Source] = []
    size, channels = recipe.model.image_patches.image_size, recipe.model.image_patches.channels
    for role in ("train", "valid", "test"):
        for corpus in getattr(recipe.data, role):
            for name in corpus.images:
                path = recipe_path(recipe.data.folder, name)
                classes = sources[0].images.classes if sources else ()
                images = read_images([path], size=size, channels=channels, cache=cache, say=say, classes=classes)
                if images.channels not in (1, channels):
                    raise ConfigError(
                        f"{path} has {images.channels} channels, the model {channels}: set model.patches.channels"
                    )
                if recipe.images.crop >= min(images.size):
                    raise ConfigError(f"images.crop must be below {min(images.size)}, the size of the images in {path}")
                sources.append(Source(path, corpus, role, images))
    return sources


def all_images(sources: Sequence[Source]) -> ImageSet:
    return joined([each.images for each in sources])


def source_files(sources: Sequence[Source], cache: Path, say: Say) -> list[SourceFile]:
    """The files of the card; a folder of images has no digest."""
    digests = hash_files([each.path for each in sources if each.path.is_file()], cache, say)
    return [
        SourceFile(str(each.path), digests.get(each.path, FOLDER), len(each.images), each.corpus.licence, each.role)
        for each in sources
    ]


def with_classes(recipe: Recipe, classes: tuple[str, ...]) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe with as many outputs as there are classes, unless it has more; and the name of each output.

    The number of classes of the model in `init` does not matter.
    """
    wanted = (None if recipe.init else recipe.model.classes) or len(classes)
    if wanted < len(classes):
        raise ConfigError(f"model.classes = {wanted}, but the training images are of {len(classes)} classes")
    names = classes + tuple(map(str, range(len(classes), wanted)))
    return dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, classes=wanted)), names


def split(sizes: Sequence[int], count: int, seed: int) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The images of each source to train on, and those held out, numbered through all sources."""
    training, validation, begin = [], [], 0
    for size in sizes:
        kept, taken = hold_out_images(size, round(count * size / sum(sizes)), seed)
        training.append(kept + begin)
        validation.append(taken + begin)
        begin += size
    return training, np.concatenate(validation)


def soft_cross_entropy(smoothing: float) -> Objective:
    """The objective: cross-entropy with shares of classes as targets, label-smoothed."""

    def objective(model: nn.Module, batch: ImageBatch) -> TokenLoss:
        logits = model(batch.images).float()
        loss = F.cross_entropy(logits, batch.targets, label_smoothing=smoothing, reduction="sum")
        return TokenLoss(loss, F.cross_entropy(logits.detach(), batch.targets, reduction="sum"))

    return objective


def validator(store: Store, members: NDArray[np.int64], batch: int) -> Validate:
    """Loss and accuracy over the whole validation set."""

    def validate(model: nn.Module) -> dict[str, float]:
        scores = measure(model, store, members, batch)
        return {"loss": scores.loss, "accuracy": scores.accuracy}

    return validate


@torch.no_grad()
def measure(model: nn.Module, store: Store, members: NDArray[np.int64], batch: int) -> ImageScores:
    """Measure a model, which is in evaluation mode, on each of these images once."""
    nll = torch.zeros((), device=store.device)
    right = torch.zeros((), device=store.device, dtype=torch.long)
    with torch.compiler.set_stance("force_eager"):  # compilation would take longer than it saves
        for images, labels, count in ordered_images(store, members, batch):
            logits = model(images)[:count].float()
            nll += F.cross_entropy(logits, labels[:count], reduction="sum")
            right += (logits.argmax(-1) == labels[:count]).sum()
    return ImageScores(len(members), right.item() / len(members), nll.item() / len(members))


def image_card(
    recipe: Recipe,
    loaded: LoadedModel,
    sizes: Mapping[str, int],
    files: Sequence[SourceFile],
    progress: RunState,
    scores: Mapping[str, Scored],
    source: str,
) -> str:
    task, patches = loaded.task, loaded.config.image_patches
    names = ", ".join(task.labels[:20]) + (" ..." if len(task.labels) > 20 else "")
    held_out = "" if recipe.data.valid else ", held out of the training data"
    card = Card(
        title=f"Image classifier, {len(task.labels)} classes",
        summary=f"A Vision Transformer trained with Headwise: {shape_of(loaded)}, images of "
        f"{patches.image_size}x{patches.image_size} pixels in patches of {patches.patch_size}, {patches.channels} "
        f"channels. Its classes: {names}.",
        data=[
            f"{sizes['training']:,} images for training, {sizes['validation']:,} for validation{held_out}. Pixels "
            f"from 0 to 1 are normalised with the means {_rounded(task.image_mean)} and the standard deviations "
            f"{_rounded(task.image_std)}."
        ],
        files=files,
        counted="images",
        trained=f"{progress.tokens:,} images, {batches_of(recipe, 'images')}, "
        f"label smoothing {recipe.train.label_smoothing}",
    )
    return model_card(card, recipe, progress, scores, source)


def _rounded(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)
