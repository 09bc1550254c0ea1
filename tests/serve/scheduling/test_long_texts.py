"""Long texts become sentences, and their translations texts again."""

from headwise.decode.translation import Translation
from headwise.serve.scheduling.long_texts import LONGEST, SHORT, join_sentences, sentences_of

TEXT = "First sentence here.\n\nSecond one, in a new paragraph. And a third!"


def test_a_short_line_stays_whole_and_white_space_is_nothing() -> None:
    assert [part.text for part in sentences_of("One. Two.")] == ["One. Two."]
    assert sentences_of(" \n\t ") == []
    assert join_sentences([], []).text == ""


def test_the_sentences_of_a_text_with_their_white_space_are_the_text() -> None:
    for text in (TEXT, "A sentence. " * 100, "x" * (2 * SHORT)):
        parts = sentences_of(text)
        same = [Translation(part.text, -1.0) for part in parts]
        assert join_sentences(parts, same).text == text.strip()
        assert "".join(part.text + part.separator for part in parts) == text


def test_no_sentence_keeps_a_worker_for_long() -> None:
    """A text without full stops, such as a list or binary data, is one sentence of any length."""
    for unit in ("x", "some words ", "clauses, ", "，。x"):
        text = (unit * 20_000)[:20_000]
        parts = sentences_of(text)
        assert max(len(part.text) for part in parts) <= LONGEST
        assert len(parts) < 100 or "。" in unit
        assert "".join(part.text + part.separator for part in parts) == text


def test_alternatives_of_a_text_have_those_of_each_sentence() -> None:
    parts = sentences_of(TEXT)
    found = [Translation(str(n), 0.0, alternatives=[Translation(f"{n}b", 0.0)] * (n != 1)) for n in range(len(parts))]
    joined = join_sentences(parts, found)
    assert joined.text == "0\n\n1 2"
    assert [str(each) for each in joined.alternatives] == ["0b\n\n1 2b"]
