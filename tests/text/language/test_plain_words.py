"""Words as evidence for a language."""

import time

import pytest

from headwise.text.language.plain_words import plain_language, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Guten MORGEN, Welt!", ["guten", "morgen", "welt"]),
        ("L’acqua, l'eau", ["l'", "acqua", "l'", "eau"]),
        ("é", ["é"]),  # NFD in the source
        ("आप कैसे हैं।", ["आप", "कैसे", "हैं"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("see https://example.com/hallo or www.x.de", ["see", "or"]),
        ("example.org/page tom@example.com @tom #love", []),
        ("<b>bold</b> {name} %s %(count)d &amp;", ["bold"]),
        ("4K COVID19 12 १२ 3.14 😀", []),
        ("The end.Next", ["the", "end", "next"]),
    ],
)
def test_only_what_belongs_to_a_language_is_a_word(text: str, found: list[str]) -> None:
    assert words(plain_language(text)) == found


def test_the_script_of_most_words_is_the_evidence() -> None:
    assert words("the word नमस्ते means hello") == ["the", "word", "means", "hello"]
    assert words("मुझे facebook पर add करो") == ["मुझे", "पर", "करो"]


@pytest.mark.parametrize("piece", ["a", "@", "a@", "a-", "a.", "<a", "1a", "%(", "{", "&a", "#", "'"])
def test_no_text_takes_quadratic_time(piece: str) -> None:
    start = time.process_time()
    words(plain_language(piece * (10_000 // len(piece))))
    assert time.process_time() - start < 0.5
