"""Texts in a script that a model has never seen are named."""

from headwise.decode.coverage import CoverageCheck
from tests.taught import SOURCES, taught


def test_characters_that_are_not_known() -> None:
    tokenizer = taught().tokenizer
    assert tokenizer is not None
    check = CoverageCheck(tokenizer)
    check.add(SOURCES)
    assert check.note == ""
    check.add(["日本語", "The cat.", "日 sees"])
    assert check.note == (
        "2 texts have characters that the model has not learnt, so it can only copy or guess them: 日 本 語"
    )


def test_of_many_characters_some_are_shown() -> None:
    tokenizer = taught().tokenizer
    assert tokenizer is not None
    check = CoverageCheck(tokenizer)
    check.add(["αβγδεζηθικλ"])
    assert check.note.startswith("1 text has")
    assert check.note.endswith("α β γ δ ε ζ η θ ...")
