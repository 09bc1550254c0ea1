"""ICU messages: branches are texts, the structure stays."""

import pytest

from headwise.documents.icu import icu_message
from headwise.documents.marked_text import Kept, MarkedText

NESTED = (
    "{g, select, male {He has {n, plural, offset:1 =0{no file} one {# file} other {# files}}} other { They '{'x'}' }}"
)


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, one {# file} other {# files}}",
        NESTED,
        "It''s {n,selectordinal,one{#st}two{#nd}other{#th}} place, isn't it? {date, date, short}",
    ],
)
def test_messages_come_back(text: str) -> None:
    message = icu_message(text)
    assert message is not None
    assert message.filled(message.segments) == text
    changed = [
        MarkedText(f"l'{part.upper()}'" if isinstance(part, str) else part for part in segment.parts)
        for segment in message.segments
    ]
    written = message.filled(changed)
    again = icu_message(written)
    assert again is not None
    assert [segment.text for segment in again.segments][1:] == [segment.text for segment in changed][1:]
    assert again.filled(again.segments) == written


def test_branches_are_texts_of_their_own() -> None:
    message = icu_message(NESTED)
    assert message is not None
    assert [segment.text for segment in message.segments] == [
        "He has # files",
        "no file",
        "# file",
        "# files",
        "They {x}",
    ]
    assert isinstance(message.segments[2].parts[0], Kept)


@pytest.mark.parametrize(
    "text",
    ["plain", "{name}", "{n, plural, one {a}", "{n, plural, }", "{n, plural, one {a}} }", "'{n, plural, one {a}}'"],
)
def test_other_texts_are_none(text: str) -> None:
    assert icu_message(text) is None


def test_deep_nesting_is_plain_text() -> None:
    assert icu_message("{n, plural, one {" * 500 + "}}" * 500) is None
