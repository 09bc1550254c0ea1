"""Lines of limited length: where a translation takes the place of text that was wrapped by hand."""

from __future__ import annotations

import re

SPACE = "\x00"
"""Stands for a space at which a line may end."""

NARROWEST = 40
"""Characters of a line below which a paragraph is not squeezed."""


def wrapped(text: str, width: int, prefix: str, *, first: int = 0, never: re.Pattern[str] | None = None) -> str:
    """A text with line breaks at some of its `SPACE`s; each further line begins with `prefix`.

    `first` characters precede the text in its first line; no line begins with what matches `never`.
    """
    limit = max(width, NARROWEST)
    pieces: list[str] = []
    length = first
    words = text.split(SPACE)
    for index, word in enumerate(words):
        following = " ".join(words[index : index + 2])
        if not pieces:
            pieces.append(word)
            length += len(word)
        elif length + 1 + len(word) > limit and word and not (never and never.match(following)):
            pieces.append(f"\n{prefix}{word}")
            length = len(prefix) + len(word)
        else:
            pieces.append(f" {word}")
            length += 1 + len(word)
        if "\n" in word:
            length = len(word) - word.rindex("\n") - 1
    return "".join(pieces)
