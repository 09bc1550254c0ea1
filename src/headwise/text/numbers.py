"""Numbers in texts: runs of digits, and whether a translation has those of its source.

Digits of all scripts count as the same: १२ is 12.
"""

from __future__ import annotations

import re
from collections import Counter

from headwise.text.language.digit_words import has_word_for

_DIGIT = re.compile(r"\d")
_RUN = re.compile(r"\d+")
_SEPARATOR = re.compile(r"(?<=\d)[.,'’\u00a0\u202f\u2009 ](?=\d)")
NUMBER = re.compile(r"\d+(?:(?:[.,:/'’\u00a0\u202f\u2009-]|(?<!\d\d\d\d) (?=\d{3}(?!\d)))\d+)*")
"""A number as it is written: digits with separators of any kind, also those of dates, times and versions. A space
separates thousands only."""


def has_digits(text: str) -> bool:
    """Whether the text has a digit."""
    return _DIGIT.search(text) is not None


def ascii_digits(text: str) -> str:
    """The text with ASCII digits, each in its place."""
    if text.isascii():
        return text
    return _DIGIT.sub(lambda found: str(int(found[0])), text)


def digit_runs(text: str) -> Counter[str]:
    """The runs of digits of a text with their counts."""
    return Counter(_RUN.findall(ascii_digits(text)))


def missing_runs(source: str, translation: str, language: str = "") -> list[str]:
    """The runs of digits of a source that its translation does not have as often.

    Separators may differ: 1,234.5 may become 1 234,5 or 1234.5. A number that is a single digit may become a word of
    the `language` of the translation.
    """
    missing = digit_runs(source) - digit_runs(translation)
    if not missing:
        return []
    if not _joined(source) - _joined(translation):
        return []
    for digit in [run for run in missing if len(run) == 1 and _is_number(run, source)]:
        if has_word_for(digit, translation, language):
            del missing[digit]
    return sorted(missing.elements())


def surplus_runs(source: str, translation: str) -> list[str]:
    """The runs of two or more digits that a translation has and its source does not.

    A source without digits may have numbers in words, so nothing is surplus there.
    """
    if not has_digits(source) or not _joined(translation) - _joined(source):
        return []
    surplus = digit_runs(translation) - digit_runs(source)
    return sorted(run for run in surplus.elements() if len(run) > 1)


def _joined(text: str) -> Counter[str]:
    """The runs of digits once the separators between them are left out."""
    return digit_runs(_SEPARATOR.sub("", text))


def _is_number(digit: str, text: str) -> bool:
    """Whether this digit is a whole number of the text, not a part of one."""
    return digit in NUMBER.findall(ascii_digits(text))
