"""Glossaries from files and from Python."""

from pathlib import Path

import pytest

from headwise import Glossary
from headwise.errors import DataError


def test_terms_from_python() -> None:
    glossary = Glossary({"cat": "Kater", "dog": ["Hund", "Köter"], "fish|trout": "Fisch", "Headwise": ""})
    found = glossary.index(("en", "de")).find("A cat, a dog, a trout, Headwise")
    assert [term.requested for term in found] == [("Kater",), ("Hund", "Köter"), ("Fisch",), ("Headwise",)]
    assert (len(glossary), repr(glossary)) == (4, "Glossary(4 terms)")


def test_the_digest_is_that_of_the_terms(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("cat\tKater\n")
    moved = tmp_path / "moved.csv"
    moved.write_text("\ncat,Kater\n")
    assert Glossary.read(path).digest == Glossary.read(moved).digest == Glossary({"cat": "Kater"}).digest
    others = [Glossary({"cat": "Katze"}), Glossary({"cats": "Kater"}), Glossary({"cat": ""})]
    assert len({Glossary.read(path).digest, *(other.digest for other in others)}) == 4


def test_several_files(tmp_path: Path) -> None:
    one, two, bad = (tmp_path / name for name in ("one.tsv", "two.csv", "bad.tsv"))
    one.write_text("cat\tKater\n")
    two.write_text("dog,Hund\n")
    bad.write_text("dog\tHund\nCat\tKatze\n")
    assert len(Glossary.read(one, two)) == 2
    with pytest.raises(DataError, match=r"bad.tsv:2: 'Cat' is 'Katze' here, but 'Kater' in .*one.tsv:1"):
        Glossary.read(one, bad)


def test_a_contradiction_between_languages_is_found_with_the_direction(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("en\tde\tfr\ncat\tKater\tchat\ncat\tKatze\tchat\n")
    glossary = Glossary.read(path)
    glossary.check(("en", "fr"))
    with pytest.raises(DataError, match=r"terms.tsv:3: .*terms.tsv:2"):
        glossary.check(("en", "de"))
    with pytest.raises(DataError, match=r"terms.tsv: no terms from en to it; the languages are de, en, fr"):
        glossary.check(("en", "it"))


@pytest.mark.parametrize("name", ["terms.docx", "terms", "empty.tsv", "missing.tsv"])
def test_a_file_without_terms_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name != "missing.tsv":
        path.write_text("")
    with pytest.raises(DataError, match=name):
        Glossary.read(path)
