"""Sharing a translation out to the cues of its sentence: by word alignment, as long as no cue gets far too much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from headwise.documents.formats.subtitles.cue_lines import LONGEST_LINE, Word, line_width

SLACK = 0.35
"""Share of a cue's length by which alignment may move its end."""
LEAST_SLACK = 10
"""Characters by which alignment may always move the end of a cue."""
CLAUSE_BONUS = 6
"""Characters by which a place after a punctuation mark seems nearer."""
SAME_CLAUSE_BONUS = 16
"""Characters by which it does where the cue of the source ends with a punctuation mark, too."""
ALIGNED_BONUS = 5


@dataclass(frozen=True)
class CuePart:
    """The part of a source sentence that one cue shows."""

    share: float
    """Its share of the characters."""
    ends_clause: bool
    """Whether it ends with a punctuation mark."""


def shared(words: Sequence[Word], aligned: Sequence[int], parts: Sequence[CuePart]) -> list[Sequence[Word]]:
    """The words of each cue. `aligned` are the numbers of words before each end of a cue, by alignment.

    No cue is empty; where there are too few words, some are shown again.
    """
    shares = [part.share for part in parts]
    total = line_width(words)
    offsets = [line_width(words[:count]) for count in range(len(words) + 1)]
    ends: list[int] = []
    done = 0.0
    for number, place in enumerate(sorted(aligned)):
        done += shares[number]
        slack = max(LEAST_SLACK, SLACK * total * min(shares[number], shares[number + 1]))
        wanted = min(max(offsets[place], done * total - slack), done * total + slack)
        first = ends[-1] + 1 if ends else 1
        last = len(words) - (len(aligned) - number)
        begin = offsets[first - 1]
        costs = {
            end: abs(offsets[end] - wanted)
            - words[end - 1].ends_clause * (SAME_CLAUSE_BONUS if parts[number].ends_clause else CLAUSE_BONUS)
            - ALIGNED_BONUS * (end == place)
            + max(0, offsets[end] - begin - 2 * LONGEST_LINE)
            for end in range(first, last + 1)
            if words[end].breaks
        }
        ends.append(min(costs, key=lambda end: costs[end]) if costs else min(first, len(words)))
    edges = [0, *ends, len(words)]
    pieces = [words[start:end] for start, end in pairwise(edges)]
    for number, piece in enumerate(pieces):
        if not piece:
            pieces[number] = pieces[number - 1] if number else words
    return pieces
