"""Language codes."""

import pytest

from headwise.text.language.codes import short_code
from headwise.text.published.language_codes import _MBART50, _NLLB


@pytest.mark.parametrize("code", ["de", "DE", "de-AT", "de_DE", "deu", "deu_Latn", "German", "deutsch"])
def test_all_codes_of_german_are_german(code: str) -> None:
    assert short_code(code) == "de"


def test_a_code_without_two_letters_stays() -> None:
    assert short_code("ace_Latn") == "ace"


def test_the_languages_of_published_models_are_known() -> None:
    """All of mBART's, and most of NLLB's 202."""
    from headwise.text.language.all_languages import ALL_LANGUAGES

    assert all(short_code(code) in ALL_LANGUAGES for code in _MBART50.split())
    assert sum(short_code(code) in ALL_LANGUAGES for code in _NLLB.split()) >= 120
