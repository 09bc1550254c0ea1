"""Batches of images: kept on the device that trains if there is room, drawn upon there, in a seeded order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwise.config import ImageConfig
from headwise.data.batch.augment import Augmented, augment, normalise
from headwise.data.batch.plan import Planned, epoch_order, whole
from headwise.data.batch.stream import Position
from headwise.data.read.images import ImageSet

TOGETHER = 1 << 24
"""Values that a GPU changes at once: what is done to small images takes it less time than being told to do it."""


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

    def fetch(self, members: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """What there is to do in the background: the images, if they come from afar, and their numbers."""
        numbers = torch.from_numpy(members)
        return (numbers if self.near else self._images[numbers]), numbers

    def take(self, fetched: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Images uint8 [B, C, H, W] and labels [B] on the device."""
        first, numbers = (each.to(self.device, non_blocking=True) for each in fetched)
        return (self._images[first] if self.near else first), self._labels[numbers]

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
    count: int


class Group:
    """Some batches, made when the first of them is asked for."""

    def __init__(self, make: Callable[[], Augmented]) -> None:
        self._make = make

    @cached_property
    def made(self) -> Augmented:
        return self._make()


@dataclass(frozen=True)
class PlannedBatch:
    """A batch of a group: which images it has is known, what becomes of them is not yet."""

    group: Group
    rows: slice
    members: NDArray[np.int64]

    @property
    def count(self) -> int:
        return len(self.members)

    @property
    def planned(self) -> Planned["PlannedBatch"]:
        def part(rows: slice) -> PlannedBatch:
            places = range(self.rows.start, self.rows.start + self.count)[rows]
            return PlannedBatch(self.group, slice(places.start, places.stop, places.step), self.members[rows])

        return Planned(self.count, part)

    def to(self, device: torch.device) -> ImageBatch:
        """On the device of the images, which is the one that trains."""
        made = self.group.made
        return ImageBatch(made.images[self.rows].clone(), made.targets[self.rows].clone(), self.count)


class ImageStream:
    """Endless shuffled batches of equally many images.

    What is left over at the end of an epoch is not used in it - the next one leaves out others - since a compiled
    model wants one shape. The changes to a batch depend on the seed, the epoch and its place in it alone.
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
        group: int = 1,
    ) -> None:
        """`group`: how many batches are made together."""
        self.store = store
        self.seed = seed
        self._members = np.concatenate(members)
        self._sizes = [len(each) for each in members]
        self._weights = weights
        self._batch = batch
        self._classes = classes
        self._config = config
        self._group_size = group

    @property
    def uniform(self) -> bool:
        """All batches have the same shapes."""
        return True

    def batches(self, position: Position | None = None) -> Iterator[tuple[PlannedBatch, Position]]:
        """Each batch from `position` on, with the position after it; past an epoch's end comes the next."""
        return whole(self.planned(position))

    def planned(self, position: Position | None = None) -> Iterator[tuple[Planned[PlannedBatch], Position]]:
        """The same, of which a part can be had."""
        at = position or Position()
        size, group = self._batch, self._group_size
        while True:
            order = self._members[epoch_order(self._sizes, self._weights, self.seed, at.epoch)]
            count = max(1, len(order) // size)
            for start in range(at.batch - at.batch % group, count, group):
                members = order[start * size : min(start + group, count) * size]
                made = self._group(members, self._draw(at.epoch, start))
                for number in range(max(start, at.batch), min(start + group, count)):
                    rows = slice((number - start) * size, (number + 1 - start) * size)
                    last = number + 1 == count
                    following = Position(at.epoch + 1, 0) if last else Position(at.epoch, number + 1)
                    yield PlannedBatch(made, rows, members[rows]).planned, following
            at = Position(at.epoch + 1, 0)

    def lines(self, batch: PlannedBatch) -> list[str]:
        """Where the images of a batch come from."""
        return [self.store.set.where(int(index)) for index in batch.members]

    def _group(self, members: NDArray[np.int64], seed: int) -> Group:
        """Batches are planned in the background; a GPU is asked for nothing there, where its own recording may be
        under way, but on a CPU they are made there."""
        fetched = self.store.fetch(members)

        def make() -> Augmented:
            generator = torch.Generator(self.store.device).manual_seed(seed)
            images, targets = augment(*self.store.take(fetched), self._classes, self._config, generator)
            return Augmented(self.store.normalised(images), targets)

        group = Group(make)
        if self.store.device.type == "cpu":
            _ = group.made
        return group

    def _draw(self, epoch: int, number: int) -> int:
        """A seed for the changes to a group of batches."""
        return int(np.random.SeedSequence([self.seed, epoch, number]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def together(store: Store, batch: int) -> int:
    """How many batches of this size are best made at once: on a CPU, whose cache is small, one."""
    return max(1, TOGETHER // (batch * store.set.images[0].size)) if store.device.type == "cuda" else 1


def ordered_images(store: Store, members: NDArray[np.int64], batch: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Each image once, as it is: images for the model, labels, and how many of the rows count.

    The last batch is filled up with images from the start, so that all have one shape.
    """
    batch = min(batch, len(members))
    padded = np.resize(members, -(-len(members) // batch) * batch)
    for start in range(0, len(padded), batch):
        images, labels = store.take(store.fetch(padded[start : start + batch]))
        yield store.normalised(images), labels, min(batch, len(members) - start)
