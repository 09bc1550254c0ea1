"""Where a model of pictures looks."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from headwise.cli import main
from headwise.config import ModelConfig
from headwise.errors import ConfigError, DataError
from headwise.inspect.attention_capture import capture_text
from headwise.inspect.image_attention import LOOKERS, capture_image, rollout
from headwise.inspect.image_picture import draw_over_image
from headwise.models.build import build
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.models.folder.load import save_model
from headwise.recipe import model_config, replaced

SHAPE = model_config(
    {
        "family": "vision",
        "width": 16,
        "attention.heads": 2,
        "feed_forward.hidden": 32,
        "layers": 3,
        "patches.image_size": 16,
        "patches.patch_size": 4,
        "patches.channels": 3,
        "positions.kind": "learned",
        "dropout": 0.0,
        "norm.order": "pre",
        "classes": 2,
    }
)


def model(shape: ModelConfig = SHAPE) -> LoadedModel:
    mean = (0.4,) * shape.image_patches.channels
    task = Task(kind="images", labels=("cat", "$dog"), image_mean=mean, image_std=(0.3,) * shape.image_patches.channels)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        return LoadedModel(build(shape, 0, 0).eval(), Description(shape, None, task))


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "cat.png"
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    return path


@pytest.mark.parametrize("pooling", LOOKERS)
@pytest.mark.parametrize("channels", [1, 3])
def test_the_maps_are_what_the_model_captures(pooling: str, channels: int, picture: Path) -> None:
    loaded = model(replaced(SHAPE, {"pooling.kind": pooling, "patches.channels": channels}))
    maps = capture_image(loaded, picture, "cpu")
    assert maps.pixels.shape == (channels, 16, 16)
    images = ((maps.pixels.float() / 255 - 0.4) / 0.3)[None]
    captured = torch.cat(loaded.model.body.encode(images, capture=True).self_weights)
    torch.testing.assert_close(maps.looks, LOOKERS[pooling][1](captured))
    assert maps.looks.shape == (3, 2, 1 + 16)
    for weights in (maps.looks, maps.rollout):
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert maps.text.startswith(("cat (", "$dog ("))


def test_without_a_classifier_the_class_token_looks(picture: Path) -> None:
    maps = capture_image(model(replaced(SHAPE, {"classes": None, "pooling.kind": "mean"})), picture, "cpu")
    assert "class token" in maps.looker
    assert maps.text == ""


def test_rollout_of_layers_that_do_not_look_around_stays_in_place() -> None:
    still = torch.eye(5).expand(3, 2, 5, 5)
    torch.testing.assert_close(rollout(still), torch.eye(5))


def test_rollout_by_hand() -> None:
    first, second = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([[0.5, 0.5], [0.0, 1.0]])
    by_hand = (0.5 * second + 0.5 * torch.eye(2)) @ (0.5 * first + 0.5 * torch.eye(2))
    torch.testing.assert_close(rollout(torch.stack((first, second))[:, None]), by_hand)


def test_patches_lie_where_they_are_in_the_picture(picture: Path) -> None:
    maps = capture_image(model(), picture, "cpu")
    over = maps.over_image(torch.arange(17.0))
    assert over[0].tolist() == [1, 2, 3, 4]
    assert over[:, 0].tolist() == [1, 5, 9, 13]


@pytest.mark.parametrize("layer", [None, 1])
def test_the_picture_is_not_blank(layer: int | None, picture: Path, tmp_path: Path) -> None:
    """Each part of the page shows something, and another layer's heads look different."""
    maps = capture_image(model(), picture, "cpu")
    draw_over_image(maps, tmp_path / "looks.png", layer)
    with Image.open(tmp_path / "looks.png") as image:
        pixels = np.array(image.convert("L")).astype(float)
    for part in np.array_split(pixels[:, : pixels.shape[1] // 4], 6):
        assert part.std() > 10
    other = tmp_path / "other.png"
    draw_over_image(maps, other, 2)
    assert other.read_bytes() != (tmp_path / "looks.png").read_bytes()
    draw_over_image(maps, tmp_path / "looks.svg", layer)


def test_the_command(picture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = tmp_path / "vit", tmp_path / "looks.json"
    save_model(folder, model())
    start = ["inspect", "--model", str(folder), "--image", str(picture), "--device", "cpu"]
    assert main([*start, "--out", str(out)]) == 0
    table = json.loads(out.read_text())
    assert table["image"] == str(picture)
    assert table["grid"] == [4, 4]
    assert np.array(table["encoder"]).shape == (3, 2, 17)
    assert len(table["rollout"]) == 17
    assert main([*start, "--out", str(tmp_path / "looks.png"), "--layer", "2"]) == 0
    wrong = {
        "choose another file": ["--out", str(picture)],
        "no cross attention": ["--out", str(out), "--kind", "cross"],
        "1 to 3": ["--out", str(tmp_path / "a.png"), "--layer", "4"],
        "--target does not apply": ["--out", str(out), "--target", "x"],
        "give either TEXT": ["--out", str(out), "a text"],
    }
    for message, options in wrong.items():
        capsys.readouterr()
        assert main([*start, *options]) != 0
        assert message in capsys.readouterr().err
    assert main(["inspect", "--model", str(folder), "a text", "--out", str(out)]) != 0
    assert "classifies images" in capsys.readouterr().err


def test_what_cannot_be_looked_at_is_said(picture: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="classifies images"):
        capture_text(model(), "a text", device="cpu")
    with pytest.raises(DataError, match=r"no\.png"):
        capture_image(model(), tmp_path / "no.png", "cpu")
    with pytest.raises(ConfigError, match="LSTMs"):
        capture_image(model(dataclasses.replace(SHAPE, stack="lstm")), picture, "cpu")
    described = dataclasses.replace(model().description, task=Task(kind="images", labels=("a", "b")))
    without = LoadedModel(model().model, described)
    with pytest.raises(ConfigError, match="lacks the mean"):
        capture_image(without, picture, "cpu")
