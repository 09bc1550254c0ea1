"""Subtitles: sentences are whole, cues keep their timing, and no line is too long."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.documents.document import ReadOptions
from headwise.documents.flat_text import FlatText, flatten
from headwise.documents.formats.subtitles.cue_lines import LONGEST_LINE, width_of
from headwise.documents.formats.subtitles.subtitles import read_subtitles
from headwise.documents.marked_text import Mark, MarkedText
from headwise.documents.projection import project
from headwise.errors import DataError
from tests.documents.pseudo_translation import check_damaged, check_round_trip, shapes

FILM = """1
00:00:01,000 --> 00:00:03,000
<i>I was thinking about</i>

2
00:00:03,100 --> 00:00:05,000 X1:1 X2:2
<i>the <b>old</b> house
by the river.</i>

3
00:00:06,000 --> 00:00:08,000
- Hello there!
- JOHN: Good morning to you

4
00:00:08,100 --> 00:00:09,000
{\\an8}and your wife.

5
00:00:10,000 --> 00:00:12,000
[MUSIC PLAYING]

6
00:00:13,000 --> 00:00:14,000
[sighs] I don't know...

7
00:00:15,000 --> 00:00:16,000
...what to say

8
00:00:25,000 --> 00:00:26,000
to you.

9
00:00:27,000 --> 00:00:28,000
♪ Happy birthday ♪
"""

TALK = """WEBVTT - A talk

STYLE
::cue { color: red }

NOTE
A comment for translators

intro
00:01.000 --> 00:03.000 position:10% align:start
<v Ann>Fish &amp; chips are

00:03.000 --> 00:05.000
<v Ann><c.yellow>very</c> good, <00:04.000>aren't they?</v>

NOTE another one

00:06.000 --> 00:07.000
Yes.
"""


def test_sentences_of_srt() -> None:
    assert shapes(read_subtitles(FILM.encode(), ReadOptions())) == [
        "I was thinking about[1/]the [2]old[/2] house by the river.",
        "Hello there!",
        "Good morning to you[1/]and your wife.",
        "MUSIC PLAYING",
        "sighs",
        "I don't know...[1/]...what to say",
        "to you.",
        "Happy birthday",
    ]


def test_sentences_of_webvtt() -> None:
    assert shapes(read_subtitles(TALK.encode(), ReadOptions())) == [
        "Fish & chips are[1/][2]very[/2] good, [3/]aren't they?",
        "Yes.",
    ]


@pytest.mark.parametrize("text", [FILM, TALK])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_file_comes_back(text: str, line_end: str) -> None:
    data = text.replace("\n", line_end).encode()
    assert shapes(read_subtitles(data, ReadOptions())) == shapes(read_subtitles(text.encode(), ReadOptions()))
    written = check_round_trip(read_subtitles, data).decode()
    assert _frame(written) == _frame(text.replace("\n", line_end))


def _frame(text: str) -> list[str]:
    """All that is not text: times, settings, tags, numbers, blocks of style."""
    return re.findall(r"[^\r\n]*-->[^\r\n]*|<[^<>]*>|\{[^{}]*\}|^\d+\r?$|^STYLE|♪|^- |JOHN:", text, re.MULTILINE)


def _cues(text: str) -> list[str]:
    return [re.sub(r"<[^<>]*>", "", cue).strip() for cue in re.split(r"(?:\d+\n)?[^\n]*-->[^\n]*\n", text)[1:]]


def test_cues_are_split_where_the_words_went() -> None:
    data = b"1\n00:01,0 --> 00:02,0\nI have seen\n\n2\n00:02,0 --> 00:03,0\nthe black cat.\n"
    document = read_subtitles(data, ReadOptions())
    source = flatten(document.segments[0], lambda number, kept: kept.text)
    links = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 3)]
    found = project(source, FlatText("j'ai vu le chat noir."), links)
    assert _cues(document.write([found]).decode()) == ["j'ai vu", "le chat noir."]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("abcdefghij,.é日本。"), min_size=1, max_size=14), min_size=1, max_size=60),
    st.lists(st.integers(0, 60), min_size=3, max_size=3),
)
def test_no_cue_is_empty_and_no_line_too_long(words: list[str], places: list[int]) -> None:
    cues = "".join(f"{n}\n00:0{n},0 --> 00:0{n},9\nsome text here\n\n" for n in range(1, 5))
    document = read_subtitles(cues.encode(), ReadOptions())
    [segment] = document.segments
    marks = [part for part in segment.parts if isinstance(part, Mark)]
    parts: list[str | Mark] = [f"{word} " for word in words]
    for mark, place in zip(marks, places, strict=True):
        parts.insert(min(place, len(parts)), mark)
    written = document.write([MarkedText(parts)]).decode()
    found = _cues(written)
    assert len(found) == 4
    assert all(found)
    assert _frame(written) == _frame(cues)
    for line in written.split("\n"):
        assert "-->" in line or width_of(line) <= LONGEST_LINE
    if len(words) >= 4:
        assert "".join("".join(found).split()) == "".join(words)


def test_long_speech_without_full_stops_is_cut() -> None:
    cues = "".join(f"{n}\n00:{n:02},0 --> 00:{n:02},9\nand so on and so forth\n\n" for n in range(60))
    document = read_subtitles(cues.encode(), ReadOptions())
    assert 2 < len(document.segments) < 10


@pytest.mark.parametrize("data", [b"not subtitles at all", b"1\n00:00:01,000 --", b"\x00\x01\x02"])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(DataError, match=r"no cues|not text"):
        read_subtitles(data, ReadOptions())


def test_damaged_files_are_read_or_refused() -> None:
    check_damaged(read_subtitles, FILM.encode())
    check_damaged(read_subtitles, TALK.encode())
