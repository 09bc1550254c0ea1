"""Splitting loses nothing, cutting keeps to the limit, and sentences end where a reader would say."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwise.errors import ConfigError
from headwise.text.sentences import Piece, cut, join, split

ANY_TEXT = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="aB1 .,!?…。！，؟۔।\n\t\r\"'”)»-Dr", max_size=200),
    st.lists(
        st.sampled_from(
            ["Dr.", "z.B.", "Go!", "”", "好。", " ", "  ", "\n", "word", ", ", "»", " » ", " | ", "5 p.m. "]
        )
    ).map("".join),
)


@given(ANY_TEXT)
@example("")
@example("  \n ")
@settings(max_examples=300)
def test_joining_the_pieces_gives_the_text(text: str) -> None:
    pieces = split(text)
    assert join(pieces) == text
    assert all(piece.text == piece.text.strip() for piece in pieces)
    assert all(piece.text for piece in pieces[1:])
    assert all(not piece.separator.replace("|", "").strip() for piece in pieces)


@given(ANY_TEXT, st.integers(1, 40), st.sampled_from(["characters", "words", "bytes"]))
@settings(max_examples=300)
def test_pieces_keep_to_the_limit_and_drop_nothing(text: str, limit: int, measure: str) -> None:
    def length_of(part: str) -> int:
        if measure == "characters":
            return len(part)
        return len(part.split()) if measure == "words" else len(part.encode("utf-8", "surrogatepass"))

    for sentence in split(text):
        pieces = cut(sentence, length_of, limit)
        assert join(pieces) == join([sentence])
        for piece in pieces:
            assert length_of(piece.text) <= limit or len(piece.text) == 1
        assert all(not piece.separator.replace("|", "").strip() for piece in pieces)


SENTENCES = [
    ["It rains.", "We stay in!", "Do you?", "Perhaps…", "Yes."],
    ["Dr. Smith met Mr. J. R. Jones at 3 p.m. on the 4. of May.", "Then he left."],
    ["Das gilt z.B. für den 3. Mai, d.h. bald.", "Danach nicht."],
    ['"Really?" he asked.', '"Yes!"', "(So it was.)", "“Good.”", "The end."],
    ["Well... maybe.", "See Fig. 3 and No. 7 there.", "I said no.", "It ended in 1999.", "Then 3.5 came."],
    ["他来了。", "「好！」", "真的吗？！", "是。"],
    ["वह आया।", "वह गया।", "ठीक है।"],
    ["هل أنت هنا؟", "نعم."],
    ["یہ ایک جملہ ہے۔", "یہ دوسرا ہے۔"],
    ["hello there!", "how are you?", "fine"],
    ["Er sagte: „Komm.“", "Dann ging er.", "¿Qué?", "¡Nada!"],
    ["Это проф. Иванов.", "Он тут."],
    ["« Bonjour. »", "Il part.", "« Vraiment ? » dit-elle.", "« Oui ! »", "Elle rit."],
    ["(It rained. )", "We stayed.", "“Yes. ”", "Fine."],
    ["It is 5 p.m.", "He left at 6 a.m.", "Then came 9 A.M. EST and 5 p.m. Monday."],
]


@pytest.mark.parametrize("sentences", SENTENCES, ids=lambda sentences: sentences[0])
def test_sentences_end_where_a_reader_says(sentences: list[str]) -> None:
    glue = "" if sentences[0][-1] == "。" else " "
    assert [piece.text for piece in split(glue.join(sentences))] == sentences


def test_a_closing_mark_after_a_line_break_begins_a_line() -> None:
    assert split("Non.\n» Oui.") == [Piece("Non.", "\n"), Piece("» Oui.")]


def test_dividers_end_a_sentence_and_stay_between_the_pieces() -> None:
    assert split("Home | About us · Contact") == [Piece("Home", " | "), Piece("About us", " · "), Piece("Contact")]
    assert split("| Name | 5 |") == [Piece("| Name", " | "), Piece("5 |")]
    assert split("a|b is c.") == [Piece("a|b is c.")]
    assert split("1.\tName \tAge\t") == [Piece("1.", "\t"), Piece("Name", " \t"), Piece("Age", "\t")]
    assert split("Name     Age   now") == [Piece("Name", "     "), Piece("Age   now")]


def test_spaces_and_line_breaks_stay_between_the_pieces() -> None:
    assert split("  One.  Two\n\nthree. ") == [
        Piece("", "  "),
        Piece("One.", "  "),
        Piece("Two", "\n\n"),
        Piece("three.", " "),
    ]


def test_a_long_sentence_is_cut_at_commas_then_spaces_then_characters() -> None:
    def texts(text: str, limit: int) -> list[str]:
        return [piece.text for sentence in split(text) for piece in cut(sentence, len, limit)]

    assert texts("red apples, green pears; blue plums", 23) == ["red apples,", "green pears; blue plums"]
    assert texts("one two three four", 9) == ["one two", "three", "four"]
    assert texts("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert texts("ab, cdefghij kl", 4) == ["ab,", "cdef", "ghij", "kl"]
    assert texts("我来了，他走了，你呢", 5) == ["我来了，", "他走了，", "你呢"]
    assert texts("it rains. we stay in. it is fine", 20) == ["it rains.", "we stay in.", "it is fine"]


def test_pieces_of_other_making_lose_nothing_either() -> None:
    for piece in (Piece("  one two ", "\n"), Piece("", " "), Piece("three")):
        assert join(cut(piece, len, 4)) == join([piece])


def test_a_very_long_word_takes_few_calls() -> None:
    calls = 0

    def length_of(text: str) -> int:
        nonlocal calls
        calls += 1
        return len(text)

    pieces = cut(Piece("x" * 20_000), length_of, 500)
    assert [len(piece.text) for piece in pieces] == [500] * 40
    assert calls < 22_000  # once a character, and few a piece


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ConfigError):
        cut(Piece("one"), len, 0)


def test_a_long_text_without_spaces_takes_no_more_time_per_sentence() -> None:
    sentence = "这是一个句子。"
    start = time.process_time()
    assert [piece.text for piece in split(sentence * 100_000)] == [sentence] * 100_000
    assert time.process_time() - start < 5
