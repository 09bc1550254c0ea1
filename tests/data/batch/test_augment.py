"""What random changes keep: shapes, the range of pixels, sums of targets, and what was drawn before."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torch import Tensor

from headwise.config import ImageConfig
from headwise.data.batch.augment import augment, beta, crop_and_flip, erase, mirrored, mix, normalise
from headwise.data.batch.rand_augment import GEOMETRIC, OPERATIONS, auto_contrast, equalised, operate, random_operations

ALL = ImageConfig(crop=2, flip=True, random_augment=3, magnitude=20, erase=0.5, mixup=0.8, cutmix=1.0)
STRENGTHLESS = ("auto_contrast", "equalise")


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some_images(count: int = 64, channels: int = 3, height: int = 12, width: int = 12) -> Tensor:
    return torch.randint(0, 256, (count, channels, height, width), generator=generator(9), dtype=torch.uint8)


def some_labels(count: int = 64) -> Tensor:
    return torch.arange(count) % 5


@pytest.mark.parametrize("shape", [(64, 3, 12, 12), (64, 1, 12, 12), (64, 3, 10, 14)])
def test_shape_and_range_are_kept(shape: tuple[int, int, int, int]) -> None:
    images, targets = augment(some_images(*shape), some_labels(), 5, ALL, generator())
    assert images.shape == shape
    assert images.dtype == torch.float32
    assert images.min() >= 0
    assert images.max() <= 255.001
    assert targets.shape == (64, 5)
    assert torch.allclose(targets.sum(1), torch.ones(64))
    assert (targets >= 0).all()


def test_the_generator_decides() -> None:
    first = augment(some_images(), some_labels(), 5, ALL, generator(1))
    torch.rand(3)  # the global state has no say
    again = augment(some_images(), some_labels(), 5, ALL, generator(1))
    other = augment(some_images(), some_labels(), 5, ALL, generator(2))
    assert torch.equal(first.images, again.images)
    assert torch.equal(first.targets, again.targets)
    assert not torch.equal(first.images, other.images)


def test_nothing_asked_for_is_nothing_done() -> None:
    images, targets = augment(some_images(), some_labels(), 5, ImageConfig(crop=0, flip=False), generator())
    assert torch.equal(images, some_images().float())
    assert torch.equal(targets.argmax(1), some_labels())


def test_half_of_the_images_are_flipped() -> None:
    images = some_images(400)
    flipped = crop_and_flip(images, 0, True, generator())
    same = (flipped == images).flatten(1).all(1)
    turned = (flipped == images.flip(3)).flatten(1).all(1)
    assert (same ^ turned).all()
    assert 150 < turned.sum() < 250


def test_a_flip_of_a_flip_is_the_image() -> None:
    images = some_images()
    once = crop_and_flip(images, 0, True, generator())
    assert torch.equal(crop_and_flip(once, 0, True, generator()), images)


def test_crops_are_windows_of_the_mirrored_image() -> None:
    images = some_images(200)
    cropped = crop_and_flip(images, 2, False, generator())
    padded = torch.nn.functional.pad(images.float(), (2, 2, 2, 2), mode="reflect").byte()
    seen = set()
    for whole, part in zip(padded, cropped, strict=True):
        matches = [
            (row, column)
            for row in range(5)
            for column in range(5)
            if torch.equal(whole[:, row : row + 12, column : column + 12], part)
        ]
        assert len(matches) == 1
        seen |= set(matches)
    assert len(seen) == 25, "every place is possible"


def test_mirrored_places_lie_inside() -> None:
    assert mirrored(torch.arange(-3, 8), 5).tolist() == [3, 2, 1, 0, 1, 2, 3, 4, 3, 2, 1]


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in STRENGTHLESS])
def test_operations_without_strength_change_nothing(name: str) -> None:
    images = some_images(8).float()
    operation = torch.full((8,), OPERATIONS.index(name))
    for sign in (1.0, -1.0):
        changed = operate(images, operation, torch.zeros(8), torch.full((8,), sign))
        assert torch.allclose(changed, images, atol=1e-3)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "identity"])
def test_operations_of_full_strength_change_something(name: str) -> None:
    images = (some_images(8).float() / 2 + 20).round()
    changed = operate(images, torch.full((8,), OPERATIONS.index(name)), torch.ones(8), -torch.ones(8))
    assert (changed - images).abs().amax((1, 2, 3)).min() > 3


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_image_does_not_depend_on_its_neighbours(name: str) -> None:
    """Each image draws its own operation, and all of them are computed together."""
    images = some_images(14).float()
    strength, sign = torch.rand(14, generator=generator()), torch.tensor([1.0, -1.0] * 7)
    together = operate(images, torch.arange(14), strength, sign)
    at = OPERATIONS.index(name)
    alone = operate(images[at : at + 1], torch.tensor([at]), strength[at : at + 1], sign[at : at + 1])
    assert torch.allclose(together[at], alone[0], atol=1e-3)


def test_geometry_moves_what_is_there() -> None:
    """A dot in the middle stays there under rotation and shear, and moves along one axis under a shift."""
    images = torch.zeros(len(GEOMETRIC), 1, 21, 21)
    images[:, :, 10, 10] = 255
    operations = torch.tensor([OPERATIONS.index(name) for name in GEOMETRIC])
    moved = operate(images, operations, torch.full((5,), 0.5), torch.ones(5))[:, 0]
    places = dict(zip(GEOMETRIC, [divmod(int(each.argmax()), 21) for each in moved], strict=True))
    assert places["rotate"] == places["shear_x"] == places["shear_y"] == (10, 10)
    assert places["translate_x"][0] == 10 != places["translate_x"][1]
    assert places["translate_y"][1] == 10 != places["translate_y"][0]


def test_auto_contrast_and_equalisation_do_as_pillow_does() -> None:
    pixels = np.random.default_rng(1).normal(110, 25, (256, 256, 3)).clip(30, 200).astype(np.uint8)
    picture, images = Image.fromarray(pixels), torch.from_numpy(pixels.transpose(2, 0, 1).copy())[None].float()
    for ours, theirs in (
        (auto_contrast(images), ImageOps.autocontrast(picture)),
        (equalised(images), ImageOps.equalize(picture)),
    ):
        expected = torch.from_numpy(np.asarray(theirs).transpose(2, 0, 1).copy()).float()
        assert (ours[0] - expected).abs().max() <= 2


def test_images_of_one_colour_survive() -> None:
    images = torch.full((14, 3, 8, 8), 77.0)
    changed = operate(images, torch.arange(14), torch.zeros(14), torch.ones(14))
    assert torch.allclose(changed, images, atol=1e-3)


def test_all_operations_are_drawn() -> None:
    images = some_images(500).float()
    changed = random_operations(images, 15.0, generator())
    untouched = (changed == images).flatten(1).all(1).sum()
    assert 10 < untouched < 120, "identity is one of fourteen"


def test_erasing_leaves_the_rest() -> None:
    images = torch.full((300, 3, 16, 16), -1.0)
    erased = erase(images, 0.5, generator())
    touched = (erased != images).any(1)
    share = touched.float().mean((1, 2))
    assert 100 < (share > 0).sum() < 200
    assert share.max() < 0.4
    for mask in touched[share > 0]:
        rows, columns = mask.any(1), mask.any(0)
        assert torch.equal(mask, rows[:, None] & columns[None]), "a rectangle"


@pytest.mark.parametrize(("mixup", "cutmix"), [(0.4, 0.0), (0.0, 1.0), (0.4, 1.0)])
def test_targets_are_mixed_as_the_images_are(mixup: float, cutmix: float) -> None:
    """Images that are all of one value, their class's: the mean of the mixed image says what is in it."""
    labels = torch.arange(50) % 2
    images = (labels * 200.0)[:, None, None, None].expand(50, 3, 16, 16)
    targets = torch.nn.functional.one_hot(labels, 2).float()
    for seed in range(6):
        mixed = mix(images, targets, mixup, cutmix, generator(seed))
        assert torch.allclose(mixed.targets.sum(1), torch.ones(50))
        assert torch.allclose(mixed.images.mean((1, 2, 3)) / 200, mixed.targets[:, 1], atol=1e-4)


def test_beta_draws_have_their_mean_and_variance() -> None:
    for alpha in (0.2, 1.0, 4.0):
        draws = beta(alpha, 20_000, generator(), torch.device("cpu"))
        assert draws.min() >= 0
        assert draws.max() <= 1
        assert draws.mean().item() == pytest.approx(0.5, abs=0.02)
        assert draws.var().item() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.05)


def test_normalised_images_have_mean_0_and_deviation_1() -> None:
    images = some_images(500)
    flat = images.float().transpose(0, 1).flatten(1) / 255
    result = normalise(images, flat.mean(1), flat.std(1), 3, 12)
    assert result.mean((0, 2, 3)).abs().max() < 1e-5
    assert (result.std((0, 2, 3)) - 1).abs().max() < 1e-3


def test_grey_and_small_images_serve_a_larger_model() -> None:
    images = some_images(4, channels=1)
    result = normalise(images, torch.zeros(3), torch.ones(3), 3, 24)
    assert result.shape == (4, 3, 24, 24)
    assert torch.equal(result[:, 0], result[:, 2])


def test_a_crop_larger_than_the_image_is_refused() -> None:
    with pytest.raises(ValueError, match="below the size of the images, 12"):
        crop_and_flip(some_images(), 12, False, generator())
