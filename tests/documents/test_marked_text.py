"""Marked texts: strings are joined, and marks must be nested."""

import pytest
from hypothesis import given

from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind
from tests.documents.marked_texts import marked_texts

OPEN, CLOSE, SINGLE = (lambda number, kind=kind: Mark(kind, number) for kind in MarkKind)


def test_neighbouring_strings_are_one_and_empty_ones_are_dropped() -> None:
    text = MarkedText(["a", "", "b", SINGLE(0), "", Kept("%s"), "c"])
    assert text.parts == ("ab", SINGLE(0), Kept("%s"), "c")
    assert text.text == "ab%sc"
    assert text == MarkedText(["ab", SINGLE(0), Kept("%s"), "c"])


def test_only_strings_may_have_letters() -> None:
    assert not MarkedText(["12 ", Kept("name"), OPEN(0), CLOSE(0)]).has_letters
    assert MarkedText([OPEN(0), "x", CLOSE(0)]).has_letters


@given(marked_texts())
def test_nested_marks_have_no_fault(text: MarkedText) -> None:
    assert text.fault() == ""


@pytest.mark.parametrize(
    "marks",
    [
        [OPEN(0)],
        [CLOSE(0)],
        [OPEN(0), OPEN(1), CLOSE(0), CLOSE(1)],
        [SINGLE(0), SINGLE(0)],
        [OPEN(0), CLOSE(0), OPEN(0), CLOSE(0)],
    ],
)
def test_faults_are_found(marks: list[Mark]) -> None:
    assert MarkedText(["a", *marks, "b"]).fault()
