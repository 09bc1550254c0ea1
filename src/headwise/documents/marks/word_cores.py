"""Words of a text without the punctuation marks around them, and the marks that belong to what is in a pair."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from headwise.documents.flat_text import FlatText

_QUOTES = "\"'“”„‟‘’‚«»‹›「」『』"


def word_core(flat: FlatText, word: tuple[int, int]) -> tuple[int, int]:
    """A word without the punctuation marks around it; all of it if there is nothing else. Kept parts are whole."""
    start, end = word
    kept = [span for span in flat.spans if span.start < end and start < span.end]
    inside = [index for index in range(start, end) if is_meant(flat.text[index])]
    inside += [index for span in kept for index in (max(span.start, start), min(span.end, end) - 1)]
    return (min(inside), max(inside) + 1) if inside else word


def is_meant(character: str) -> bool:
    """Whether a character is more than punctuation: a letter, a digit, a sign of a currency or unit.

    Combining marks are parts of letters: the vowel signs of Hindi are such marks.
    """
    return character.isalnum() or character == "%" or unicodedata.category(character) in ("Sc", "So", "Mn", "Mc")


def reach(beside: str, inside: str) -> int:
    """The number of characters beside a word that belong to its pair: the source has their like inside the pair.

    A space counts if such a mark follows: French puts one before `!`.
    """
    wanted = [alike(character) for character in inside if not character.isspace()]
    reach = 0
    for place, character in enumerate(beside):
        if character.isspace() and place == reach:
            continue
        if alike(character) not in wanted:
            break
        wanted.remove(alike(character))
        reach = place + 1
    return reach


def alike(character: str) -> str:
    """One character for all that mean the same: quotes of all languages, full stops."""
    return '"' if character in _QUOTES else "." if character in "।。…" else character


def covered(words: Sequence[tuple[int, int]], start: int, end: int) -> range:
    """The words that have a character between two places."""
    first = bisect_right(words, start, key=lambda word: word[1])
    return range(first, max(first, bisect_left(words, end, key=lambda word: word[0])))


def is_kept(flat: FlatText, word: tuple[int, int]) -> bool:
    """Whether a word is a kept part, perhaps with punctuation marks around it."""
    start, end = word_core(flat, word)
    return any(span.start <= start and end <= span.end for span in flat.spans)
