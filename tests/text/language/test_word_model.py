"""The word model in the package."""

import math

import pytest

from headwise.text.language.word_model import FILE, trigrams, word_model


def test_it_is_small() -> None:
    assert FILE.stat().st_size < 400_000


def test_trigrams_frame_a_word() -> None:
    assert trigrams("an") == ["^^a", "^an", "an$"]


def test_it_knows_five_languages() -> None:
    assert word_model().languages == ("en", "de", "fr", "it", "hi")


@pytest.mark.parametrize(
    ("word", "language"), [("the", "en"), ("und", "de"), ("pomme", "fr"), ("perché", "it"), ("पानी", "hi")]
)
def test_a_listed_word_is_most_probable_in_its_language(word: str, language: str) -> None:
    scores = dict(zip(word_model().languages, word_model().word(word), strict=True))
    assert max(scores, key=lambda code: scores[code]) == language


def test_probabilities_are_finite_below_one_and_add_up_over_words() -> None:
    model = word_model()
    for word in ("the", "x" * 10_000, "привет", "a"):
        assert all(-math.inf < score < 0 for score in model.word(word))
    assert model.score(["the", "cat"], "en") == pytest.approx(model.word("the")[0] + model.word("cat")[0])


def test_letters_tell_an_unlisted_word() -> None:
    word = "aufgeschnittelter"
    scores = word_model().word(word)
    assert max(scores) == scores[word_model().languages.index("de")]


def test_other_scripts_cannot_be_spelt() -> None:
    assert word_model().can_spell("wort")
    assert word_model().can_spell("पानी")
    assert not word_model().can_spell("привет")


def test_known_words_are_evidence_and_foreign_ones_are_against_it() -> None:
    assert word_model().evidence(["hello"], "en") > 1
    assert word_model().evidence(["przepraszam"], "en") < -1
