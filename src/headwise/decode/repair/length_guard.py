"""Limits on the length of a translation in characters, and removal of loops, the babble of a model that is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHORTEST_LIMIT = 20
"""Characters that a translation may have however short its source is: "ok" is "d'accord" in French."""

_DENSE = {"zh", "ja", "ko", "yue", "wuu", "lzh", "cmn", "jpn", "kor", "zho"}
"""Source languages whose characters are syllables or words."""

_LOOP = re.compile(r"(.{1,80}?)\1{3,}", re.DOTALL)
_FEW_TOKENS = 12


def longest_ratio(language: str) -> int:
    """The most characters of a translation per character of its source, by the source language's short code."""
    return 12 if is_dense(language) else 3


def is_dense(language: str) -> bool:
    """Whether a language has very many characters, or is unknown, so that it may be such a one."""
    return language in _DENSE or not language


def longest_allowed(source: str, ratio: int) -> int:
    """The most characters that a translation of this source may have."""
    return max(ratio * len(source), SHORTEST_LIMIT)


def has_loop(source: str, text: str, tokens: Sequence[str]) -> bool:
    """Whether a translation repeats something four times in a row or more, and its source repeats nothing."""
    if len(tokens) < _FEW_TOKENS or 2 * len(set(tokens)) > len(tokens):
        return False  # a loop would have few different tokens; this test is far faster than the next
    return _loops(text) and not _loops(source)


def without_loops(text: str) -> str:
    """The text with what it repeats four times or more left in it once."""
    return _LOOP.sub(lambda loop: loop[1] if _is_babble(loop[1]) else loop[0], text).strip()


def cut_to(text: str, limit: int) -> str:
    """The beginning of a text, up to a space if there is one in its second half."""
    if len(text) <= limit:
        return text
    space = text.rfind(" ", limit // 2, limit + 1)
    return text[: space if space > 0 else limit].rstrip()


def _loops(text: str) -> bool:
    return any(_is_babble(loop[1]) for loop in _LOOP.finditer(text))


def _is_babble(unit: str) -> bool:
    """Whether this is more than the zeros of a number, which may be in words in the source."""
    return not unit.replace(" ", "").isdecimal()
