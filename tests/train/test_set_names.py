"""A set has one name, wherever it is named, and no two sets share one."""

import pytest

from headwise.config import DataConfig
from headwise.recipe import from_tables
from headwise.train.set_names import test_set_names as names_of_tests
from headwise.train.set_names import validation_set_name, validation_set_names


def data(*test: dict[str, object], **more: object) -> DataConfig:
    return from_tables(DataConfig, {"test": list(test), **more})


def test_one_set_needs_no_other_name() -> None:
    assert names_of_tests(data({"pairs": ["a/news.tsv"]})) == ["test set"]


@pytest.mark.parametrize(
    ("sets", "names"),
    [
        ([{"pairs": ["news.tsv"]}, {"pairs": ["talks.tsv"]}], ["news.tsv", "talks.tsv"]),
        (
            [{"source": ["test.en"], "target": ["test.de"]}, {"source": ["test.en"], "target": ["test.fr"]}],
            ["test.en, test.de", "test.en, test.fr"],
        ),
        (
            [
                {"pairs": ["x.tmx"], "source_language": "en", "target_language": "de"},
                {"pairs": ["x.tmx"], "source_language": "en", "target_language": "fr"},
            ],
            ["x.tmx en-de", "x.tmx en-fr"],
        ),
        ([{"text": ["2014/test.txt"]}, {"text": ["2015/test.txt"]}], ["2014/test.txt", "2015/test.txt"]),
        ([{"labelled": ["dev.tsv"]}, {"labelled": ["dev.tsv"]}], ["dev.tsv 1", "dev.tsv 2"]),
    ],
    ids=["files", "targets", "languages", "folders", "nothing"],
)
def test_sets_are_named_by_what_tells_them_apart(sets: list[dict[str, object]], names: list[str]) -> None:
    assert names_of_tests(data(*sets)) == names


def test_a_validation_set_has_its_direction_where_there_are_several() -> None:
    assert validation_set_names([("en", "de")]) == ["validation set"]
    assert validation_set_names([("en", "de"), ("de", "en")]) == ["validation set en-de", "validation set de-en"]
    both = data(valid=[{"pairs": ["x.tsv"]}], both_directions=True, source_language="en", target_language="de")
    assert validation_set_name(("en", "de"), both) == "validation set en-de"
    one = data(valid=[{"pairs": ["x.tsv"]}, {"pairs": ["y.tsv"]}])
    assert validation_set_name(("", ""), one) == "validation set"
