"""The list of models that have a name."""

import json
from pathlib import Path

import pytest

from headwise.bundled import find
from headwise.model_list import list_models
from headwise.models.folder.load import convert, save_model
from tests.commands import Capture, ok
from tests.kinds import language_model
from tests.taught import taught

SCORES = {"test set en-de": {"pairs": 10, "bleu": 38.04, "chrf": 60.0}, "test set de-en": {"pairs": 10, "bleu": 46.26}}


@pytest.fixture
def named(small_bundled: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "named"
    save_model(folder / "mine", taught())
    (folder / "mine" / "scores.json").write_text(json.dumps(SCORES))
    (folder / "mine" / "checkpoints").mkdir()
    (folder / "mine" / "checkpoints" / "large").write_bytes(bytes(10_000_000))
    save_model(folder / "gpt", language_model())
    convert(folder / "gpt", folder / "published", "huggingface")
    (folder / "notes").mkdir()
    return folder


def test_what_is_listed(named: Path, small_bundled: Path) -> None:
    models = {model.name: model for model in list_models()}
    assert list(models) == ["bundled", "gpt", "mine", "published"]
    bundled = models["bundled"]
    assert (bundled.kind, bundled.precision, bundled.path) == ("translation", "int8", str(small_bundled))
    assert bundled.directions == "from any to any of en, de, fr, it, hi"
    assert {*bundled.languages} == {"en", "de", "fr", "it", "hi"}
    assert bundled.bytes == sum(file.stat().st_size for file in small_bundled.iterdir())
    assert bundled.scores == ""
    mine = models["mine"]
    assert (mine.directions, mine.languages, mine.precision) == ("en-de", ("en", "de"), "float32")
    assert mine.bleu == {"test set en-de": 38.04, "test set de-en": 46.26}
    assert mine.scores == "38.0 to 46.3 on 2 test sets"
    assert 0 < mine.bytes < 10_000_000, "checkpoints are not part of the model"
    assert (models["gpt"].kind, models["gpt"].directions) == ("causal_lm", "")
    assert models["published"].kind == json.loads((named / "published" / "config.json").read_text())["model_type"]
    assert not any(model.problem for model in models.values())


def test_the_table(named: Path, capsys: Capture) -> None:
    plain = ok(capsys, "models")
    lines = plain.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["name", "bundled", "gpt", "mine", "published"]
    assert "en-de" in lines[3]
    assert lines[3].endswith("float32  38.0 to 46.3 on 2 test sets")
    assert lines[5] == f"your models folder: {named}"
    assert str(named / "mine") not in plain
    assert str(named / "mine") in ok(capsys, "models", "--paths")


def test_json_has_it_all(named: Path, capsys: Capture) -> None:
    records = [json.loads(line) for line in ok(capsys, "models", "--json").splitlines()]
    assert [each["name"] for each in records] == [model.name for model in list_models()]
    assert records[2]["bleu"] == {"test set en-de": 38.04, "test set de-en": 46.26}
    assert records[2]["path"] == str(named / "mine")


def test_damaged_and_missing_models_do_not_hide_the_others(
    named: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (named / "mine" / "scores.json").write_text('{"test set": 3}')
    config = json.loads((named / "gpt" / "config.json").read_text())
    (named / "gpt" / "config.json").write_text(json.dumps({**config, "format": 99}))
    monkeypatch.setattr(find, "FOLDER", named / "missing")
    problems = {model.name: model.problem for model in list_models() if model.problem}
    assert problems.keys() == {"bundled", "gpt", "mine"}
    assert "no bundled model" in problems["bundled"]
    assert "newer Headwise" in problems["gpt"]
    assert "scores.json" in problems["mine"]
    table = ok(capsys, "models")
    assert "(not installed)" in table
    assert table.count("(damaged or unknown: see `headwise info ") == 2


def test_no_models_folder(small_bundled: Path, capsys: Capture, tmp_path: Path) -> None:
    assert [model.name for model in list_models()] == ["bundled"]
    assert ok(capsys, "models").endswith(f"your models folder: {tmp_path / 'named'}\n")
