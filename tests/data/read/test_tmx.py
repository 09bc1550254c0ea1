import gzip
import re
import tracemalloc
from pathlib import Path

import pytest

from headwise.data.read import tmx
from headwise.data.read.pairs import Pair
from headwise.data.read.tmx import read_tmx
from headwise.errors import DataError
from tests.data.conftest import Write

HEAD = '<?xml version="1.0" encoding="{}"?>\n<tmx version="1.4"><header srclang="en"/><body>\n'
TAIL = "</body></tmx>\n"


def ignore(note: str) -> None:
    pass


def unit(*variants: tuple[str, str]) -> str:
    parts = "".join(f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>' for language, text in variants)
    return f"<tu>{parts}</tu>\n"


def document(*units: str, encoding: str = "utf-8") -> str:
    return HEAD.format(encoding) + "".join(units) + TAIL


def texts(path: Path, source: str = "en", target: str = "de") -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_tmx(path, source, target, ignore)]


def test_units_have_the_line_where_they_start(write: Write) -> None:
    path = write("a.tmx", document(unit(("en", "one"), ("de", "eins")), unit(("de", "zwei"), ("en", "two"))))
    assert list(read_tmx(path, "en", "de", ignore)) == [
        Pair("one", "eins", str(path), 3),
        Pair("two", "zwei", str(path), 4),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings(write: Write, encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    content = document(unit(("en", "bigger"), ("de", "größer")), encoding=declared).encode(encoding)
    assert texts(write("a.tmx", content)) == [("bigger", "größer")]
    assert texts(write("a.tmx.gz", gzip.compress(content))) == [("bigger", "größer")]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (("en-US", "de-DE"), "1"),
        (("EN", "DE"), "1"),
        (("en_gb", "de"), "1"),
        (("en-US", "de", "en"), "3"),
        (("en-US", "de", "en-GB"), "1"),
        (("en-AT", "de", "en-EN"), "3"),
    ],
)
def test_variants_match_and_the_exact_code_is_preferred(write: Write, codes: tuple[str, ...], expected: str) -> None:
    path = write("a.tmx", document(unit(*((code, str(i)) for i, code in enumerate(codes, 1)))))
    assert texts(path) == [(expected, "2")]


def test_a_choice_between_variants_is_counted_and_a_full_code_can_be_asked_for(write: Write) -> None:
    units = [unit(("en", "1"), ("de-AT", "Jänner"), ("de-DE", "Januar")) for _ in range(3)]
    units += [
        unit(("en", "2"), ("de-DE", "Sahne"), ("de-AT", "Obers")),
        unit(("en", "3"), ("de", "ja"), ("de-AT", "jo")),
    ]
    path, notes = write("a.tmx", document(*units)), list[str]()
    found = [pair.target for pair in read_tmx(path, "en", "de", notes.append)]
    assert found == ["Januar", "Januar", "Januar", "Sahne", "ja"]
    [note] = notes
    assert "4 units have several variants of de (de-AT, de-DE): de-DE was taken" in note
    assert [target for _, target in texts(path, "en", "de-AT")] == ["Jänner", "Jänner", "Jänner", "Obers", "jo"]
    assert [target for _, target in texts(path, "en", "de_CH")] == ["ja"], "the plain code, but no other variant"


@pytest.mark.parametrize(
    ("segment", "expected"),
    [
        ('server<ph x="1">\n</ph>shows', "server shows"),
        ("server<ph>&lt;br/&gt;</ph>shows", "server shows"),
        ("server<ph>\\n</ph>shows", "server shows"),
        ("server<ph/>shows", "server shows"),
        ("server<it>x</it><ph>{1}</ph>shows", "server shows"),
        ("server.<ph>\n</ph>It shows", "server. It shows"),
        ("server <ph>\n</ph>shows", "server shows"),
        ("server<ph>\n</ph> shows", "server shows"),
        ("<ph>\n</ph>server<ph>\n</ph>", "server"),
        ("the server<ph>{1}</ph>, which", "the server, which"),
        ("un<bpt>&lt;b&gt;</bpt>believ<ept>&lt;/b&gt;</ept>able", "unbelievable"),
        ("日本<ph>{1}</ph>語", "日本語"),
    ],
)
def test_an_inline_code_does_not_glue_words_together(write: Write, segment: str, expected: str) -> None:
    assert texts(write("a.tmx", document(unit(("en", segment), ("de", "x"))))) == [(expected, "x")]


def test_a_longer_code_is_not_a_variant(write: Write) -> None:
    path = write("a.tmx", document(unit(("eng", "one"), ("de", "eins"))))
    with pytest.raises(DataError, match=r"no unit in both en and de; the TMX has: eng, de"):
        texts(path)


def test_the_old_lang_attribute_is_read(write: Write) -> None:
    content = document(unit(("en", "one"), ("de", "eins"))).replace("xml:lang", "lang")
    assert texts(write("a.tmx", content)) == [("one", "eins")]


def test_mark_up_is_dropped_and_highlighted_text_kept(write: Write) -> None:
    marked = (
        'Press <bpt i="1">&lt;b&gt;<sub>hint</sub></bpt><hi>OK</hi><ept i="1">&lt;/b&gt;</ept>'
        '<ph x="1">{img <hi>x</hi>}</ph>, <it pos="begin">i</it>then<ut>u</ut> go<sub>x</sub>'
    )
    path = write("a.tmx", document(unit(("en", marked), ("de", "x"))))
    assert texts(path) == [("Press OK, then go", "x")]


@pytest.mark.parametrize(
    "doctype",
    [
        "",
        '<!DOCTYPE tmx SYSTEM "tmx14.dtd">',
        '<!DOCTYPE tmx PUBLIC "-//LISA//DTD TMX" "http://x.invalid/t">',
    ],
)
@pytest.mark.parametrize("standalone", ["", ' standalone="yes"', ' standalone="no"'])
def test_entities_of_xml_and_html_need_no_document_type(write: Write, doctype: str, standalone: str) -> None:
    content = document(unit(("en", "a&nbsp;b &amp; &lt;c&gt; &#x2014; &hellip;"), ("de", "&uuml;")))
    content = content.replace("?>", f"{standalone}?>{doctype}", 1)
    for encoding in ("utf-8", "utf-16"):
        encoded = content.replace("utf-8", encoding, 1).encode(encoding)
        assert texts(write("a.tmx", encoded)) == [("a\u00a0b & <c> — …", "ü")]


def test_an_unknown_entity_is_reported(write: Write) -> None:
    path = write("a.tmx", document(unit(("en", "a &foo; b"), ("de", "x"))))
    with pytest.raises(DataError, match=re.escape(f"{path}:3: ") + r".*entity.*"):
        texts(path)


@pytest.mark.parametrize(
    "declarations",
    [
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY foo "&b;&b;&b;&b;&b;&b;&b;&b;">',
        '<!ENTITY foo SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://x.invalid/p"> %p;',
    ],
)
def test_declared_entities_are_refused(write: Write, declarations: str) -> None:
    content = document(unit(("en", "&foo;"), ("de", "x"))).replace("<tmx", f"<!DOCTYPE tmx [{declarations}]><tmx", 1)
    with pytest.raises(DataError, match="entity declarations are refused"):
        texts(write("a.tmx", content))


@pytest.mark.parametrize("content", ["no xml", document("<tu></tuv>")])
def test_broken_xml_is_reported_with_its_line(write: Write, content: str) -> None:
    path = write("a.tmx", content)
    with pytest.raises(DataError, match=re.escape(str(path)) + r":\d+: not well-formed XML"):
        texts(path)


@pytest.mark.parametrize("content", ["", "<tmx><body><tu>", "<tmx><bo"])
def test_a_file_that_is_cut_off_is_called_that(write: Write, content: str) -> None:
    with pytest.raises(DataError, match=r"a\.tmx:1: the file ends too early"):
        texts(write("a.tmx", content))


def test_another_kind_of_xml_is_no_tmx(write: Write) -> None:
    with pytest.raises(DataError, match="the first element is <html>, not <tmx>"):
        texts(write("a.tmx", "<html/>"))


def test_languages_that_are_not_there_are_told_those_that_are(write: Write) -> None:
    path = write("a.tmx", document(unit(("en-US", "one"), ("fr", "un"))))
    with pytest.raises(DataError, match=r"no unit in both en and de; the TMX has: en-US, fr"):
        texts(path)
    with pytest.raises(DataError, match="name two with --from and --to"):
        texts(path, "", "")


def test_units_without_both_languages_are_passed_over(write: Write) -> None:
    content = document(unit(("en", "only")), unit(("en", "one"), ("de", "eins")), unit(("de", "nur")))
    assert texts(write("a.tmx", content)) == [("one", "eins")]


def test_a_segment_or_tag_without_end_does_not_fill_the_memory(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmx, "MAX_LINE", 10_000)
    monkeypatch.setattr(tmx, "BLOCK", 1_000)
    with pytest.raises(DataError, match="a segment of more than"):
        texts(write("a.tmx", document(unit(("en", "x " * 10_000), ("de", "y")))))
    with pytest.raises(DataError, match="a tag of more than"):
        texts(write("b.tmx", document(f'<tu id="{"x" * 20_000}">')))


def test_memory_does_not_grow_with_the_file(write: Write) -> None:
    path = write("a.tmx", document(*(unit(("en", f"word {i} " * 20), ("de", f"Wort {i}")) for i in range(20_000))))
    assert path.stat().st_size > 4_000_000
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_tmx(path, "en", "de", ignore)) == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_500_000  # a block, and the pairs found in it
