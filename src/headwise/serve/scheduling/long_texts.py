"""Long texts as sentences to schedule, and their translations joined again: a book is thousands of small units."""

from __future__ import annotations

from collections.abc import Sequence

from headwise.decode.text_parts import TextPart, join_parts
from headwise.decode.translation import Translation
from headwise.text.sentences import cut, split

SHORT = 300
"""Characters of a text that is translated as it is; a longer one, or one of several lines, is split into sentences."""
LONGEST = 1_000
"""Characters of a sentence that is translated in one go, which nothing can interrupt; a longer one is cut. Without a
full stop, a text of a megabyte would keep a worker for an hour."""


def sentences_of(text: str) -> list[TextPart]:
    """The sentences of a text, with the white space between them; none for a text without any."""
    if not text.strip():
        return []
    if len(text) <= SHORT and "\n" not in text:
        return [TextPart(text, "", [])]
    pieces = (piece for sentence in split(text) for piece in cut(sentence, len, LONGEST))
    return [TextPart(piece.text, piece.separator, []) for piece in pieces if piece.text.strip()]


def join_sentences(parts: Sequence[TextPart], found: Sequence[Translation]) -> Translation:
    """The translation of a text from those of its sentences; its n-th alternative has the n-th of each."""
    joined = join_parts(parts, [each.candidates for each in found])
    if len(parts) < 2:
        return joined
    most = max(len(each.alternatives) for each in found)
    others = [
        join_parts(parts, [[each.candidates[min(rank, len(each.alternatives))]] for each in found])
        for rank in range(1, most + 1)
    ]
    return Translation(**{**vars(joined), "alternatives": others})
