"""JSON messages: string values change, everything else stays."""

import json

from headwise.documents.document import ReadOptions
from headwise.documents.formats.localisation.json_messages import read_json
from headwise.documents.marked_text import MarkedText
from tests.documents.formats.localisation.pseudo import check_damage, check_round_trip, refused, rewritten, texts

NESTED = b"""{
\t"title" : "Hello, \\"you\\"",
  "menu": { "open": "Open file", "items": ["First", "Second one", 3, null, true], "url": "https://a.b/c" },
  "key_one": "{{count}} file", "key_other": "{{count}} files", "empty": "", "id": "Some name",
  "route": "user.settings.title", "lines": "One line.\\nAnother line\\nwithout an end",
  "files": "{n, plural, =0 {No files} one {# file} other {# files of {name}}} are here"
}\r\n"""
ARB = b'{"@@locale": "en", "hi": "Hi {name}", "@hi": {"description": "A greeting", "placeholders": {"name": {}}}}'
EXTENSION = b'{"appName": {"message": "My app", "description": "The name", "placeholders": {"a": {"content": "$1"}}}}'


def test_texts_are_found_in_order() -> None:
    assert texts(read_json(NESTED, ReadOptions())) == [
        'Hello, "you"',
        "Open file",
        "First",
        "Second one",
        "{{count}} file",
        "{{count}} files",
        "One line.",
        "Another line without an end",
        "# files of {name} are here",
        "No files",
        "# file",
        "# files of {name}",
    ]
    assert texts(read_json(ARB, ReadOptions())) == ["Hi {name}"]
    assert texts(read_json(EXTENSION, ReadOptions())) == ["My app"]
    assert texts(read_json(b'["One", "Two"]', ReadOptions())) == ["One", "Two"]


def test_files_come_back() -> None:
    for data in (NESTED, ARB, EXTENSION, b'\xef\xbb\xbf{"a": "Bc"}', b'"Text"'):
        check_round_trip(read_json, data)


def test_everything_but_the_strings_stays() -> None:
    _, _, written = rewritten(read_json, NESTED)
    before, after = json.loads(NESTED), json.loads(written)
    assert before.keys() == after.keys()
    assert after["menu"]["items"][2:] == [3, None, True]
    assert b'{\n\t"title" : "' in written
    assert written.endswith(b"\n}\r\n")
    assert "one\nwithout" not in after["lines"]
    assert after["lines"].count("\n") == 2


def test_escapes_are_written_as_the_file_does() -> None:
    document = read_json(b'{"a": "caf\\u00e9 \\/ x"}', ReadOptions())
    assert document.write([MarkedText(["thé / y"])]) == b'{"a": "th\\u00e9 \\/ y"}'
    document = read_json(b'{"a": "Coffee"}', ReadOptions())
    assert document.write([MarkedText(["thé / y"])]) == '{"a": "thé / y"}'.encode()


def test_an_arb_file_names_its_language() -> None:
    document = read_json(ARB, ReadOptions(target="pt-BR"))
    assert b'"@@locale": "pt_BR"' in document.write(document.segments)


def test_bad_files_are_refused_in_one_line() -> None:
    for data in (b"", b"{", b'{"a" "b"}', b'{"a": "b"} x', b'{"a": "\n"}', b"[1,]", b"{'a': 1}"):
        refused(read_json, data, "damaged JSON")
    refused(read_json, b"[" * 100000, "nested")
    refused(read_json, b'{"a": "\xff"}', "encoding")
    check_damage(read_json, NESTED)
