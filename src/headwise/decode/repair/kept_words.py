"""Words that a translation must have as they are: words for machines, and words in scripts the model has not learnt.

A model babbles where it reads characters of which it knows only the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headwise.text.machine_words import ADDRESS, CODE, PATH, URL
from headwise.text.tokenizer import Tokenizer

_OTHER = (
    "\u0370-\u1dbf\u1f00-\u1fff\u2c80-\u2dff\u3005-\u3007\u3040-\ua63f\ua800-\ud7ff\uf900-\ufdff\ufe70-\ufefe"
    "\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U0003ffff"
)
"""Letters that are not Latin, and the marks on them."""
_BACKSLASHED = r"[^\s\\]*\\\S*[^\s.,;:!?()\[\]…\"'”’»]"
_KEPT = re.compile(rf"(?P<word>[{_OTHER}]+)|{URL}|{ADDRESS}|{CODE}|{PATH}|{_BACKSLASHED}")
_BETWEEN = re.compile(r"[ \d,.'’·・-]+")
"""What is kept together with the words of an unknown script around it."""
_HINT = re.compile(rf"[{_OTHER}/@`\\]|www\.")


class KeptWords:
    """Finds the words of a text that stay as they are, for a model with this tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, bool] = {}

    def of(self, text: str, scripts: bool = True) -> list[str]:
        """The words to keep, in order; `scripts`: also words no letter of which is known, neighbours as one."""
        if not _HINT.search(text):
            return []
        kept: list[str] = []
        end = -1  # of the last word, if it is in an unknown script
        for found in _KEPT.finditer(text):
            if found["word"] is None:
                kept.append(found[0])
                end = -1
            elif scripts and self._is_unknown(found[0]):
                joined = end >= 0 and _BETWEEN.fullmatch(text, end, found.start())
                kept.append(kept.pop() + text[end : found.end()] if joined else found[0])
                end = found.end()
            else:
                end = -1
        return kept

    def _is_unknown(self, word: str) -> bool:
        """Whether no letter of a word is known; a single Greek letter is rather a unit or an angle."""
        if len(word) == 1 and word < "\u0400":
            return False
        letters = [character for character in word if character.isalpha()]
        return bool(letters) and not any(map(self._knows, letters))

    def _knows(self, letter: str) -> bool:
        known = self._known.get(letter)
        if known is None:
            known = self._known[letter] = not self._tokenizer.uncovered(letter)
        return known


def lost_words(kept: Sequence[str], translation: str) -> list[str]:
    """The kept words that a translation does not have as often as they are wanted."""
    return [word for word in dict.fromkeys(kept) if translation.count(word) < kept.count(word)]
