"""Marked texts as strings, and kept parts that are found again in a translation."""

from hypothesis import given

from headwise.documents.flat_text import FlatText, flatten, locate
from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind
from tests.documents.marked_texts import marked_texts


def shown(number: int, kept: Kept) -> str:
    return kept.text


def test_marks_that_separate_are_spaces() -> None:
    flat = flatten(MarkedText(["one", Mark(MarkKind.SINGLE, 0, separates=True), "two"]), shown)
    assert flat.text == "one two"
    assert [offset for offset, _ in flat.marks] == [3]
    assert flat.words == [(0, 3), (4, 7)]


@given(marked_texts())
def test_nothing_is_lost(text: MarkedText) -> None:
    flat = flatten(text, shown)
    assert [mark for _, mark in flat.marks] == text.marks
    assert [span.kept for span in flat.spans] == text.kept
    assert all(flat.text[span.start : span.end] == span.kept.text for span in flat.spans)
    if not any(mark.separates for mark in text.marks):
        assert flat.text == text.text


def source(*texts: str) -> FlatText:
    parts = [part for text in texts for part in (Kept(text), " ")]
    return flatten(MarkedText(parts), shown)


def test_kept_parts_are_found_in_any_order() -> None:
    found = locate("of %d only %s", source("%s", "%d"))
    assert found is not None
    assert [span.kept.text for span in found] == ["%d", "%s"]


def test_lost_doubled_or_changed_parts_are_not_found() -> None:
    assert locate("a %s", source("%s", "%d")) is None
    assert locate("%s %s", source("%s")) is None
    assert locate("XYZ12", source("XYZ1")) is None
    assert locate("{Name}", source("{name}")) is None
    assert locate("", source("%s")) is None


def test_a_part_in_another_is_told_apart() -> None:
    found = locate("{x} and ${x}", source("${x}", "{x}"))
    assert found is not None
    assert [(span.start, span.kept.text) for span in found] == [(0, "{x}"), (8, "${x}")]
