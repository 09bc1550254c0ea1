"""The units that terms are compared by: words, and single characters in scripts without spaces between words."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from headwise.text.word_forms import folded

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
    r"\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese characters."""


class Unit(NamedTuple):
    """A word, a character of a script without spaces, or a punctuation mark, with its place in the text."""

    text: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether it has letters or digits."""
        return self.text[0].isalnum()


def units(text: str) -> list[Unit]:
    """The units of a text, without the white space between them."""
    return [Unit(found[0], found.start(), found.end()) for found in _pattern().finditer(text)]


def folded_units(text: str) -> tuple[str, ...]:
    """The units of a text, folded."""
    return tuple(folded(unit.text) for unit in units(text))


@cache
def _pattern() -> re.Pattern[str]:
    marks = _combining_marks()
    return re.compile(rf"[{_UNSPACED}][{marks}]*|(?:(?![{_UNSPACED}])[\w{marks}])+|[^\w\s]")


def _combining_marks() -> str:
    """A character class of all combining marks: `\\w` has none, but the words of many scripts do."""
    codes = [code for code in range(0x300, 0x1F000) if _is_mark(code)]
    begins = [code for code in codes if not _is_mark(code - 1)]
    ends = [code for code in codes if not _is_mark(code + 1)]
    return "".join(f"{chr(begin)}-{chr(end)}" for begin, end in zip(begins, ends, strict=True))


def _is_mark(code: int) -> bool:
    return unicodedata.category(chr(code))[0] == "M"
