"""Keyboard accelerators in labels, `_File` or `&Open`: taken out before translation and put back after it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PATTERNS = {
    "_": re.compile(r"(?<![\w/.\-\\%{<])_(?=[^\W_])"),
    "&": re.compile(r"(?<!&)&(?=[^\W_])(?!#?\w+;)"),
}
_WORD_START = re.compile(r"(?<![\w&])&(?=[^\W_])(?!#?\w+;)")
_ADDRESS = re.compile(r"://|\w=\S*&|\?\S*=")
_FORMATS = re.compile(r"%(?:\([^)]*\)|\d+\$)?[-+ #0]*[\d.]*[a-zA-Z]|\{[^{}]*\}|<[^<>]*>|\\.|&#?\w+;")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\uffef]")
_TAIL = re.compile(r"[\s.:\u2026\uff1a\u3002]*\Z")


@dataclass(frozen=True)
class Accelerator:
    """The marker of a label and the letter after it."""

    marker: str
    letter: str
    label: str
    """The whole label, as it was written."""
    plain: str
    """The label without its marker."""

    def put_back(self, text: str) -> str:
        """The marker before the same letter, if possible at the start of a word, or else before the first letter."""
        if text == self.plain:
            return self.label
        places = _letters(text)
        if not places:
            tail = _TAIL.search(text)
            assert tail is not None
            shown = f"({self.marker}{self.letter.upper()})" if text.strip() and self.letter.isascii() else ""
            return text[: tail.start()] + shown + tail[0]
        same = [place for place in places if text[place].lower() == self.letter.lower()]
        starts = [place for place in same if place == 0 or not text[place - 1].isalnum()]
        place = (starts or same or places)[0]
        return text[:place] + self.marker + text[place:]


def marker_of(labels: Iterable[str]) -> str | None:
    """The marker that a catalogue uses; None if none is used, or the character has other uses more often."""
    uses = {"_": 0, "&": 0}
    other = {"_": 0, "&": 0}
    for label in labels:
        for marker in uses:
            if marker in label:
                word_start = _WORD_START if marker == "&" else _PATTERNS["_"]
                if label.count(marker) == 1 and word_start.search(label) and not _ADDRESS.search(label):
                    uses[marker] += 1
                elif marker == "_" or re.search(r"& |\w&[A-Z]\b", label):
                    other[marker] += 1
    marker = max(uses, key=lambda each: uses[each])
    return marker if uses[marker] > other[marker] else None


def accelerator(label: str, marker: str | None) -> Accelerator | None:
    """The accelerator of a label in a catalogue that uses this marker."""
    if marker is None or label.count(marker) != 1 or _ADDRESS.search(label):
        return None
    found = _PATTERNS[marker].search(label)
    if found is None:
        return None
    plain = label[: found.start()] + label[found.end() :]
    return Accelerator(marker, label[found.end()], label, plain)


def _letters(text: str) -> list[int]:
    """Places of letters and digits that can carry a marker: none in placeholders, tags or scripts without keys."""
    hidden = {place for found in _FORMATS.finditer(text) for place in range(*found.span())}
    return [
        place
        for place, character in enumerate(text)
        if character.isalnum() and place not in hidden and not _UNSPACED.match(character)
    ]
