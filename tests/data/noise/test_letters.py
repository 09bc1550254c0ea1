"""Case, punctuation, typos and hyphens: sane in every script, and consistent where both sides change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.data.noise.dice import Dice
from headwise.data.noise.letters import hyphenated, lower, title, typos, unpunctuated, upper

EN_DE, EN_HI, HI_EN = ("en", "de"), ("en", "hi"), ("hi", "en")
HINDI = "आप कैसे हैं?"


def test_the_source_alone_loses_its_capitals() -> None:
    assert lower(Dice(0), ("Hello World!", "Hallo Welt!"), EN_DE) == ("hello world!", "Hallo Welt!")
    assert lower(Dice(0), ("İKİ ISI", "Two"), ("tr", "en")) == ("iki ısı", "Two")
    assert lower(Dice(0), (HINDI, "How?"), HI_EN) == (HINDI, "How?")


def test_some_typists_leave_out_accents_but_not_vowels_of_hindi() -> None:
    texts = ("Ça été où naïf Größe", "Ziel")
    assert ("Ca ete ou naif Große", "Ziel") in {typos(Dice(key), texts, ("fr", "de")) for key in range(50)}
    typed = {typos(Dice(key), (HINDI, "How?"), HI_EN)[0] for key in range(50)}
    assert all(abs(len(each) - len(HINDI)) <= 1 for each in typed)


def test_both_sides_are_in_capitals() -> None:
    assert upper(Dice(0), ("The street.", "Die Straße."), EN_DE) == ("THE STREET.", "DIE STRASSE.")
    assert upper(Dice(0), ("istanbul", "ısı"), ("tr-TR", "tr")) == ("İSTANBUL", "ISI")


def test_initials_are_capitals_and_the_rest_stays() -> None:
    texts = ("don't (go) to McDonald's", "geh nicht „zu“ ihm")
    assert title(Dice(0), texts, EN_DE) == ("Don't (Go) To McDonald's", "Geh Nicht „Zu“ Ihm")


@pytest.mark.parametrize("change", [upper, title])
def test_a_source_without_case_changes_nothing_and_a_target_without_case_stays(change: object) -> None:
    assert callable(change)
    assert change(Dice(0), (HINDI, "How are you?"), HI_EN) == (HINDI, "How are you?")
    source, target = change(Dice(0), ("How are you?", HINDI), EN_HI)
    assert target == HINDI
    assert source in ("HOW ARE YOU?", "How Are You?")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("How are you?", HINDI), ("How are you", "आप कैसे हैं")),
        (("He came.", "वह आया।"), ("He came", "वह आया")),
        (("Vraiment ?!", "Really?"), ("Vraiment", "Really")),
        (("Wait...", "Warte…"), ("Wait", "Warte")),
        (("No stop", "Kein Punkt."), ("No stop", "Kein Punkt.")),
        (("A stop.", "Kein Punkt"), ("A stop", "Kein Punkt")),
        (("...", "…"), ("...", "…")),
        (("He said “yes.”", "Er sagte „ja“."), ("He said “yes.”", "Er sagte „ja“.")),
    ],
)
def test_final_punctuation_is_dropped_from_both_sides(texts: tuple[str, str], expected: tuple[str, str]) -> None:
    assert unpunctuated(Dice(0), texts, EN_HI) == expected


@given(key=st.integers(0, 2**64 - 1))
def test_typos_are_small_and_in_words_of_the_source(key: int) -> None:
    source, target = typos(Dice(key), ("I bought 1234 apples at http://example.org", "Ziel"), EN_DE)
    words = source.split(" ")
    assert target == "Ziel"
    assert [words[i] for i in (0, 2, 4, 5)] == ["I", "1234", "at", "http://example.org"]
    for typed, meant in ((words[1], "bought"), (words[3], "apples")):
        assert typed[0] == meant[0]
        assert abs(len(typed) - len(meant)) <= 1
    assert source != "I bought 1234 apples at http://example.org"


@given(key=st.integers(0, 2**64 - 1), text=st.text(max_size=60), language=st.sampled_from(["en", "de", "fr", "hi", ""]))
def test_any_text_can_have_typos(key: int, text: str, language: str) -> None:
    assert typos(Dice(key), (text, "Ziel"), (language, "de"))[1] == "Ziel"
    broken, _ = hyphenated(Dice(key), (text, "Ziel"), (language, "de"))
    assert broken.replace("- ", "") == text.replace("- ", "")


def test_a_long_word_is_divided_as_at_the_end_of_a_line() -> None:
    source, target = hyphenated(Dice(1), ("a translation", "eine Übersetzung"), EN_DE)
    assert source.startswith("a tra")
    assert source.replace("- ", "") == "a translation"
    assert "- " in source
    assert target == "eine Übersetzung"
    assert hyphenated(Dice(1), ("no long word", "kein"), EN_DE) == ("no long word", "kein")


def test_a_key_decides_all() -> None:
    drawn = [Dice(key).bits() for key in (0, 0, 1, 2**64 - 1)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3
    dice = Dice(7)
    assert {dice.below(3) for _ in range(100)} == {0, 1, 2}
