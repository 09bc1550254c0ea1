"""Terms in a text: whole words, the longest first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.decode.glossary.entry import GlossaryEntry
from headwise.decode.glossary.term_index import TermIndex
from headwise.decode.glossary.units import folded_units, units
from headwise.errors import DataError

WORDS = st.sampled_from(["cat", "Cat", "cats", "the", "eau", "l'eau", "東", "京", "x-ray", "ray"])
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
TERMS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


def index(*terms: str, case: bool = False) -> TermIndex:
    return TermIndex([GlossaryEntry(term, (f"<{number}>",), case) for number, term in enumerate(terms)])


def found(terms: TermIndex, text: str) -> list[str]:
    return [term.text for term in terms.find(text)]


@given(TEXTS, st.lists(TERMS, max_size=5, unique_by=folded_units))
def test_terms_are_whole_words_and_the_longest(text: str, terms: list[str]) -> None:
    starts = {unit.start: number for number, unit in enumerate(units(text))}
    ends = {unit.end: number for number, unit in enumerate(units(text))}
    plain, last = folded_units(text), 0
    for term in index(*terms).find(text):
        assert text[term.start : term.end] == term.text
        assert term.start in starts
        assert term.end in ends
        assert term.start >= last
        last = term.end
        first, length = starts[term.start], ends[term.end] - starts[term.start] + 1
        fitting = [key for key in map(folded_units, terms) if plain[first : first + len(key)] == key]
        assert length == max(map(len, fitting))


@given(TEXTS, TERMS)
def test_a_term_is_found_where_its_words_are(text: str, term: str) -> None:
    plain, key = folded_units(text), folded_units(term)
    there = any(plain[place : place + len(key)] == key for place in range(len(plain)))
    assert bool(index(term).find(text)) == there


def test_part_of_a_word_is_no_term() -> None:
    assert found(index("cat"), "cats concatenate a CAT, and cat.") == ["CAT", "cat"]


def test_an_open_end() -> None:
    assert found(index("small cat*"), "small cats and Small cat, small ca") == ["small cats", "Small cat"]
    assert found(index("cat*", "catalogue"), "cats catalogue") == ["cats", "catalogue"]
    assert index("cat*", "catalogue").find("catalogue")[0].requested == ("<1>",)


def test_case_sensitive_terms() -> None:
    assert found(index("Polish", case=True), "polish Polish POLISH") == ["Polish"]
    both = TermIndex([GlossaryEntry("Polish", ("polnisch",), True), GlossaryEntry("polish", ("Politur",))])
    assert [term.requested for term in both.find("Polish polish")] == [("polnisch",), ("Politur",)]


def test_an_open_end_and_case() -> None:
    terms = TermIndex([GlossaryEntry("Cat*", ("Kater",), True)])
    assert found(terms, "cats Cats") == ["Cats"]


def test_what_is_kept_is_requested_as_it_is_written() -> None:
    [term] = TermIndex([GlossaryEntry("headwise", ())]).find("HeadWise!")
    assert term.requested == ("HeadWise",)


@pytest.mark.parametrize(
    ("targets", "problem"),
    [((("a",), ("b",)), "write both in one line as a|b"), ((("a",), ()), "to be kept in another")],
)
def test_a_contradiction_names_both_places(targets: tuple[tuple[str, ...], ...], problem: str) -> None:
    entries = [GlossaryEntry("cat", each, place=f"t:{number}") for number, each in enumerate(targets, 1)]
    with pytest.raises(DataError, match=r"^t:2: .*t:1") as caught:
        TermIndex(entries)
    assert problem in str(caught.value)


def test_the_same_twice_is_no_contradiction() -> None:
    assert len(TermIndex([GlossaryEntry("cat", ("a", "b")), GlossaryEntry("Cat", ("b", "a"))])) == 1
