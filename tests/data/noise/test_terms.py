"""Annotated terms: dictionary forms of what the target has, in no other place than behind their source words."""

import pytest

from headwise.data.noise.dice import Dice
from headwise.data.noise.letters import Texts
from headwise.data.noise.terms import MOST_TERMS, Terms, with_terms
from headwise.text.term_marks import MARK

TERMS = {"engines": ["Maschine", "Motor"], "old": ["alt"], "red": ["rot"], "house": ["Haus"], "quickly": ["schnell"]}
PAIR = ("He sells engines, quickly!", "Er verkauft Motoren, schnell!")


def made(texts: Texts, terms: Terms = TERMS) -> set[Texts]:
    return {with_terms(Dice(key), texts, terms) for key in range(50)}


def test_what_is_wanted_is_the_dictionary_form_of_what_the_target_has() -> None:
    assert {source for source, _ in made(PAIR)} == {
        f"He sells engines {MARK} Motor {MARK}, quickly!",
        f"He sells engines, quickly {MARK} schnell {MARK}!",
        f"He sells engines {MARK} Motor {MARK}, quickly {MARK} schnell {MARK}!",
    }
    assert {target for _, target in made(PAIR)} == {PAIR[1]}


def test_two_words_together_are_wanted_in_the_order_of_the_target() -> None:
    pair = ("A house red", "Ein rotes Haus")
    terms = {"house": ["Haus"], "red": ["rotes"]}
    assert f"A house red {MARK} rotes Haus {MARK}" in {source for source, _ in made(pair, terms)}


@pytest.mark.parametrize(
    "pair",
    [
        ("He sells engines!", "Er verkauft sie!"),
        ("engines", "Motoren und Motor"),
        (f"engines {MARK} x {MARK}", "Motoren"),
        ("He sells.", "Er verkauft."),
    ],
)
def test_pairs_without_sure_terms_stay(pair: Texts) -> None:
    assert made(pair) == {pair}


def test_only_so_many_words_are_annotated() -> None:
    words = [f"word{letter}" for letter in "abcdefgh"]
    terms = {word: [word[::-1]] for word in words}
    pair = " x ".join(words), " x ".join(word[::-1] for word in words)
    counts = {source.count(MARK) // 2 for source, _ in made(pair, terms)}
    assert counts == {*range(1, MOST_TERMS + 1)}
