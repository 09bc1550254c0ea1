"""Words that stay as they are, and those that a translation lost."""

import pytest

from headwise.decode.repair.kept_words import KeptWords, lost_words
from tests.text.corpus import CORPUS, trained

LATIN = [text for text in CORPUS if max(text) < "\u0370"]
KEPT = KeptWords(trained("unigram", LATIN, 300))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("the old sailor", []),
        ("Она живёт в Москве now", ["Она живёт в Москве"]),
        ("in 東京 and 大阪", ["東京", "大阪"]),
        ("she said שָׁלוֹם!", ["שָׁלוֹם"]),
        ("5 Ω, the angle α, ½", []),
        ("👍🏽 ok, a café", []),
        ("run `ls -la` in /usr/local/bin", ["`ls -la`", "/usr/local/bin"]),
        (r"open C:\Temp\x.txt, match \d+.", [r"C:\Temp\x.txt", r"\d+"]),
        ("see https://example.org/a?b=c. Or ask me@example.org!", ["https://example.org/a?b=c", "me@example.org"]),
        ("and/or, 1/2, 12/05/2024, @home", []),
    ],
)
def test_words_for_machines_and_of_unknown_scripts_are_kept(text: str, kept: list[str]) -> None:
    assert KEPT.of(text) == kept


def test_scripts_that_the_model_knows_are_not_kept() -> None:
    known = KeptWords(trained("unigram", [*LATIN, "Она живёт в Москве"], 350))
    assert known.of("Москва и 東京") == ["東京"]
    assert KEPT.of("Москва и 東京", scripts=False) == []


def test_a_tokenizer_of_bytes_knows_all() -> None:
    assert KeptWords(trained("bytes", CORPUS)).of("Москва") == []


def test_words_are_counted() -> None:
    assert lost_words(["東京", "東京", "мир"], "東京 мир") == ["東京"]
    assert lost_words([], "") == []
