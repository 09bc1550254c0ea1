"""Android strings: texts of resources change, everything else stays."""

from headwise.documents.document import ReadOptions
from headwise.documents.formats.localisation.android_strings import read_android
from headwise.documents.marked_text import MarkedText
from tests.documents.formats.localisation.pseudo import check_damage, check_round_trip, refused, rewritten, texts

FILE = rb"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:tools="http://schemas.android.com/tools" xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- a comment -->
    <string name="app" translatable="false">My App</string>
    <string name="a" tools:ignore="X">It\'s <b>bold</b> &amp; <xliff:g id="n" example="3">%1$d</xliff:g> files</string>
    <string name="b">"It's  quoted"</string>
    <string name="c">First line.\nSecond \u00e9\@x</string>
    <string name="d">@string/other</string>
    <string name="e"><![CDATA[Some <i>text</i>]]></string>
    <string name="f">A text
        that is wrapped</string>
    <string-array name="g"><item>One</item><item>12</item></string-array>
    <plurals name="h"><item quantity="one">%d file</item><item quantity="other">%d files</item></plurals>
    <integer name="i">3</integer>
</resources>
"""


def test_texts_are_found() -> None:
    assert texts(read_android(FILE, ReadOptions())) == [
        "It's bold & %1$d files",
        "It's  quoted",
        "First line.",
        "Second é@x",
        "Some <i>text</i>",
        "A text that is wrapped",
        "One",
        "%d file",
        "%d files",
    ]


def test_files_come_back() -> None:
    check_round_trip(read_android, FILE)
    _, _, written = rewritten(read_android, FILE)
    for line in FILE.splitlines():
        if b"comment" in line or b'"app"' in line or b"@string" in line or b"integer" in line:
            assert line in written


def test_apostrophes_and_quotes_are_escaped() -> None:
    document = read_android(b'<resources><string name="a">Text</string></resources>', ReadOptions())
    written = document.write([MarkedText(['l\'eau "x" <\n?'])])
    assert written == b'<resources><string name="a">l\\\'eau \\"x\\" &lt;\\n?</string></resources>'
    assert document.write([MarkedText(["?a"])]).count(b"\\?a") == 1


def test_bad_files_are_refused_in_one_line() -> None:
    refused(read_android, b"<a/>", "not a file of Android resources")
    check_damage(read_android, FILE)
