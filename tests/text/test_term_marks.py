"""Annotations stand behind their terms, wherever these are."""

from headwise.text.term_marks import MARK, annotated


def test_each_annotation_stands_behind_its_term() -> None:
    text = "The cat sees a dog."
    wanted = [(text.index(" sees"), "Mieze"), (text.index("."), "Köter")]
    expected = f"The cat {MARK} Mieze {MARK} sees a dog {MARK} Köter {MARK}."
    assert annotated(text, wanted) == annotated(text, wanted[::-1]) == expected
    assert annotated(text, []) == text
