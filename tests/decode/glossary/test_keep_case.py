"""Titles in normal case keep the terms whose case matters."""

from headwise.decode.glossary.glossary import Glossary
from headwise.decode.glossary.keep_case import keep_case

DIRECTION = ("en", "de")
TITLE, NORMAL = "The Small Fish Of Headwise", "The small fish of headwise"


def test_kept_terms_have_the_case_of_the_title() -> None:
    glossary = Glossary({"headwise": "", "fish": "Fisch"})
    assert keep_case(NORMAL, TITLE, glossary, DIRECTION) == "The small fish of Headwise"


def test_without_terms_nothing_changes() -> None:
    assert keep_case(NORMAL, TITLE, None, DIRECTION) == NORMAL
    assert keep_case(NORMAL, TITLE, Glossary({"dog": ""}), DIRECTION) == NORMAL
    assert keep_case("longer than that", "short", Glossary({"short": ""}), DIRECTION) == "longer than that"
