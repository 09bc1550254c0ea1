"""TBX glossaries of both layouts, and what is wrong with others."""

from pathlib import Path

import pytest

from headwise.decode.glossary.glossary import Glossary
from headwise.decode.glossary.tbx import read_tbx
from headwise.errors import DataError

OLD = """<?xml version="1.0"?>
<martif type="TBX"><text><body>
<termEntry id="1">
  <langSet xml:lang="en"><tig><term>lorry</term></tig>
    <tig><term>wain</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig></langSet>
  <langSet xml:lang="de"><ntig><termGrp><term>Last<hi>wagen</hi></term></termGrp></ntig></langSet>
</termEntry>
</body></text></martif>"""

NEW = """<tbx type="TBX-Core" xmlns="urn:iso:std:iso:30042:ed-2"><text><body>
<conceptEntry id="1">
  <langSec xml:lang="en"><termSec><term>lorry</term></termSec></langSec>
  <langSec xml:lang="de"><termSec><term>Lastwagen</term></termSec><termSec><term>Lkw</term></termSec></langSec>
</conceptEntry></body></text></tbx>"""

BOMB = """<?xml version="1.0"?>
<!DOCTYPE martif [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<martif><text>&b;</text></martif>"""


def written(folder: Path, text: str) -> Path:
    path = folder / "terms.tbx"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_older_layout(tmp_path: Path) -> None:
    [concept] = read_tbx(written(tmp_path, OLD))
    assert concept.terms == {"en": ("lorry",), "de": ("Lastwagen",)}
    assert concept.place.endswith("terms.tbx:3")


def test_the_newer_layout(tmp_path: Path) -> None:
    [entry] = Glossary.read(written(tmp_path, NEW)).index(("en", "de")).find("The lorry.")
    assert entry.requested == ("Lastwagen", "Lkw")


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        (OLD.replace("</termEntry>", ""), ":8", "not well-formed XML"),
        (OLD[:200], ":5", "not well-formed XML"),
        (BOMB, ":2", "declares the entity 'a'"),
        ("<html/>", "", "TBX begins with <martif> or <tbx>"),
        (OLD.replace(' xml:lang="de"', ""), ":6", "<langSet> has no xml:lang"),
        ("<?xml version='1.0' encoding='x-none'?><tbx/>", ":1", "encoding"),
        ("<tbx/>", "", "there are no terms in this file"),
        (OLD.replace(">lorry<", ">!<"), ":3", "has no letters or digits"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, place: str, problem: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DataError) as caught:
        Glossary.read(path)
    assert str(caught.value).startswith(f"{path}{place}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
