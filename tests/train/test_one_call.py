"""`headwise.train`, and what its options make of a recipe."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import headwise
from headwise.cli import parser
from headwise.cli.train import run_keywords
from headwise.errors import ConfigError
from headwise.models.folder.load import CARD
from headwise.presets import DEFAULTS, PRESETS, resolve
from headwise.train.one_call import complete_recipe, recipe_path, run_tables, shipped_recipes
from tests.commands import lines_file
from tests.taught import PAIRS


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
    with pytest.raises(ConfigError, match=r"unknown key train\.stepz: did you mean train\.steps\?"):
        tables("--set", "train.stepz=3")
    with pytest.raises(ConfigError, match="--valid-source and --valid-target belong together"):
        tables("--pairs", "a.tsv", "--valid-source", "b")


def test_a_language_model_is_trained_as_such_unless_the_recipe_says_otherwise() -> None:
    assert resolve({"task": "causal_lm"}).train.label_smoothing == 0.0
    assert resolve({"task": "causal_lm", "train": {"label_smoothing": 0.2}}).train.label_smoothing == 0.2
    assert resolve({}).train.label_smoothing == 0.1


def test_one_call(tmp_path: Path) -> None:
    """From pairs to a model folder; the same call again has nothing to do, and more steps continue."""
    pairs = lines_file(tmp_path / "pairs.tsv", [f"{source}\t{target}" for source, target in PAIRS])
    small: dict[str, Any] = {
        "preset": "tiny",
        "device": "cpu",
        "vocabulary": 350,
        "noise": "usual",
        "settings": {"model.width": 16},
    }
    given: dict[str, Any] = {"pairs": pairs, "source": "en", "target": "de", "out": tmp_path / "run", **small}
    outcome = headwise.train(**given, steps=2, say=lambda text: None)
    assert outcome.folder == tmp_path / "run"
    assert "Noise in the training pairs: same 1%, lower 3%, upper 7%" in (tmp_path / "run" / CARD).read_text("utf-8")
    assert headwise.Translator(tmp_path / "run", device="cpu").directions == (("en", "de"),)
    assert headwise.train(out=tmp_path / "run", steps=3, say=lambda text: None).progress.step == 3


def test_pairs_are_given_as_files() -> None:
    with pytest.raises(ConfigError, match=r"named by their files, not \('one', 'eins'\)"):
        headwise.train(pairs=[("one", "eins")], source="en", target="de", out="run")  # type: ignore[list-item]


def test_a_whole_recipe_takes_no_keywords() -> None:
    recipe = complete_recipe(pairs="a.tsv", out="run")
    assert complete_recipe(recipe) is recipe
    with pytest.raises(ConfigError, match="takes no further keywords: leave out steps"):
        complete_recipe(recipe, steps=3)


def test_shipped_recipes_are_found_by_name() -> None:
    shipped = shipped_recipes()
    assert {"multi30k_en_de", "europarl_en_fr", "glue/sst2"} <= shipped.keys()
    for name in ("multi30k_en_de", "multi30k_en_de.toml", "recipes/multi30k_en_de.toml"):
        assert recipe_path(name).resolve() == shipped["multi30k_en_de"]
    recipe = complete_recipe("multi30k_en_de", out="run", settings={"data.folder": "/data"})
    assert (recipe.data.folder, recipe.out) == ("/data", "run")


def test_recipes_are_in_the_wheel() -> None:
    table = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    included = table["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {"recipes": "headwise/recipes"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("memory.tmx", "did you mean --pairs memory.tmx?"),
        ("pairs.tsv.gz", "did you mean --pairs pairs.tsv.gz?"),
        ("book.txt", "did you mean --text book.txt?"),
        ("pairs.jsonl", "did you mean --pairs pairs.jsonl, or --labelled pairs.jsonl?"),
        ("multi30k", "no such recipe; shipped recipes are: bert, "),
    ],
)
def test_what_is_no_recipe(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        recipe_path(name)


def test_a_misspelt_key_is_the_first_thing_to_say() -> None:
    with pytest.raises(ConfigError, match=r"train\.steps"):
        run_tables({"train": {"stepz": 3}}, {"out": "run"})
    with pytest.raises(ConfigError, match="no training data"):
        run_tables({"train": {"steps": 3}}, {"out": "run"})
