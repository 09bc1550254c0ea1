"""Lines of cues: text with marks, broken into short lines of about the same length."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LONGEST_LINE = 42
"""Characters of a line; those of East Asian scripts count twice."""


def width_of(text: str) -> int:
    """The number of columns that a text takes."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


@dataclass(frozen=True)
class Word:
    """A word of a cue with its markup, which no line break may separate."""

    source: str
    width: int
    spaced: bool = True
    """Whether a space separates it from the word before it."""
    breaks: bool = True
    """Whether a cue may begin with it: it is in no pair of marks that begins earlier."""

    @property
    def ends_clause(self) -> bool:
        """Whether a line rather ends with it."""
        return self.source.endswith(CLAUSE_ENDS)


CLAUSE_ENDS = (",", ".", "?", "!", ";", ":", "…", "，", "。", "、", "？", "！")
_UNIT = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef][\u3000-\u303f\uff01-\uff1f]*|[^\u2e80-\u9fff\uf900-\uffef]+"
)


def units(word: str) -> list[str]:
    """The parts of a word between which a line may end: the characters of Chinese and Japanese."""
    return _UNIT.findall(word) if any(width_of(each) > 1 for each in word) else [word]


def line_width(words: Sequence[Word]) -> int:
    """The columns of some words in one line."""
    return sum(word.width + word.spaced for word in words) - (bool(words) and words[0].spaced)


def joined(words: Iterable[Word]) -> str:
    """Words as one line."""
    text = "".join(" " * word.spaced + word.source for word in words)
    return text.removeprefix(" ")


def broken(words: Sequence[Word]) -> list[str]:
    """Words as lines of at most 42 columns: as few as possible, of about the same length."""
    count = min(max(1, math.ceil(line_width(words) / LONGEST_LINE)), max(1, len(words)))
    while True:
        found = _best(words, count)
        if count >= len(words) or max(line_width(line) for line in found) <= LONGEST_LINE:
            return [joined(line) for line in found]
        count += 1


def _best(words: Sequence[Word], count: int) -> list[Sequence[Word]]:
    """The way to break words into lines with the least sum of squared widths, rather after a punctuation mark."""
    if count <= 1:
        return [words]
    costs = [[math.inf] * (len(words) + 1) for _ in range(count + 1)]
    origins = [[0] * (len(words) + 1) for _ in range(count + 1)]
    costs[0][0] = 0
    for line in range(1, count + 1):
        for last in range(line, len(words) + 1):
            for first in range(last - 1, line - 2, -1):
                width = line_width(words[first:last])
                if width > LONGEST_LINE and first < last - 1:
                    break
                cost = costs[line - 1][first] + width**2 + (0 if words[last - 1].ends_clause else 60)
                if cost < costs[line][last]:
                    costs[line][last], origins[line][last] = cost, first
    if costs[count][-1] == math.inf:
        return [words]
    lines: list[Sequence[Word]] = []
    last = len(words)
    for line in range(count, 0, -1):
        first = origins[line][last]
        lines.insert(0, words[first:last])
        last = first
    return lines
