"""Words and characters that terms are compared by."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headwise.decode.glossary.units import folded_units, units


@given(st.text("aé \t\u0301'’東京-_1. "))
def test_units_cover_all_but_white_space_in_order(text: str) -> None:
    listed = units(text)
    assert all(text[unit.start : unit.end] == unit.text for unit in listed)
    assert all(one.end <= other.start for one, other in pairwise(listed))
    covered = {place for unit in listed for place in range(unit.start, unit.end)}
    assert all(text[place].isspace() for place in range(len(text)) if place not in covered)


def test_words_characters_and_punctuation() -> None:
    assert folded_units("L’eau, 東京!") == ("l", "'", "eau", ",", "東", "京", "!")
    assert folded_units("नमस्ते") == ("नमस्ते",)
    assert [unit.is_word for unit in units("a - 1")] == [True, False, True]


def test_case_and_apostrophes_make_no_difference() -> None:
    assert folded_units("STRASSE") == folded_units("straße")
    assert folded_units("l'eau") == folded_units("L’EAU")
