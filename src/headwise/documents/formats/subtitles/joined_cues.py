"""Sentences that run over several cues: which turns belong together, and the text of all of them as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from headwise.documents.formats.subtitles.cue_lines import CLAUSE_ENDS
from headwise.documents.formats.subtitles.cues import Turn
from headwise.documents.formats.subtitles.sharing import CuePart

LONGEST_PAUSE = 3.0
"""Seconds between two cues after which a sentence does not go on."""
MOST_CHARACTERS = 400
"""Characters of the cues that are translated as one, for speech without punctuation marks."""

_TAGS = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_ENDS = re.compile(r"[.!?♪♫#。！？؟।:;][\"'”’»)\]♪♫ ]*\Z|[)\]♪♫]\Z")
_TRAILS_OFF = re.compile(r"(?:\.\.+|…|-|–|—)[\"'”’»]*\Z")
_RESUMES = re.compile(r"[\"'“‘«]*(?:\.\.+|…)?[\"'“‘«]*([^\W\d_])")
_STARTS_ANEW = re.compile(r"[(\[♪♫#*]")


def sentences(text: str, found: Iterable[Turn]) -> Iterator[list[Turn]]:
    """Turns in groups: those of one are parts of one sentence, or of sentences that begin and end within cues."""
    group: list[Turn] = []
    size = 0
    for turn in found:
        if group and not _continues(text, group[-1], turn, size):
            yield group
            group, size = [], 0
        group.append(turn)
        size += turn.end - turn.start
    if group:
        yield group


def _continues(text: str, turn: Turn, following: Turn, size: int) -> bool:
    if not turn.may_go_on or not following.may_continue or size > MOST_CHARACTERS:
        return False
    if not -LONGEST_PAUSE < following.begin_time - turn.end_time < LONGEST_PAUSE:
        return False
    before = _shown(text, turn)
    after = _shown(text, following)
    if not before or not after or _STARTS_ANEW.match(after) or _STARTS_ANEW.match(before):
        return False
    resumes = _RESUMES.match(after)
    if _TRAILS_OFF.search(before):
        return resumes is not None and resumes[1].islower()
    return not _ENDS.search(before)


def _shown(text: str, turn: Turn) -> str:
    return " ".join(_TAGS.sub("", text[turn.start : turn.end]).split())


def cue_parts(text: str, group: Sequence[Turn]) -> list[CuePart]:
    """What each cue has of the text of a group."""
    shown = [_shown(text, turn) for turn in group]
    total = sum(len(each) for each in shown) or 1
    return [CuePart(len(each) / total, each.endswith(CLAUSE_ENDS)) for each in shown]
