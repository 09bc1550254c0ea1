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
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_AFTERNOON = r"(?:[:.]\d\d)?\s*p\.?m\b"
_AFTERNOON_TIME = re.compile(r"(?<![\d.:,–-])(1[01]|[1-9])(?:[:.]\d\d)?\s*(?:pm|p\.m)\b", re.IGNORECASE)
_AFTERNOON_WORDS = {
    "de": r"mittag|abend|nacht",
    "fr": r"après.midi|soir|nuit",
    "it": r"pomerigg|\bser[ae]\b|stasera|notte",
    "hi": "शाम|दोपहर|रात|अपराह्न|सायं|पीएम",
}
"""Words that say in these languages, which count hours up to 24, that a time is after noon."""
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
    return Counter(_listed(text))


def same_runs(source: str, translation: str) -> bool:
    """Whether two texts have the same runs of digits; faster than to look for those that are missing."""
    return sorted(_listed(source)) == sorted(_listed(translation))


def missing_runs(source: str, translation: str, language: str = "") -> list[str]:
    """The runs of digits of a source that its translation does not have as often.

    Separators may differ: 1,234.5 may become 1 234,5 or 1234.5. A number of one digit may become a word of the
    `language` of the translation, a small one a Roman numeral (20th century, XXe siècle), and 3 pm may become 15.
    """
    missing = digit_runs(source) - digit_runs(translation)
    if not missing or not _joined(source) - _joined(translation):
        return []
    return sorted(run for run in missing.elements() if not _is_rewritten(run, source, translation, language))


def surplus_runs(source: str, translation: str) -> list[str]:
    """The runs of two or more digits that a translation has and its source does not.

    A source without digits may have numbers in words, so nothing is surplus there.
    """
    if not has_digits(source) or not _joined(translation) - _joined(source):
        return []
    surplus = digit_runs(translation) - digit_runs(source)
    return sorted(
        run
        for run in surplus.elements()
        if len(run) > 1 and run != "00" and not _is_afternoon(str(int(run) - 12), source, translation)
    )  # 10 am may become 10:00, and 3 pm 15:00


def lost_afternoons(source: str, translation: str, language: str) -> int:
    """How many times of a source, such as 3 pm, its translation has as if they were before noon."""
    words = _AFTERNOON_WORDS.get(language)
    hours = [int(found[1]) for found in _AFTERNOON_TIME.finditer(source)] if words else []
    if not words or not hours or re.search(rf"{words}|(?<![^\W\d_])p\.?\s?m\b", translation, re.IGNORECASE):
        return 0
    return len(Counter(str(hour + 12) for hour in hours) - digit_runs(translation))


def with_24_hours(source: str, translation: str) -> str:
    """The translation with 15 in the place of 3, for 3 pm in the source, if both have no other 3."""
    hours = Counter(found[1] for found in _AFTERNOON_TIME.finditer(source))
    given, made = digit_runs(source), Counter(_RUN.findall(translation))
    later = {hour: str(int(hour) + 12) for hour, count in hours.items() if given[hour] == count == made[hour]}
    return _RUN.sub(lambda run: later.get(run[0], run[0]), translation)


def _joined(text: str) -> Counter[str]:
    """The runs of digits once the separators between them are left out."""
    return digit_runs(_SEPARATOR.sub("", text))


def _listed(text: str) -> list[str]:
    runs = _RUN.findall(text)
    return [run if run.isascii() else ascii_digits(run) for run in runs]


def _is_rewritten(run: str, source: str, translation: str, language: str) -> bool:
    """Whether a translation has a number, which it lacks in digits, in another way that is usual."""
    if len(run) > 2 or run not in NUMBER.findall(ascii_digits(source)):  # a part of a number must stay
        return _is_afternoon(run, source, translation)
    if len(run) == 1 and has_word_for(run, translation, language):
        return True
    roman = "X" * (int(run) // 10) + _ROMAN[int(run) % 10]
    if int(run) < 40 and re.search(rf"(?<!\w){roman}(?![A-ZÀ-Þ])", translation):
        return True
    return _is_afternoon(run, source, translation)


def _is_afternoon(hour: str, source: str, translation: str) -> bool:
    if len(hour) > 2 or not 0 < int(hour) < 12 or not re.search(rf"(?<!\d){hour}{_AFTERNOON}", source, re.IGNORECASE):
        return False
    return str(int(hour) + 12) in _listed(translation)
