"""Whether a translation has a term: as requested, inflected, or not at all."""

import pytest

from headwise.decode.glossary.entry import GlossaryEntry
from headwise.decode.glossary.rendering import (
    INFLECTED,
    MISSING,
    USED,
    is_rendered,
    missing_terms,
    term_uses,
)
from headwise.decode.glossary.term_index import FoundTerm


def term(*targets: str, case: bool = False) -> FoundTerm:
    return FoundTerm(GlossaryEntry("Term", targets, case), "Term", 0, 4)


@pytest.mark.parametrize(
    ("requested", "text", "status"),
    [
        (term("Kater"), "Der kater schläft.", USED),
        (term("Kater"), "Der Katerkampf.", MISSING),
        (term("Katze", "Kater"), "Der Kater.", USED),
        (term("fenêtre"), "Les fenêtres.", INFLECTED),
        (term("journal"), "Les journaux.", INFLECTED),
        (term("l'eau potable"), "De l’eau potable.", USED),
        (term("Apple", case=True), "Ein apple.", MISSING),
        (term("Zähler", case=True), "Den Zählern.", INFLECTED),
        (term("iOS", case=True), "Mit IOS und ios", MISSING),
        (term("wort", case=True), "„Wort zuerst“", USED),
        (term(), "Ein Term.", USED),
        (term(), "Ein term, Terme.", MISSING),
        (term("東京"), "私は東京に", USED),
        (term("a b"), "a", MISSING),
        (term("Kater"), "", MISSING),
    ],
)
def test_the_status_of_a_term(requested: FoundTerm, text: str, status: str) -> None:
    [use] = term_uses([requested], text)
    assert (use.source, use.requested, use.status) == ("Term", requested.requested, status)
    assert is_rendered(requested, text) == (status != MISSING)
    assert bool(missing_terms([requested], text)) == (status == MISSING)


def test_a_use_in_words() -> None:
    assert str(term_uses([term("a", "b")], "")[0]) == "Term -> a|b"
