"""Batches of images: kept on the device that trains if there is room, drawn upon there, in a seeded order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwise.config import ImageConfig
from headwise.data.batches import Position
from headwise.data.images import ImageSet
from headwise.data.plan import epoch_order
from headwise.train.augment import augment, normalise


@dataclass(frozen=True)
class Normalisation:
    """How pixels become what the model takes."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    channels: int
    size: int

    def on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        return torch.tensor(self.mean, device=device), torch.tensor(self.deviation, device=device)


class Store:
    """The images and labels of a set, as near to the device as its memory allows."""

    def __init__(self, images: ImageSet, normalisation: Normalisation, device: torch.device) -> None:
        self.set = images
        self.device = device
        self.normalisation = normalisation
        self._mean, self._deviation = normalisation.on(device)
        self._labels = torch.from_numpy(images.labels).to(device)
        self._images = torch.from_numpy(images.images)
        if device.type == "cuda" and images.images.nbytes <= torch.cuda.mem_get_info(device)[0] // 2:
            self._images = self._images.to(device)

    @property
    def near(self) -> bool:
        """Whether the images lie in the memory of the device."""
        return self._images.device.type == self.device.type

    def take(self, members: Tensor) -> tuple[Tensor, Tensor]:
        """Images uint8 [B, C, H, W] and labels [B] on the device; `members` lies there as well."""
        if self.near:
            return self._images[members], self._labels[members]
        images = self._images[members.cpu()].pin_memory()
        return images.to(self.device, non_blocking=True), self._labels[members]

    def normalised(self, images: Tensor) -> Tensor:
        """Pixels from 0 to 255 as the model takes them."""
        return normalise(images, self._mean, self._deviation, self.normalisation.channels, self.normalisation.size)


@dataclass(frozen=True)
class ImageBatch:
    """Images ready for the model."""

    images: Tensor
    """[B, C, size, size]"""
    targets: Tensor
    """[B, classes]: how much of each class is in an image."""
    members: NDArray[np.int64]
    """Which images of the set these are."""

    @property
    def count(self) -> int:
        return len(self.members)

    def to(self, device: torch.device) -> Self:
        """They are there already: the images of a batch are changed on the device that trains."""
        return self


class ImageStream:
    """Endless shuffled batches of equally many images.

    What is left over at the end of an epoch is not used in it - the next one leaves out others - since a compiled
    model wants one shape. The changes to a batch depend on the seed and on its place alone.
    """

    def __init__(
        self,
        store: Store,
        members: Sequence[NDArray[np.int64]],
        weights: Sequence[float],
        batch: int,
        classes: int,
        config: ImageConfig,
        seed: int,
    ) -> None:
        self.store = store
        self.seed = seed
        self._members = np.concatenate(members)
        self._sizes = [len(each) for each in members]
        self._weights = weights
        self._batch = batch
        self._classes = classes
        self._config = config

    def batches(self, position: Position | None = None) -> Iterator[tuple[ImageBatch, Position]]:
        """Each batch from `position` on, with the position after it; past an epoch's end comes the next."""
        at = position or Position()
        generator = torch.Generator(self.store.device)
        while True:
            order = self._members[epoch_order(self._sizes, self._weights, self.seed, at.epoch)]
            on_device = torch.from_numpy(order).to(self.store.device)
            count = max(1, len(order) // self._batch)
            for number in range(at.batch, count):
                rows = slice(number * self._batch, (number + 1) * self._batch)
                generator.manual_seed(self._draw(at.epoch, number))
                last = number + 1 == count
                following = Position(at.epoch + 1, 0) if last else Position(at.epoch, number + 1)
                yield self._make(on_device[rows], order[rows], generator), following
            at = Position(at.epoch + 1, 0)

    def lines(self, batch: ImageBatch) -> list[str]:
        """Where the images of a batch come from."""
        return [self.store.set.where(int(index)) for index in batch.members]

    def _make(self, members: Tensor, numbers: NDArray[np.int64], generator: torch.Generator) -> ImageBatch:
        images, labels = self.store.take(members)
        changed = augment(images, labels, self._classes, self._config, generator)
        return ImageBatch(self.store.normalised(changed.images), changed.targets, numbers)

    def _draw(self, epoch: int, number: int) -> int:
        """A seed for the changes to one batch."""
        return int(np.random.SeedSequence([self.seed, epoch, number]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def ordered_images(store: Store, members: NDArray[np.int64], batch: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Each image once, as it is: images for the model, labels, and how many of the rows count.

    The last batch is filled up with images from the start, so that all have one shape.
    """
    batch = min(batch, len(members))
    padded = np.resize(members, -(-len(members) // batch) * batch)
    on_device = torch.from_numpy(padded).to(store.device)
    for start in range(0, len(padded), batch):
        images, labels = store.take(on_device[start : start + batch])
        yield store.normalised(images), labels, min(batch, len(members) - start)
