"""An output folder belongs to one recipe and one set of data; a refusal says in words what differs."""

from pathlib import Path

import pytest

from headwise.data.prepare.parallel_text import PairPreparation
from headwise.errors import ConfigError
from headwise.train.run import train
from headwise.train.run_folder import differences
from tests.train.small_runs import run_recipe, silent, write_corpus


def test_differences_are_words_and_name_files() -> None:
    def words(before: dict[str, object], now: dict[str, object]) -> list[str]:
        return [change for _, change in differences(before, now, "data.")]

    corpus, other = {"pairs": ["a.tsv"], "weight": 1.0}, {"pairs": ["b.tsv"], "weight": 1.0}
    assert words({"train": [corpus]}, {"train": [corpus, other]}) == ["data.train now has b.tsv"]
    assert words({"train": [corpus, other]}, {"train": [corpus]}) == ["data.train no longer has b.tsv"]
    assert words({"train": [corpus, other]}, {"train": [other, corpus]}) == [
        "data.train[0].pairs no longer has a.tsv and now has b.tsv",
        "data.train[1].pairs no longer has b.tsv and now has a.tsv",
    ]
    assert words({"cache": ""}, {"cache": "x"}) == ["data.cache was not given, is x"]
    assert words({"lossless": True}, {"lossless": False}) == ["data.lossless was true, is false"]
    assert words({"a": [1, 2]}, {"a": [1, 2]}) == []


def test_more_pairs_are_refused_with_a_way_to_use_them(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    run = tmp_path / "run"
    train(run_recipe(corpus, run, {"train.steps": 1}), silent)
    more = tmp_path / "more.tsv"
    more.write_text("a new pair\tanother side\n")
    settings = {"train.steps": 2, "data.train": [{"pairs": [str(corpus), str(more)], "licence": "CC0-1.0"}]}
    with pytest.raises(ConfigError) as refused:
        train(run_recipe(corpus, run, settings), silent)
    assert f"now has {more}" in str(refused.value)
    assert f"--init {run} --out" in str(refused.value)
    assert "{" not in str(refused.value)


def test_changed_files_are_refused_before_anything_is_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_corpus(tmp_path)
    run = tmp_path / "run"
    recipe = run_recipe(corpus, run, {"train.steps": 1, "data.cache": ""})
    train(recipe, silent)
    prepared = sorted(path.name for path in (run / "data").iterdir())
    with corpus.open("a") as file:
        file.write("a new pair\tanother side\n")
    monkeypatch.setattr(PairPreparation, "prepare", lambda *_: pytest.fail("the data was prepared"))
    with pytest.raises(ConfigError) as refused:
        train(recipe, silent)
    assert f"{corpus} has changed" in str(refused.value)
    assert f"--init {run} --out" in str(refused.value)
    assert sorted(path.name for path in (run / "data").iterdir()) == prepared
    corpus.unlink()
    with pytest.raises(ConfigError, match=r"pairs.tsv is no longer there"):
        train(recipe, silent)
