"""Batches of images: stored on the device that trains if they fit there, and augmented there."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwise.config import ImageConfig
from headwise.data.batch.augment import Augmented, augment, normalise
from headwise.data.batch.plan import Mixture
from headwise.data.batch.stream import Planned
from headwise.data.read.images import ImageSet

TOGETHER = 1 << 24
"""Values that a GPU augments together: for fewer, launching the kernels takes longer than running them."""


@dataclass(frozen=True)
class Normalisation:
    """The constants that turn pixels into the model's input."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    channels: int
    size: int

    def on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        return torch.tensor(self.mean, device=device), torch.tensor(self.deviation, device=device)


class Store:
    """The images and labels of a set: in the device's memory if they fit, else in main memory."""

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
    def on_device(self) -> bool:
        """Whether the images are in the device's memory."""
        return self._images.device.type == self.device.type

    def fetch(self, members: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """The images, or only their numbers if they are in the device's memory; and their numbers."""
        numbers = torch.from_numpy(members)
        return (numbers if self.on_device else self._images[numbers]), numbers

    def take(self, fetched: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Fetched images uint8 [B, C, H, W] and their labels [B] on the device."""
        first, numbers = (each.to(self.device, non_blocking=True) for each in fetched)
        return (self._images[first] if self.on_device else first), self._labels[numbers]

    def normalised(self, images: Tensor) -> Tensor:
        """Pixels from 0 to 255 as the model's input."""
        return normalise(images, self._mean, self._deviation, self.normalisation.channels, self.normalisation.size)


@dataclass(frozen=True, eq=False)
class ImageBatch:
    """Images ready for the model."""

    images: Tensor
    """[B, C, size, size]"""
    targets: Tensor
    """[B, classes]: the share of each class in an image."""
    members: NDArray[np.int64]
    """The number of each image in its set."""

    def __len__(self) -> int:
        return len(self.members)

    @property
    def count(self) -> int:
        return len(self.members)

    def part(self, rows: slice) -> "ImageBatch":
        return ImageBatch(self.images[rows], self.targets[rows], self.members[rows])

    def to(self, device: torch.device) -> "ImageBatch":
        return ImageBatch(self.images.to(device), self.targets.to(device), self.members)


class ImageGroup:
    """Some batches that are augmented together, when the first of them is used.

    Batches are made in a background thread. There a group only reads its images from main memory: a GPU must not be
    given work while the main thread may be capturing a CUDA graph. On a CPU the images are augmented there too.
    """

    def __init__(
        self, store: Store, members: NDArray[np.int64], augmented: Callable[[Tensor, Tensor], Augmented]
    ) -> None:
        self._store = store
        self._members = members
        self._augmented = augmented

    def read(self) -> None:
        """Do the part of the work that a background thread may do."""
        _ = self._fetched
        if self._store.device.type == "cpu":
            _ = self.augmented

    @cached_property
    def _fetched(self) -> tuple[Tensor, Tensor]:
        return self._store.fetch(self._members)

    @cached_property
    def augmented(self) -> Augmented:
        return self._augmented(*self._store.take(self._fetched))


@dataclass(frozen=True, eq=False)
class PendingImages:
    """A batch of a group, before its images are on the device."""

    group: ImageGroup
    rows: range
    """Its rows in the group."""
    members: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.members)

    @property
    def count(self) -> int:
        return len(self.members)

    def part(self, rows: slice) -> "PendingImages":
        return PendingImages(self.group, self.rows[rows], self.members[rows])

    def to(self, device: torch.device) -> ImageBatch:
        """The images on the device of their store, which is the one that trains."""
        images, targets = self.group.augmented
        rows = slice(self.rows.start, self.rows.stop, self.rows.step)
        return ImageBatch(images[rows].clone(), targets[rows].clone(), self.members)


class ImageStream:
    """Shuffled batches of equally many images.

    Images that are left over at the end of an epoch are not used in it, since a compiled model needs one shape; the
    next epoch leaves out others. How a batch is augmented depends on the seed, the epoch and its number there alone.
    """

    uniform = True
    makers = 1

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
        """`group`: how many batches are augmented together."""
        self.store = store
        self.seed = seed
        self._members = np.concatenate(members)
        self._mixture = Mixture([len(each) for each in members], weights, seed)
        self._batch = batch
        self._classes = classes
        self._config = config
        self._group_size = group

    def epoch(self, epoch: int) -> Iterator[Planned[PendingImages]]:
        order = self._members[self._mixture.order(epoch)]
        count = max(1, len(order) // self._batch)
        for start in range(0, count, self._group_size):
            end = min(start + self._group_size, count)
            members = order[start * self._batch : end * self._batch]
            group = self._group(members, self._seed(epoch, start))
            for first in range(0, (end - start) * self._batch, self._batch):
                yield self._plan(group, members, first)

    def longest(self, batch_tokens: int) -> PendingImages:
        """A batch of this many images: all are equally large."""
        members = np.resize(self._members, max(1, batch_tokens))
        return PendingImages(self._group(members, 0), range(len(members)), members)

    def lines(self, batch: PendingImages | ImageBatch) -> list[str]:
        return [self.store.set.where(int(index)) for index in batch.members]

    def _plan(self, group: ImageGroup, members: NDArray[np.int64], first: int) -> Planned[PendingImages]:
        own = members[first : first + self._batch]
        whole = PendingImages(group, range(first, first + len(own)), own)

        def make(rows: slice) -> PendingImages:
            group.read()
            return whole.part(rows)

        return Planned(len(own), make)

    def _group(self, members: NDArray[np.int64], seed: int) -> ImageGroup:
        def augmented(images: Tensor, labels: Tensor) -> Augmented:
            generator = torch.Generator(self.store.device).manual_seed(seed)
            changed, targets = augment(images, labels, self._classes, self._config, generator)
            return Augmented(self.store.normalised(changed), targets)

        return ImageGroup(self.store, members, augmented)

    def _seed(self, epoch: int, number: int) -> int:
        """The seed of a group's augmentation."""
        return int(np.random.SeedSequence([self.seed, epoch, number]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def batches_per_group(store: Store, batch: int) -> int:
    """How many batches of this size to augment together: on a CPU, whose cache is small, one."""
    return max(1, TOGETHER // (batch * store.set.images[0].size)) if store.device.type == "cuda" else 1


def ordered_images(store: Store, members: NDArray[np.int64], batch: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Each image once, not augmented: images for the model, labels, and how many of the rows count.

    The last batch is filled up with the first images, so that all batches have one shape.
    """
    batch = min(batch, len(members))
    padded = np.resize(members, -(-len(members) // batch) * batch)
    for start in range(0, len(padded), batch):
        images, labels = store.take(store.fetch(padded[start : start + batch]))
        yield store.normalised(images), labels, min(batch, len(members) - start)
