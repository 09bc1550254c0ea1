"""Cues of SRT and WebVTT files: their times, and the turns of speech in them, with positions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{1,2}(?:[,.]\d{1,3})?"
TIMING = re.compile(rf"(?:(?<=[\r\n])|\A)[ \t]*({_TIME})[ \t]*-{{1,2}}>[ \t]*({_TIME})[^\r\n]*")
_BLANK = re.compile(r"(?:\r\n|\r(?!\n)|\n)[ \t]*(?=[\r\n]|\Z)")
_LINE = re.compile(r"[^\r\n]+")
_DASH = re.compile(r"[-‐‑–—][ \t\u00a0]?(?=[^\s\-‐‑–—])")
TAG = re.compile(r"</?[A-Za-z][^<>\r\n]*>|</?[A-Za-z]>|<\d[\d:.]*>|\{\\[^{}\r\n]*\}|\{[A-Za-z]:[^{}\r\n]*\}")
"""Markup within a cue: elements, time stamps, overrides such as {\\an8}."""
_FRAME = re.compile(rf"(?:{TAG.pattern}|[ \t\u00a0])*")
_LABEL = re.compile(
    r"(?:[A-Z][A-Z0-9 .'’#-]{0,30}|[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
    r"(?: ?[(\[][^()\[\]\r\n]{1,30}[)\]])?:(?=[ \t\u00a0\r\n])[ \t\r\n]*"
)
"""The name of who speaks, before what they say."""
_SOUND = re.compile(r"\[[^\[\]]+\]\s*|\([^()]+\)\s*")
"""A description of a sound, in brackets."""
_MUSIC = "♪♫#*"


@dataclass(frozen=True)
class Turn:
    """What one person says in a cue, from `start` to before `end`, without the markup around all of it."""

    start: int
    end: int
    may_continue: bool
    """Whether it begins its cue, without a dash or a name: it may go on with what was said before."""
    may_go_on: bool
    """Whether it ends its cue, so that the next one may go on with it."""
    begin_time: float
    end_time: float


def turns(text: str, *, is_web: bool) -> Iterator[Turn]:
    """The turns of all cues of a file."""
    timings = list(TIMING.finditer(text))
    for number, timing in enumerate(timings):
        limit = timings[number + 1].start() if number + 1 < len(timings) else len(text)
        start = timing.end()
        end = _text_end(text, start, limit, is_last=number + 1 == len(timings), is_web=is_web)
        begin_time, end_time = _seconds(timing[1]), _seconds(timing[2])
        spans = list(_spoken(text, start, end))
        for place, each in enumerate(spans):
            is_first = place == 0 and not each.begins and not each.is_alone
            is_last = place + 1 == len(spans) and not each.is_alone
            yield Turn(each.start, each.end, is_first, is_last, begin_time, end_time)


def _text_end(text: str, start: int, limit: int, *, is_last: bool, is_web: bool) -> int:
    """Where the text of a cue ends: at an empty line; in SRT, which may have some in it, before the next number."""
    if is_web:
        blank = _BLANK.search(text, start, limit)
        return blank.start() if blank else limit
    end = start + len(text[start:limit].rstrip())
    line = max(text.rfind("\n", start, end), text.rfind("\r", start, end)) + 1
    if not is_last and line > start and text[line:end].strip().isdigit():
        end = start + len(text[start:line].rstrip())
    return end


def _spoken(text: str, start: int, end: int) -> Iterator[_Spoken]:
    """The parts of a cue that begin with a dash or a name each; the lines of those without one belong together."""
    lines = [match.span() for match in _LINE.finditer(text, start, end) if match[0].strip()]
    groups: list[list[tuple[int, int]]] = []
    for line in lines:
        frame = _FRAME.match(text, *line)
        at = frame.end() if frame else line[0]
        if not groups or _DASH.match(text, at, line[1]) or _LABEL.match(text, at, end):
            groups.append([])
        groups[-1].append(line)
    for group in groups:
        first, last = group[0][0], group[-1][1]
        inner, begins = _skip(text, first, last)
        sound = _SOUND.match(text, inner, last)
        if sound and text[sound.end() : last].strip():
            yield _Spoken(*_inside(text, sound.start(), sound.end()), True)
            inner, begins = _skip(text, sound.end(), last)[0], True
        start, end, is_alone = _inside(text, inner, last)
        start, end = _with_partners(text, (first, last), (start, end))
        if end > start:
            yield _Spoken(start, end, is_alone, begins)


@dataclass(frozen=True)
class _Spoken:
    """What is a turn, and whether it stands alone, as the description of a sound does, or begins speech."""

    start: int
    end: int
    is_alone: bool
    begins: bool


def _inside(text: str, start: int, end: int) -> tuple[int, int, bool]:
    """A part without the tags, brackets and notes of music around all of it; whether it has one of the last two."""
    is_alone = False
    while True:
        before = start, end
        start = _skip_frame(text, start, end)
        while end > start and (found := _trailing(text, start, end)) < end:
            end = found
        if _SOUND.fullmatch(text, start, end) or (
            end - start > 2 and text[start] in _MUSIC and text[end - 1] in _MUSIC
        ):
            start, end, is_alone = start + 1, end - 1, True
        if (start, end) == before:
            return start, end, is_alone


def _with_partners(text: str, whole: tuple[int, int], inner: tuple[int, int]) -> tuple[int, int]:
    """The inner part of a turn, with the tags beside it whose partners are in it."""
    start, end = inner
    waiting: dict[str, list[re.Match[str]]] = {}
    pairs: list[tuple[re.Match[str], re.Match[str]]] = []
    for tag in TAG.finditer(text, *whole):
        name = re.sub(r"\A</?([A-Za-z]+).*", r"\1", tag[0])
        if tag[0].startswith("</"):
            if waiting.get(name):
                pairs.append((waiting[name].pop(), tag))
        else:
            waiting.setdefault(name, []).append(tag)
    for opening, closing in pairs:
        if opening.start() < start <= closing.start() < end:
            start = opening.start()
        if start <= opening.start() < end <= closing.start():
            end = closing.end()
    return start, end


def _skip_frame(text: str, start: int, end: int) -> int:
    found = _FRAME.match(text, start, end)
    return found.end() if found else start


def _skip(text: str, start: int, end: int) -> tuple[int, bool]:
    """The place behind the frame of a turn (tags, a dash, a name), and whether it has a dash or a name."""
    begins = False
    while True:
        place = start
        for pattern in (_FRAME, _DASH, _LABEL):
            found = pattern.match(text, place, end)
            if found and found.end() > place:
                begins = begins or pattern is not _FRAME
                place = found.end()
        if place == start:
            return start, begins
        start = place


def _trailing(text: str, start: int, end: int) -> int:
    """The end without a tag or white space that it ends with."""
    stripped = start + len(text[start:end].rstrip())
    if stripped < end:
        return stripped
    opening = max(text.rfind("<", start, end), text.rfind("{", start, end))
    return opening if opening >= 0 and TAG.fullmatch(text, opening, end) else end


def _seconds(time: str) -> float:
    seconds = 0.0
    for part in time.replace(",", ".").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds
