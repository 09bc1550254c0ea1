"""The start of training where the user names none: the bundled model, or a new one; and always what the user says."""

from pathlib import Path
from typing import Any

import pytest

import headwise
from headwise.bundled import find
from headwise.errors import ConfigError
from headwise.files.tables import read_json
from headwise.models.folder.config_file import is_int8
from headwise.models.folder.load import convert, save_model
from headwise.train import chosen_start
from headwise.train.one_call import complete_recipe
from headwise.train.tuning import CHOSEN
from tests.commands import lines_file
from tests.taught import PAIRS, SOURCES, TARGETS, taught


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundled model that translates between English and German, in int8, with a card."""
    save_model(tmp_path / "whole", taught(both_directions=True))
    (tmp_path / "whole" / "README.md").write_text("# Small\n\n## Data\n\nfrom us, CC0-1.0\n\n```\n# code\n```\n")
    convert(tmp_path / "whole", tmp_path / "bundled", "headwise", precision="int8")
    monkeypatch.setattr(find, "FOLDER", tmp_path / "bundled")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "bundled"


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    return str(lines_file(tmp_path / "pairs.tsv", [f"{source}\t{target}" for source, target in PAIRS]))


def recipe_of(pairs: str, said: list[str] | None = None, **keywords: Any) -> Any:
    given: dict[str, Any] = {"pairs": pairs, "source": "en", "target": "de", "out": "run", **keywords}
    say = (lambda text: None) if said is None else said.append
    return complete_recipe(None, say, **given)


def test_the_bundled_model_for_a_few_pairs(bundled: Path, pairs: str) -> None:
    said: list[str] = []
    recipe = recipe_of(pairs, said)
    assert recipe.init == "bundled"
    assert recipe.model == taught(both_directions=True).config
    assert recipe.train.steps < 100
    assert recipe.tune.blend < 1
    few = f"since {len(PAIRS)} pairs are too few for a new one"
    assert said == [f"starting from the bundled model, {few}; --init none trains a new one"]


def test_both_directions(bundled: Path, pairs: str) -> None:
    assert recipe_of(pairs, both_directions=True).init == "bundled"


@pytest.mark.parametrize(
    "keywords",
    [
        {"init": "none"},
        {"preset": "tiny"},
        {"vocabulary": 300},
        {"settings": {"model.width": 64}},
        {"settings": {"text.kind": "bytes"}},
        {"settings": {"text.tags": "never"}},
    ],
)
def test_a_model_of_its_own_is_a_new_one(bundled: Path, pairs: str, keywords: dict[str, Any]) -> None:
    said: list[str] = []
    recipe = recipe_of(pairs, said, **keywords)
    assert recipe.init == ""
    assert (recipe.train.steps, recipe.train.batch_tokens, recipe.tune.blend) == (10_000, 4096, 1.0)
    assert not said


@pytest.mark.parametrize("key", ["model.dropout", "model.attention.dropout", "text.sampling"])
def test_what_a_trained_model_leaves_open_is_no_shape(bundled: Path, pairs: str, key: str) -> None:
    assert recipe_of(pairs, settings={key: 0.2}).init == "bundled"


@pytest.mark.parametrize("given", [{}, {"model": {"dropout": 0.2}}, {"train": {"steps": 7}}])
def test_recipes_start_as_they_always_did(bundled: Path, pairs: str, tmp_path: Path, given: dict[str, Any]) -> None:
    """From scratch, with the defaults of config.py, even where they name no shape."""
    recipe = complete_recipe({"data": {"train": [{"pairs": pairs}]}, **given}, source="en", target="de", out="run")
    assert recipe.init == ""
    assert recipe.train.steps == given.get("train", {}).get("steps", 10_000)
    assert recipe.model.preset == "small"
    tuned = complete_recipe({"data": {"train": [{"pairs": pairs}]}}, init=str(bundled), source="en", target="de")
    assert (tuned.train.steps, tuned.train.learning_rate, tuned.tune.blend) == (10_000, 5e-5, 1.0)


def test_other_languages(bundled: Path, pairs: str) -> None:
    said: list[str] = []
    assert recipe_of(pairs, said, target="fr").init == ""
    few = f"{len(PAIRS)} pairs are too few to learn that well, so give another with --init if you can"
    assert said == [f"training a new model: the bundled one does not translate en-fr; {few}"]
    assert recipe_of(pairs, said, source=None, target=None).init == ""
    assert said[1] == "training a new model: the bundled one needs the names of the languages, --from and --to"


def test_many_pairs(bundled: Path, pairs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen_start, "SMALL", len(PAIRS) - 1)
    said: list[str] = []
    recipe = recipe_of(pairs, said)
    assert (recipe.init, recipe.train.steps) == ("", 10_000)
    assert said == [
        f"training a new model: there are more than {len(PAIRS) - 1} pairs (--init bundled starts from the bundled one)"
    ]
    asked = recipe_of(pairs, init="bundled")
    assert (asked.init, asked.train.steps, asked.train.learning_rate) == ("bundled", 10_000, 5e-5)


def test_without_a_bundled_model(tmp_path: Path, pairs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "FOLDER", tmp_path / "nowhere")
    said: list[str] = []
    assert recipe_of(pairs, said).init == ""
    assert not said


def test_another_model_has_the_same_settings(bundled: Path, pairs: str, tmp_path: Path) -> None:
    chosen, named = recipe_of(pairs), recipe_of(pairs, init=tmp_path / "whole")
    assert chosen.train == named.train
    assert chosen.tune == named.tune


def test_what_is_given_wins(bundled: Path, pairs: str) -> None:
    settings = {"train.learning_rate": 0.5, "tune.blend": 1.0, "train.schedule": "inverse_sqrt", "train.patience": 9}
    recipe = recipe_of(pairs, steps=7, batch_tokens=99, settings=settings)
    assert (recipe.train.steps, recipe.train.batch_tokens, recipe.train.learning_rate) == (7, 99, 0.5)
    assert (recipe.train.schedule, recipe.train.patience, recipe.tune.blend) == ("inverse_sqrt", 9, 1.0)


def test_variants_of_a_language_are_the_language(bundled: Path, pairs: str) -> None:
    recipe = recipe_of(pairs, source="en-GB", target="de_AT", valid_pairs=pairs)
    assert recipe.init == "bundled"
    assert (recipe.data.source_language, recipe.data.target_language) == ("en", "de")
    own = {"data.train": [{"pairs": [pairs], "source_language": "de-CH", "target_language": "EN"}]}
    corpus = recipe_of(pairs, settings=own).data.train[0]
    assert (corpus.source_language, corpus.target_language) == ("de", "en")


def test_a_run_keeps_its_start_and_its_settings(bundled: Path, pairs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"pairs": pairs, "source": "en-GB", "target": "de", "out": "run", "device": "cpu"}
    first = headwise.train(**given, steps=3, say=lambda text: None)
    assert first.progress.step == 3
    stored = read_json(Path("run/recipe.json"))
    monkeypatch.setattr("headwise.train.tuning.LEARNING_RATE", 1.0)  # a later version of Headwise
    monkeypatch.setattr("headwise.train.chosen_start.SMALL", 0)
    again = complete_recipe(None, lambda text: None, **given)
    assert again.train.learning_rate == stored["train"]["learning_rate"]
    assert (again.init, again.train.steps) == ("bundled", 3)
    assert headwise.train(**given, steps=4, say=lambda text: None).progress.step == 4
    assert headwise.train(out="run", steps=5, say=lambda text: None).progress.step == 5
    with pytest.raises(ConfigError, match="init was bundled, is not given"):
        headwise.train(**given, init="none", preset="tiny", say=lambda text: None)


def test_a_new_model_that_was_begun_goes_on(bundled: Path, pairs: str) -> None:
    """As before there was a bundled model."""
    given: dict[str, Any] = {"pairs": pairs, "source": "en", "target": "de", "out": "run", "device": "cpu"}
    shape = {"model.width": 16, "model.layers": 1, "text.vocabulary": 320, "train.validate_bleu": False}
    headwise.train(**given, init="none", settings=shape, steps=1, say=lambda text: None)
    assert recipe_of(pairs).init == ""
    assert headwise.train(out="run", steps=2, say=lambda text: None).progress.step == 2


def test_a_whole_run(bundled: Path, pairs: str) -> None:
    """The result still knows both directions, is there in int8 too, and names the licences of its start."""
    said: list[str] = []
    outcome = headwise.train(pairs=pairs, source="en", target="de", out="run", device="cpu", say=said.append)
    assert outcome.how_to_ask == " --to de"
    translator = headwise.Translator("run", device="cpu")
    assert translator.translate(SOURCES[1], source="en", target="de").text == TARGETS[1]
    assert translator.translate(TARGETS[1], source="de", target="en").text == SOURCES[1]
    assert not is_int8("run")
    assert is_int8("run/int8")
    card = Path("run/README.md").read_text()
    assert card.startswith("# Translation model, en to de\n")
    assert "It started from the bundled model of Headwise" in card
    assert "\n#### Data\n\nfrom us, CC0-1.0\n\n```\n# code\n```\n" in card
    assert card.count("CC0-1.0") == 1
    assert "CC0-1.0" in Path("run/int8/README.md").read_text()
    assert set(CHOSEN) >= {"train.steps", "tune.blend"}
