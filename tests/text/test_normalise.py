import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.text.normalise import normalise, normalise_all, tidied

ANY = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from(" \t\n\u00a0\u2009\u3000\u2028e\u0301\u0323가\u1100\u1161")
)


@given(ANY)
def test_is_nfc_with_single_spaces_and_none_at_the_ends(text: str) -> None:
    result = normalise(text)
    assert unicodedata.is_normalized("NFC", result)
    assert result.split() == [word for word in result.split(" ") if word]
    assert not any(character.isspace() and character != " " for character in result)
    assert "  " not in result
    assert result == result.strip()


@given(ANY)
def test_a_second_time_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(ANY)
def test_keeps_everything_but_spaces(text: str) -> None:
    assert "".join(normalise(text).split()) == "".join(unicodedata.normalize("NFC", text).split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  two\t\tspaces\r\n", "two spaces"),
        ("Preis:\u00a05\u202f€\u3000!", "Preis: 5 € !"),
        ("Zoe\u0308", "Zoë"),
        ("\u2028\x85\x0b", ""),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦", "می‌خواهم", "\u200eabc\u200f", "क्‍ष", "ﬁ", "ＡＢ", "zero\u200bwidth"])
def test_joiners_direction_marks_and_compatibility_forms_stay(text: str) -> None:
    assert normalise(text) == text


def test_the_result_can_be_written_as_utf8() -> None:
    assert normalise("half \ud83d pair") == "half \ufffd pair"
    assert normalise("whole \ud83d\ude00 pair") == "whole 😀 pair"


@given(st.lists(ANY | st.text(), max_size=6))
def test_many_at_once_are_as_one_by_one(texts: list[str]) -> None:
    assert normalise_all(texts) == [normalise(text) for text in texts]


def test_no_character_is_taken_for_plain_that_is_not() -> None:
    """Each character alone, after a letter, and after one that it might combine with."""
    for first in range(0, 0x110000, 4096):
        characters = [chr(code) for code in range(first, first + 4096)]
        for before in ("", "e", "\u1100", "\uac00", "\u304b"):
            texts = [f"{before}{character}" for character in characters]
            found, plain = tidied(texts)
            assert found == [normalise(text) for text in texts]
            assert all(text == new for text, new, same in zip(texts, found, plain, strict=True) if same)


def test_most_letters_of_living_languages_are_plain() -> None:
    texts = ["Straße, Ölüberzug: «ça va?»", "Привет, мир!", "你好，世界。", "안녕하세요", "שלום", "مرحبا", "Γειά σου"]
    assert tidied(texts)[1].all()
    assert not tidied(["two  spaces", " lead", "trail ", "no\u00a0break", "e\u0301", "bell\x07", "\ufffd", "\ud83d"])[
        1
    ].any()
