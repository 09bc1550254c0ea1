"""Means of weights."""

from pathlib import Path

import pytest
import torch

from headwise.config import TextConfig
from headwise.errors import CheckpointError
from headwise.models.build import build
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.models.folder.load import load, save_model
from headwise.models.folder.run_layout import load_weights
from headwise.text.kinds import train_tokenizer
from headwise.train.checkpoint.average import average_checkpoints
from headwise.train.step.averages import MovingAverage, mean_weights, swapped
from tests.shapes import random_model, small
from tests.train.small_runs import TINY, tiny_model, weights


def model_folder(folder: Path, kind: str = "bytes", **changes: object) -> LoadedModel:
    tokenizer = train_tokenizer(TextConfig(kind=kind, vocabulary=300), ["a b c", "d e"], [])
    config = small(**{**TINY, **changes})
    loaded = LoadedModel(
        build(config, tokenizer.size, tokenizer.pad), Description(config, tokenizer, Task((("en", "de"),)))
    )
    save_model(folder, loaded)
    return loaded


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
def test_the_mean_of_equal_sets_is_the_set(count: int) -> None:
    one = {
        name: tensor * 10 ** torch.empty_like(tensor).uniform_(-20, 20)
        for name, tensor in weights(tiny_model()).items()
    }
    mean = mean_weights([one] * count)
    assert mean.keys() == one.keys()
    assert all(torch.equal(mean[name], tensor) and mean[name].dtype == tensor.dtype for name, tensor in one.items())


def test_the_mean_of_two_is_half_of_both() -> None:
    one, other = weights(tiny_model()), weights(tiny_model())
    mean = mean_weights([one, other])
    for name in one:
        assert torch.equal(mean[name], ((one[name].double() + other[name].double()) / 2).float())


def test_the_order_of_checkpoints_does_not_matter() -> None:
    many = [weights(tiny_model()) for _ in range(3)]
    for one, other in zip(mean_weights(many).values(), mean_weights(many[::-1]).values(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=0)


@pytest.mark.parametrize("changes", [{"width": 32}, {"layers": 2}, {"bias": False}])
def test_different_models_have_no_mean(changes: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="different models"):
        mean_weights([weights(tiny_model()), weights(tiny_model(**changes))])


def test_an_average_is_a_model_that_loads(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    models = [model_folder(folder) for folder in folders]
    average_checkpoints(folders, tmp_path / "mean")
    loaded = load(tmp_path / "mean")
    expected = mean_weights([weights(each.model) for each in models])
    assert all(torch.equal(expected[name], tensor) for name, tensor in weights(loaded.model).items())
    assert loaded.config == models[0].config
    assert loaded.task == models[0].task
    assert loaded.tokenizer == models[0].tokenizer


def test_an_average_has_a_card(tmp_path: Path) -> None:
    run = tmp_path / "run"
    folders = [run / "checkpoints" / name for name in ("step-00000002", "step-00000004")]
    for folder in folders:
        model_folder(folder)
    data = "| file | part | pairs | licence | SHA-256 |\n| a.tsv | train | 3 | CC0-1.0 | `12` |"
    (run / "README.md").write_text(f"# Title\n\n## Scores\n\nBLEU 99\n\n## Data\n\n{data}\n\n## Training\n\nlong\n")
    average_checkpoints(folders, tmp_path / "mean")
    card = (tmp_path / "mean" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# Mean of 2 checkpoints\n")
    for fact in (*map(str, folders), data, f"From the card of {run}:", "million parameters"):
        assert card.count(fact) == 1, fact
    assert "headwise translate --model ." in card
    assert "BLEU 99" not in card, "that is not its score"
    assert "long" not in card
    (run / "README.md").unlink()
    average_checkpoints(folders, tmp_path / "again")
    assert f"{run} has no card" in (tmp_path / "again" / "README.md").read_text(encoding="utf-8")


def test_the_average_of_one_model_is_that_model(tmp_path: Path) -> None:
    model_folder(tmp_path / "one")
    average_checkpoints([tmp_path / "one"] * 3, tmp_path / "mean")
    one, mean = load_weights(tmp_path / "one"), load_weights(tmp_path / "mean")
    assert all(torch.equal(mean[name], tensor) for name, tensor in one.items())


@pytest.mark.parametrize(
    "other",
    [{"width": 32}, {"layers": 2}, {"attention.heads": 4}, {"norm.order": "pre"}, {"kind": "characters"}],
    ids=str,
)
def test_models_that_do_not_belong_together_are_not_averaged(tmp_path: Path, other: dict[str, object]) -> None:
    """Not even where their weights have the same shapes."""
    model_folder(tmp_path / "one")
    model_folder(tmp_path / "two", **other)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match=r"two: .*different models"):
        average_checkpoints([tmp_path / "one", tmp_path / "two"], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_a_model_is_not_overwritten_by_an_average(tmp_path: Path) -> None:
    model_folder(tmp_path / "one")
    model_folder(tmp_path / "two")
    before = (tmp_path / "two" / "model.safetensors").read_bytes()
    with pytest.raises(CheckpointError, match="holds a model already"):
        average_checkpoints([tmp_path / "one"], tmp_path / "two")
    assert (tmp_path / "two" / "model.safetensors").read_bytes() == before


def test_weights_are_swapped_for_a_while() -> None:
    model, other = tiny_model(), weights(tiny_model())
    own = weights(model)
    with swapped(model, other):
        assert all(torch.equal(weights(model)[name], tensor) for name, tensor in other.items())
    assert all(torch.equal(weights(model)[name], tensor) for name, tensor in own.items())
    with pytest.raises(ZeroDivisionError), swapped(model, other):
        raise ZeroDivisionError
    assert all(torch.equal(weights(model)[name], tensor) for name, tensor in own.items())
    with swapped(model, None):
        assert all(torch.equal(weights(model)[name], tensor) for name, tensor in own.items())


def test_a_moving_average_begins_with_the_weights_and_is_not_them() -> None:
    model = random_model(small(**TINY))
    average = MovingAverage(model, 0.5)
    first = weights(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    assert all(torch.equal(average.weights[name], tensor) for name, tensor in first.items())
    average.update(model, 1000, torch.tensor(True))
    for name, tensor in first.items():
        torch.testing.assert_close(average.weights[name], tensor + 0.5)
