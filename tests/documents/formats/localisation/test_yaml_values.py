"""YAML: string values change, everything else stays."""

import pytest

from headwise.documents.document import ReadOptions
from headwise.documents.formats.localisation.yaml_values import read_yaml
from headwise.documents.marked_text import MarkedText
from tests.documents.formats.localisation.pseudo import check_damage, check_round_trip, refused, rewritten, texts

yaml = pytest.importorskip("ruamel.yaml", reason="the extra documents is not installed")

FILE = b"""# Catalogue
en:   # the language
  plain: Hello world   # a comment
  single: 'It''s here'
  double: "A \\"b\\" \\u00e9"
  anchor: &name Some name
  alias: *name
  number: 12
  yes_no: true
  list: [One, "Two", 3]
  literal: |
    First line.
    Second line.

  folded: >-
      Folded lines
      of one text
  empty:
"""


def test_values_are_texts() -> None:
    assert texts(read_yaml(FILE, ReadOptions())) == [
        "Hello world",
        "It's here",
        'A "b" é',
        "Some name",
        "One",
        "Two",
        "First line.",
        "Second line.",
        "Folded lines of one text",
    ]


@pytest.mark.parametrize("data", [FILE, FILE.replace(b"\n", b"\r\n"), b"\xef\xbb\xbfa: Bc\n", b"- One\n---\n- Two"])
def test_files_come_back(data: bytes) -> None:
    check_round_trip(read_yaml, data)


def test_comments_anchors_and_keys_stay() -> None:
    _, _, written = rewritten(read_yaml, FILE)
    before, after = (yaml.YAML(typ="safe", pure=True).load(data) for data in (FILE, written))
    assert before["en"].keys() == after["en"].keys()
    assert after["en"]["alias"] == after["en"]["anchor"] != before["en"]["anchor"]
    assert b"   # a comment\n" in written
    assert b"  literal: |\n    " in written
    assert b"\n\n  folded: >-\n      " in written


def test_a_plain_string_is_quoted_where_it_would_be_misread() -> None:
    for text in ("yes", "a: b", "- x", "12", "# c", "x #y", "@z", "a\nb", "x "):
        written = read_yaml(b"k: Text\n", ReadOptions()).write([MarkedText([text])])
        assert yaml.YAML(typ="safe", pure=True).load(written) == {"k": text}


def test_the_language_of_a_rails_catalogue_is_renamed() -> None:
    document = read_yaml(FILE, ReadOptions(source="en", target="de"))
    assert document.write(document.segments) == FILE.replace(b"en:   #", b"de:   #")


def test_bad_files_are_refused_in_one_line() -> None:
    refused(read_yaml, b"a: [", "damaged YAML")
    refused(read_yaml, b"a: b: c", "damaged YAML in line 1")
    refused(read_yaml, b"[" * 5000, "damaged YAML")
    check_damage(read_yaml, FILE)
