"""Paths in recipes."""

from pathlib import Path

import pytest

from headwise.config import CorpusConfig, DataConfig
from headwise.data.read.corpus import corpus_paths
from headwise.data.read.paths import recipe_path
from headwise.data.read.text_files import text_paths


def test_a_name_is_relative_to_the_folder_unless_it_is_absolute_or_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert recipe_path("corpora", "a.tsv") == Path("corpora/a.tsv")
    assert recipe_path("corpora", "/a.tsv") == Path("/a.tsv")
    assert recipe_path("corpora", "~/a.tsv") == Path("/home/me/a.tsv")


def test_every_kind_of_data_may_be_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    data, name, path = DataConfig(folder="corpora"), ("~/a.tsv",), Path("/home/me/a.tsv")
    assert corpus_paths(CorpusConfig(pairs=name), data) == ([], [path])
    assert corpus_paths(CorpusConfig(source=name, target=name), data) == ([(path, path)], [])
    assert text_paths([CorpusConfig(text=name)], data) == [path]
