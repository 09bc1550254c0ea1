"""Hard-wrapped text: a paragraph is one text, and wrapped lines are recognised."""

import textwrap

from headwise.decode.bulk.paragraphs import join_paragraphs, looks_wrapped

PROSE = (
    "It was a bright cold day in April, and nobody in the whole street had noticed that the clocks of the old town "
    "hall had stopped again, although the mayor himself walked past them twice before noon. "
) * 4


def test_paragraphs_are_joined_and_empty_lines_stay() -> None:
    lines = ["one", "  two ", "", "", "three", "four"]
    assert list(join_paragraphs(lines)) == ["one two", "", "", "three four"]
    assert list(join_paragraphs([])) == []
    assert list(join_paragraphs(["", "x"])) == ["", "x"]


def test_wrapped_lines_are_recognised() -> None:
    wrapped = textwrap.wrap(PROSE, 72)
    assert looks_wrapped(wrapped)
    assert " ".join(join_paragraphs(wrapped)).split() == PROSE.split()


def test_sentences_and_lists_are_not_wrapped() -> None:
    sentences = [f"{each.strip()}." for each in PROSE.split(".") if each.strip()]
    assert not looks_wrapped(sentences * 5)
    assert not looks_wrapped(["red apples", "green pears", "blue plums"] * 20), "too short to be wrapped"
    assert not looks_wrapped([])
