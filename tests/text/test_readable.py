"""Invisible characters and look-alikes in the form that a model has learnt."""

import pytest

from headwise.text.readable import ReadableForm
from tests.text.corpus import CORPUS, trained

LETTERS = ["Hello fine office, the geht's » is « at -5 — well"] * 20
FORM = ReadableForm(trained("unigram", CORPUS + LETTERS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("infor\u00admation\u200b", "information"),
        ("\ufeffHello\x00 \u200ethere\u200f", "Hello there"),
        ("a \u200b\u200b b", "a \u200b b"),
        ("ﬁne ofﬁce Ｈｅｌｌｏ 𝗛𝗲𝗹𝗹𝗼", "fine office Hello Hello"),
        ("geht´s, ‹Hello› at \u22125", "geht's, «Hello» at -5"),
        ("`Hello` ´ ½ ² ™ १ 👩\u200d🔬 क्\u200dष", "`Hello` ´ ½ ² ™ १ 👩\u200d🔬 क्\u200dष"),
        ("one\ttwo\r\n three", "one\ttwo\r\n three"),
    ],
)
def test_a_model_reads_what_a_reader_sees(text: str, expected: str) -> None:
    assert FORM.of(text) == expected
    assert len(FORM.of(text).split()) == len(text.split())


def test_what_the_model_knows_stays() -> None:
    text = "infor\u00admation ﬁne"
    assert ReadableForm(trained("unigram", [*CORPUS, *[text] * 20])).of(text) == text
    assert ReadableForm(trained("bytes", CORPUS)).of(text) == text
