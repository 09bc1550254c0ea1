"""Glossaries as tables: columns by name or by place, and errors that name file and line."""

from pathlib import Path

import pytest

from headwise.decode.glossary.entry import SOURCE, TARGET
from headwise.decode.glossary.glossary import Glossary
from headwise.decode.glossary.term_table import read_csv, read_tsv, row_concept
from headwise.errors import DataError


def written(folder: Path, text: str, name: str = "terms.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_two_plain_columns(tmp_path: Path) -> None:
    [cat, keep] = read_tsv(written(tmp_path, "cat\tKater|Katze\n\nHeadwise\t\n"))
    assert (cat.terms, cat.keeps) == ({SOURCE: ("cat",), TARGET: ("Kater", "Katze")}, False)
    assert (keep.terms, keep.keeps) == ({SOURCE: ("Headwise",)}, True)
    assert keep.place.endswith("terms.tsv:3")


def test_named_columns_and_flags(tmp_path: Path) -> None:
    text = "Source\tTarget\tCase\tKeep\tNote\nPolish\tpolnisch\tyes\t\tthe language\nWord\t\t\tx\t\n"
    [polish, word] = read_tsv(written(tmp_path, text))
    assert (polish.case_sensitive, polish.keeps) == (True, False)
    assert (word.case_sensitive, word.keeps) == (False, True)


def test_columns_of_languages_and_commas(tmp_path: Path) -> None:
    [concept] = read_csv(written(tmp_path, 'en,de,fr\n"engine, jet",Triebwerk,\n', "terms.csv"))
    assert concept.terms == {"en": ("engine, jet",), "de": ("Triebwerk",)}


def test_a_first_line_of_terms_is_no_header(tmp_path: Path) -> None:
    assert len(read_tsv(written(tmp_path, "note\tNotiz\ncase\tFall\n"))) == 2


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a\tb\tc\n", 1, "3 columns, but 2 are expected"),
        ("cat\tKater\n\tHund\n", 2, "the source term is empty"),
        ("cat\t!\n", 1, "has no letters or digits"),
        ("cat\tKater|\n", 1, "has no letters or digits"),
        ("cat\tKater*\n", 1, "after source terms only"),
        ("source\ttarget\tcase\ncat\tKater\tmaybe\n", 2, "must be yes or no"),
        ("source\ttarget\tkeep\ncat\tKater\tyes\n", 2, "is not to be translated, but has a translation"),
        ("en\tde\ncat*\tKater\n", 2, "needs columns named source and target"),
        ("en\tde\tnote\n\t\tonly a note\n", 2, "a line without a term"),
        ("cat\tKater\nengine  Triebwerk\n", 2, "'engine  Triebwerk' is alone in its line: put a tab between"),
        ("engine\n", 1, "'engine' is alone in its line"),
        ("source\ttarget\tkeep\nengine\n", 2, "'engine' is alone in its line"),
        ("en\tde\nengine Triebwerk\n", 2, "'engine Triebwerk' is alone in its line"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DataError, match=problem) as caught:
        Glossary.read(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert "\n" not in str(caught.value)


def test_a_line_with_another_separator_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "cat,Kater\ndog;Hund\n", "terms.csv")
    with pytest.raises(DataError, match=r"terms.csv:2: 'dog;Hund' is alone in its line: put a comma"):
        Glossary.read(path)


def test_prose_is_no_glossary(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"prose.txt:1: 'The cat sees a dog.' is alone in its line"):
        Glossary.read(written(tmp_path, "The cat sees a dog.\nIt runs.\n", "prose.txt"))


def test_terms_may_be_alone_under_a_heading_without_translations(tmp_path: Path) -> None:
    found = read_tsv(written(tmp_path, "source\nHeadwise\nEt cetera\n"))
    assert [(each.terms[SOURCE], each.keeps) for each in found] == [(("Headwise",), True), (("Et cetera",), True)]


def test_a_row_from_python_has_the_same_rules() -> None:
    with pytest.raises(DataError, match="here: the source term is empty"):
        row_concept({SOURCE: " ", TARGET: "x"}, "here")
