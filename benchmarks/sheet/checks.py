"""Checks of the test sheet: properties that every good translation of a text has.

Each check has a name and sometimes a value, `name:value`, and gets the source, the translation and the target language.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher

from headwise.text.language.detect import detect
from headwise.text.sentences import split

Check = Callable[[str, str, str, str], bool]
"""Source, translation, target language, value -> whether the translation passes."""

LANGUAGES = ("en", "de", "fr", "it", "hi")
DIGITS = re.compile(r"\d+")
SEPARATOR = re.compile(r"(?<=\d)[.,'’\u00a0\u202f\u2009 ](?=\d)")
MARKUP = re.compile(r"<[^>]*>|[$%]?\{[^}]*\}|%(?:\d\$)?[sd]|\S+@\S+|https?://\S+")
QUESTION_MARKS = "?？؟"


def digit_runs(text: str) -> Counter[str]:
    """The maximal runs of digits, as ASCII digits, with their counts."""
    return Counter("".join(str(unicodedata.decimal(c)) for c in run) for run in DIGITS.findall(text))


def lost_digits(source: str, translation: str) -> list[str]:
    """Runs of digits of the source that the translation does not have as often.

    Separators between digits may differ: what is lost with separators, but not without them, is not lost. So 1,234.5
    may become 1.234,5 or 1234,5, and 10 000 may become 10000.
    """
    lost = digit_runs(source) - digit_runs(translation)
    joined = digit_runs(SEPARATOR.sub("", source)) - digit_runs(SEPARATOR.sub("", translation))
    return sorted((lost if joined else joined).elements())


def keeps_text(source: str, translation: str, language: str, value: str) -> bool:
    """`keep:TEXT`: the text is in the translation, as often as in the source."""
    return translation.count(value) >= max(1, source.count(value))


def keeps_digits(source: str, translation: str, language: str, value: str) -> bool:
    """`digits`, `digits:0.9`: all runs of digits, or that share of them, are in the translation."""
    lost = len(lost_digits(source, translation))
    return lost <= (1 - float(value or 1)) * digit_runs(source).total() + 1e-9


def is_in_language(source: str, translation: str, language: str, value: str) -> bool:
    """`lang`: the translation is in the target language."""
    return detect(MARKUP.sub(" ", translation), languages=LANGUAGES).language == language


def has_ratio(source: str, translation: str, language: str, value: str) -> bool:
    """`ratio:0.5-2`: characters of the translation per character of the source."""
    low, high = value.split("-")
    return float(low) <= len(translation) / len(source) <= float(high)


def is_upper(source: str, translation: str, language: str, value: str) -> bool:
    """`upper`: the translation is in capitals; an apostrophe may follow a small letter."""
    letters = [c for c in MARKUP.sub("", translation) if c.isalpha()]
    return sum(c.islower() and c != "ß" for c in letters) == 0


def keeps_lines(source: str, translation: str, language: str, value: str) -> bool:
    """`lines`: the translation has as many lines as the source, and none of them is empty."""
    lines = translation.split("\n")
    return len(lines) == len(source.split("\n")) and all(line.strip() for line in lines)


def keeps_bullets(source: str, translation: str, language: str, value: str) -> bool:
    """`bullets`: the lines begin with the same list marks."""
    mark = re.compile(r"\s*(?:([-*•–])|(\d+)[.)])\s")
    marks = [[(m[1] or "", m[2] or "") if (m := mark.match(line)) else None for line in text.split("\n")]
             for text in (source, translation)]  # fmt: skip
    return marks[0] == marks[1]


def keeps_sentences(source: str, translation: str, language: str, value: str) -> bool:
    """`sentences`, `sentences:0.9-1.2`: as many sentences as the source, or that many per sentence of it."""
    low, high = value.split("-") if value else ("1", "1")
    ratio = len(split(translation.strip())) / len(split(source.strip()))
    return float(low) <= ratio <= float(high)


def matches(source: str, translation: str, language: str, value: str) -> bool:
    """`match:REGEX`: the expression is found in the translation, whatever its case."""
    return re.search(value, unicodedata.normalize("NFC", translation), re.IGNORECASE) is not None


def is_same(source: str, translation: str, language: str, value: str) -> bool:
    """`same`, `same:0.8`: the translation is the source, or that similar to it (1: equal)."""
    return SequenceMatcher(None, source, translation, autojunk=False).ratio() >= float(value or 1)


def keeps_end(source: str, translation: str, language: str, value: str) -> bool:
    """`end`: a question mark at the end of the source is at the end of the translation too."""
    return (source.rstrip()[-1:] in QUESTION_MARKS) == (translation.rstrip()[-1:] in [*QUESTION_MARKS])


CHECKS: dict[str, Check] = {
    "keep": keeps_text,
    "digits": keeps_digits,
    "lang": is_in_language,
    "ratio": has_ratio,
    "upper": is_upper,
    "lines": keeps_lines,
    "bullets": keeps_bullets,
    "sentences": keeps_sentences,
    "match": matches,
    "same": is_same,
    "end": keeps_end,
}
