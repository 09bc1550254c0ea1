"""Words in a script that a text is not written in, which stay as they are."""

import pytest

from headwise.documents.foreign_words import keep_foreign
from headwise.documents.marked_text import MarkedText


@pytest.mark.parametrize(
    ("text", "languages", "kept"),
    [
        ("Peace is שָׁלוֹם.", "en", ["שָׁלוֹם"]),
        ("“Война и мир” and мир", "en", ["Война и мир", "мир"]),
        ("これは日本語の文章です。Please read it.", "en", ["これは日本語の文章です。"]),
        ("Die Tür in 東京 (Tokio)", "", ["東京"]),
        ("the word नमस्ते", "en", ["नमस्ते"]),
        ("for x ∈ ℝ", "en", ["ℝ"]),
        ("Привет, как дела?", "en", ["Привет, как дела"]),
        ("Привет, как дела?", "", []),
        ("मैं Microsoft में हूँ।", "hi", []),
        ("नमस्ते means hello", "hi", []),
        ("Это Microsoft и 東京", "ru", ["東京"]),
        ("Это Microsoft Office", "ru", []),
        ("मैं Microsoft Office में हूँ।", "", []),
        ("Peace is called שלום.", "", ["שלום"]),
        ("שלום, мир, शांति", "en hi", ["שלום, мир"]),
        ("Это Microsoft и 東京", "xx", ["東京"]),
        ("the angle α, 5 µm, 3 Ω, Πλάτων", "en", ["Πλάτων"]),
        ("Größe, naïve, œuvre, l’été, ﬁne", "en", []),
        ("👍🏽 ok", "en", []),
    ],
)
def test_words_of_other_scripts_are_kept(text: str, languages: str, kept: list[str]) -> None:
    found = keep_foreign(MarkedText([text]), languages.split())
    assert [part.text for part in found.kept] == kept
    assert found.text == text
