"""Java .properties: values change, everything else stays."""

from headwise.documents.document import ReadOptions
from headwise.documents.formats.localisation.java_properties import read_properties
from headwise.documents.marked_text import MarkedText
from tests.documents.formats.localisation.pseudo import check_damage, check_round_trip, refused, rewritten, texts

FILE = rb"""# A comment: with = separators
! another
title=Hello
  spaced.key : Two words \
     go on here
tab	Value with \u00e9 and \ttab
with\ space\:key = It is {0}''s file
empty=
number=12
last = One.\nTwo."""


def test_values_are_texts() -> None:
    assert texts(read_properties(FILE, ReadOptions())) == [
        "Hello",
        "Two words go on here",
        "Value with é and \ttab",
        "It is {0}'s file",
        "One.",
        "Two.",
    ]


def test_files_come_back() -> None:
    for data in (
        FILE,
        FILE.replace(b"\n", b"\r\n"),
        b"a=Gr\xfc\xdfe\n",
        "a=Grüße\nb=Hello".encode(),
        "a=Hello".encode("utf-16"),
    ):
        check_round_trip(read_properties, data)


def test_only_values_change() -> None:
    _, _, written = rewritten(read_properties, FILE)
    assert written.isascii()
    lines = written.split(b"\n")
    assert lines[:2] == FILE.split(b"\n")[:2]
    assert lines[3].startswith(b"  spaced.key : ")
    assert lines[5].startswith(b"with\\ space\\:key = ")
    assert lines[6:8] == [b"empty=", b"number=12"]


def test_apostrophes_are_doubled_where_there_are_arguments() -> None:
    document = read_properties(b"a=For {0}\nb=For all", ReadOptions())
    written = document.write([MarkedText(["L'ami {0} \U0001f600"]), MarkedText(["L'ami"])])
    assert written == b"a=L''ami {0} \\ud83d\\ude00\nb=L'ami"


def test_bad_files_are_refused_or_read() -> None:
    refused(read_properties, b"a\0b", "zero bytes")
    check_damage(read_properties, FILE)
