"""Plain text: paragraphs are found whatever their line ends, and their shape stays."""

import pytest

from headwise.documents.document import ReadOptions
from headwise.documents.formats.text_file import read_text
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError
from tests.documents.pseudo_translation import check_damaged, check_round_trip, shapes

NOTES = """My Title
========

This is a paragraph that was wrapped by hand at about sixty or seventy
characters, and so it goes on in the next line until it
ends here.

Dear Sir,
I write to you.

 * A first item which is long enough to be wrapped at the end of a line, and
   continues here
 * Second item

1. One
2. Two

> quoted text that is rather long, so that it has been wrapped by the mailer
> as it should be

    Name:     value here
    Other:    more
------------------------------------------------------------------------
"""


def test_paragraphs() -> None:
    assert shapes(read_text(NOTES.encode(), ReadOptions())) == [
        "My Title",
        "This is a paragraph that was wrapped by hand at about sixty or seventy characters, and so it goes on in the "
        "next line until it ends here.",
        "Dear Sir,",
        "I write to you.",
        "A first item which is long enough to be wrapped at the end of a line, and continues here",
        "Second item",
        "One",
        "Two",
        "quoted text that is rather long, so that it has been wrapped by the mailer as it should be",
        "Name:     value here",
        "Other:    more",
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_file_comes_back(line_end: str) -> None:
    data = NOTES.replace("\n", line_end).encode()
    written = check_round_trip(read_text, data).decode()
    assert f"{line_end}> nf vg fubhyq or{line_end}" in written
    assert all(len(line) <= 76 for line in written.split(line_end))


def test_one_line_stays_one_and_several_are_wrapped_anew() -> None:
    document = read_text(NOTES.encode(), ReadOptions())
    longer = [MarkedText([f"{segment.text} {segment.text}"]) for segment in document.segments]
    written = document.write(longer).decode()
    assert written.startswith("My Title My Title\n=================\n")
    assert "\n2. Two Two\n" in written
    for line in written.splitlines():
        assert len(line) <= 78
    again = read_text(written.encode(), ReadOptions())
    assert [text.text for text in again.segments] == [text.text for text in longer]


def test_damaged_files_are_read_or_refused() -> None:
    check_damaged(read_text, NOTES.encode())
    with pytest.raises(DataError, match="not text"):
        read_text(b"PK\x03\x04\x00\x00", ReadOptions())


def test_code_and_leaders_are_not_translated() -> None:
    text = "Run the commands:\n\n    $ make all\n    mkdir build\n\n1.2 Overview . . . . . . . 13\nIndex ........ 20\n"
    document = read_text(text.encode(), ReadOptions())
    assert shapes(document) == ["Run the commands:", "1.2 Overview", "Index"]
    check_round_trip(read_text, text.encode())


def test_a_list_of_sentences_is_not_wrapped_text() -> None:
    lines = ["Where is the station?", "My father works in a bank in London.", "Good morning!", "I ate an apple, too."]
    assert shapes(read_text("\n".join(lines).encode(), ReadOptions())) == lines
    lines = [f"I ate {number} apples and then I went to the station." for number in range(5)]
    assert shapes(read_text("\n".join(lines).encode(), ReadOptions())) == lines
