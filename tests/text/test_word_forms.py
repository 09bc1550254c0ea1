"""Whether two words are forms of one, by their letters."""

import pytest

from headwise.text.word_forms import folded, is_form_of, word_in


@pytest.mark.parametrize(
    ("one", "two"),
    [("Zähler", "Zahlern"), ("nationale", "nationaux"), ("house", "houses"), ("X", "x"), ("किताब", "किताबें")],
)
def test_forms_of_one_word(one: str, two: str) -> None:
    assert is_form_of(one, two)
    assert is_form_of(two, one)


@pytest.mark.parametrize(
    ("one", "two"), [("cat", "car"), ("direction", "directeur"), ("1985", "1986"), ("cat", "cats"), ("", "x")]
)
def test_other_words(one: str, two: str) -> None:
    assert not is_form_of(one, two)
    assert not is_form_of(two, one)


def test_case_and_apostrophes_make_no_difference() -> None:
    assert folded("STRASSE") == folded("straße")
    assert folded("l'eau") == folded("L’EAU")


@pytest.mark.parametrize(
    ("token", "word"),
    [
        ("„Haus“,", "Haus"),
        ("है।", "है"),
        ("well-known", "well-known"),
        ("1994", ""),
        ("l'homme", ""),
        ("http://example.org", ""),
        ("--", ""),
        ("", ""),
    ],
)
def test_a_word_is_letters_without_the_punctuation_around_them(token: str, word: str) -> None:
    assert word_in(token) == word


def test_the_cache_does_not_grow_with_the_corpus() -> None:
    assert word_in.cache_info().maxsize is not None
