"""Text in capitals: when it is that, its normal case, and the way back."""

import pytest

from headwise.text.capitals import NormalCase, in_capitals, in_title_case
from headwise.text.tokenizer import Tokenizer
from tests.text.corpus import CORPUS, trained


@pytest.mark.parametrize(
    "text",
    ["HELLO WORLD", "OK", "NO SMOKING!", "I AM HERE.", "ÄPFEL, 3 KG", "VISIT https://example.org NOW", "HI {name}"],
)
def test_text_in_capitals(text: str) -> None:
    assert in_capitals(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello",
        "I",
        "A 4",
        "Hello WORLD",
        "NATO is here",
        "नमस्ते",
        "X-200",
        "123",
        "https://EXAMPLE.ORG/A",
        "HI नमस्ते",
    ],
)
def test_text_that_is_not_in_capitals(text: str) -> None:
    assert not in_capitals(text)


def test_words_are_written_as_the_tokenizer_knows_them() -> None:
    texts = [
        f"here in {town} is the {word} of NATO" for town in ("Berlin", "Rome", "Oslo") for word in ("camp", "ship")
    ]
    texts.append("hier liegt Brief hier")
    case = NormalCase(trained("unigram", CORPUS + texts * 100))
    assert case.of("THE CAMP IN BERLIN OF NATO. HERE IS THE SHIP!", nouns=False) == (
        "The camp in Berlin of NATO. Here is the ship!"
    )
    assert case.of("LIEGT HIER BRIEF?", nouns=True) == "Liegt hier Brief?"


def test_of_two_equally_short_forms_the_more_frequent_one_is_taken() -> None:
    texts = [f"{who} and I saw the EU {thing}" for who in ("you", "he") for thing in ("ship", "eu")]
    case = NormalCase(trained("unigram", CORPUS + texts * 100))
    assert case.of("THE SHIP AND I", nouns=False) == "The ship and I"
    assert case.of("SAW THE EU", nouns=False) == "Saw the EU"


def test_words_for_machines_stay_on_both_ways(subwords: Tokenizer) -> None:
    case = NormalCase(subwords)
    source = "THE OLD <b>SAILOR</b> REPAIRS {name}: https://example.org/Old"
    normal = case.of(source, nouns=False)
    assert normal == "The old <b>sailor</b> repairs {name}: https://example.org/Old"
    assert case.capitals(normal, source) == source
    assert case.capitals("Das Boot von {name}.", source) == "DAS BOOT VON {name}."
    assert case.capitals("Das Boot von {Name}.", source) == "DAS BOOT VON {name}."
    assert case.capitals("große Straße", "BIG STREET") == "GROSSE STRASSE"


def test_a_tokenizer_of_capitals_keeps_them() -> None:
    case = NormalCase(trained("unigram", [text.upper() for text in CORPUS]))
    assert case.of("THE OLD SAILOR REPAIRS A WOODEN BOAT.", nouns=False) == "THE OLD SAILOR REPAIRS A WOODEN BOAT."


def test_every_kind_of_tokenizer_keeps_the_letters(tokenizer: Tokenizer) -> None:
    text = "THE OLD SAILOR REPAIRS THE MACHINE! 窓 ספרים"
    assert NormalCase(tokenizer).of(text, nouns=True).upper() == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How to Install the New Printer Driver", True),
        ("Terms and Conditions of Use", True),
        ("The New York Times reported it", False),
        ("John Smith", False),
        ("Wir Fragen Alle Bürger.", False),
        ("Why Do Cats Sleep So Much?", True),
        ("HOW TO INSTALL THE DRIVER", False),
        ("how to install the driver", False),
        ("Öffentliche Ämter Und Räume", True),
        ("", False),
        ("Visit https://example.org Now Please", True),
    ],
)
def test_titles_are_recognised(text: str, expected: bool) -> None:
    assert in_title_case(text) == expected
