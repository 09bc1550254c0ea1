"""What the options of `headwise train` make of a recipe."""

from typing import Any

import pytest

from headwise.cli import parser
from headwise.cli.train import run_keywords
from headwise.errors import ConfigError
from headwise.presets import DEFAULTS, PRESETS, resolve
from headwise.train.one_call import run_tables


def tables(*options: str) -> dict[str, Any]:
    args = parser().parse_args(["train", "--out", "run", *options])
    return run_tables(args.recipe, run_keywords(args))


@pytest.mark.parametrize(
    ("options", "task", "corpus"),
    [
        (["--pairs", "a.tsv"], "translation", {"pairs": ["a.tsv"]}),
        (["--source", "a", "--target", "b"], "translation", {"source": ["a"], "target": ["b"]}),
        (["--text", "a.txt", "b.txt"], "causal_lm", {"text": ["a.txt", "b.txt"]}),
        (["--text", "a.txt", "--task", "masked_lm"], "masked_lm", {"text": ["a.txt"]}),
        (["--labelled", "a.tsv"], "classify", {"labelled": ["a.tsv"]}),
        (["--images", "pictures"], "images", {"images": ["pictures"]}),
    ],
)
def test_the_data_say_what_is_trained(options: list[str], task: str, corpus: dict[str, list[str]]) -> None:
    found = tables(*options)
    assert found["task"] == task
    assert found["data"]["train"] == [corpus]
    assert resolve(found).model.preset == DEFAULTS[task]


def test_every_task_has_a_preset() -> None:
    assert set(DEFAULTS.values()) <= PRESETS.keys()


def test_a_model_to_start_from() -> None:
    assert tables("--pairs", "a.tsv", "--init", "folder")["init"] == "folder"


def test_validation_data_of_every_kind() -> None:
    found = tables("--text", "a.txt", "--valid-text", "b.txt")
    assert found["data"]["valid"] == [{"text": ["b.txt"]}]


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ConfigError, match="no training data"):
        tables()
    with pytest.raises(ConfigError, match="--valid-source and --valid-target belong together"):
        tables("--pairs", "a.tsv", "--valid-source", "b")


def test_a_language_model_is_trained_as_such_unless_the_recipe_says_otherwise() -> None:
    assert resolve({"task": "causal_lm"}).train.label_smoothing == 0.0
    assert resolve({"task": "causal_lm", "train": {"label_smoothing": 0.2}}).train.label_smoothing == 0.2
    assert resolve({}).train.label_smoothing == 0.1
