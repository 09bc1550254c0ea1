"""Numbers in texts, and whether they survive translation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.text.numbers import (
    NUMBER,
    ascii_digits,
    digit_runs,
    has_digits,
    lost_afternoons,
    missing_runs,
    surplus_runs,
    with_24_hours,
)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("1,234.50 euros", "1.234,50 Euro"),
        ("1,234.50 euros", "1 234,50 euros"),
        ("1,234 people", "1234 Leute"),
        ("10 000 personnes", "10000 people"),
        ("at 10:30", "um 10.30 Uhr"),
        ("12 months", "१२ महीने"),
        ("१२ महीने", "12 months"),
        ("no numbers", "keine"),
        ("two of 12", "2 von 12"),
        ("I have 2 dogs", "Ich habe zwei Hunde"),
        ("3 times a day", "dreimal täglich"),
        ("in the 20th century", "im XX. Jahrhundert"),
        ("the 21st-century American", "l'Américain du XXIe siècle"),
        ("at 3 p.m.", "um 15 Uhr"),
        ("at 2.15pm", "um 14:15 Uhr"),
    ],
)
def test_what_survives(source: str, translation: str) -> None:
    assert missing_runs(source, translation, "de") == []


@pytest.mark.parametrize(
    ("source", "translation", "missing"),
    [
        ("at 21:00", "um 21 Uhr", ["00"]),
        ("12 and 12", "12", ["12"]),
        ("in 1985", "1895", ["1985"]),
        ("id 123456", "123 456 7", ["123456"]),
        ("version 2.5", "Version zwei", ["2", "5"]),
        ("12 months", "zwölf Monate", ["12"]),
        ("20 people", "XXL Leute", ["20"]),
        ("at 3 am", "um 15 Uhr", ["3"]),
        ("2.5 at 3 pm", "5 um 14", ["2", "3"]),
        ("I have 2 dogs", "Ich habe drei Hunde", ["2"]),
    ],
)
def test_what_is_missing(source: str, translation: str, missing: list[str]) -> None:
    assert missing_runs(source, translation, "de") == missing


def test_a_digit_may_become_a_word_in_a_language_that_is_known() -> None:
    for language, text in {"en": "two", "fr": "deux", "it": "due", "hi": "दो"}.items():
        assert not missing_runs("2", text, language)
        assert missing_runs("3", text, language)
    assert missing_runs("2", "två", "sv") == ["2"]


def test_times_after_noon_stay_after_noon() -> None:
    assert lost_afternoons("at 3 pm", "um 3 Uhr", "de") == 1
    assert lost_afternoons("at 5:30 p.m. or 6 PM", "à 17 h 30", "fr") == 1
    assert lost_afternoons("at 3 pm", "um 3 Uhr nachmittags", "de") == 0
    assert lost_afternoons("at 3 pm", "alle 3pm", "it") == 0
    assert lost_afternoons("at 3 pm", "at 3", "en") == 0
    assert lost_afternoons("at 12 pm, 3 am", "um 12, 3 Uhr", "de") == 0
    assert surplus_runs("at 3 pm", "um 15:00 Uhr") == []
    assert surplus_runs("at 3 am", "um 15:00 Uhr") == ["15"]


def test_times_with_24_hours() -> None:
    assert with_24_hours("at 3 pm on 5 May", "um 3 Uhr am 5. Mai") == "um 15 Uhr am 5. Mai"
    assert with_24_hours("from 1:30 p.m. to 4PM", "de 1 h 30 à 4 heures") == "de 13 h 30 à 16 heures"
    for source in ("3 dogs at 3 pm", "1-3 pm", "at 3 am", "13 pm", "3 pmol"):
        assert with_24_hours(source, "um 3 Uhr") == "um 3 Uhr"


def test_surplus_numbers() -> None:
    assert surplus_runs("in 1985", "en 1985 ou 1986") == ["1986"]
    assert surplus_runs("in 1985", "en 1985, 1985") == ["1985"]
    assert surplus_runs("twelve months", "12 mois") == []
    assert surplus_runs("1,234", "1234") == []


@given(st.text())
def test_a_text_has_its_own_numbers(text: str) -> None:
    assert missing_runs(text, text) == surplus_runs(text, text) == []
    assert has_digits(text) == bool(digit_runs(text)) == bool(NUMBER.search(text))
    assert len(ascii_digits(text)) == len(text)


def test_numbers_as_they_are_written() -> None:
    text = "On 2024-11-05 at 10:30, 1 234 567 of 12.5 % in 1990 paid 1,299.99 for v2.14.3 (03/04)"
    assert NUMBER.findall(text) == ["2024-11-05", "10:30", "1 234 567", "12.5", "1990", "1,299.99", "2.14.3", "03/04"]
