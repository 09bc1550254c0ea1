"""HTML: texts with inline elements are found, and every byte around them stays."""

import time
from html.parser import HTMLParser

import pytest

from headwise.documents.document import ReadOptions
from headwise.documents.formats.html import read_html
from headwise.documents.marked_text import MarkedText
from headwise.documents.markup.html_tokens import TokenKind, html_tokens
from headwise.errors import DataError
from tests.documents.pseudo_translation import check_damaged, check_round_trip, pseudo, replaced, shapes

PAGE = """<!DOCTYPE html>\r
<html lang=en dir='ltr'>\r
<head><!-- a <p>comment</p> -->
<meta charset="utf-8"><meta name="description" content="About &quot;fish&quot; &amp; chips">
<meta name=viewport content="width=device-width"><meta property='og:title' content='It&#39;s here'>
<title>Fish &amp; chips</title>
<script>if (a < b) document.write("<p>no</p>");</script><style>p > a { color: red }</style>
<link rel=stylesheet href=a.css title="Default style">
</head>
<body>
<h1>Fresh   fish
 every <em>single</em> day</h1>
<p>Unclosed paragraph with <a href="x.html?a=1&amp;b=2" title='The "menu"'>a <b>bold</b> link</a>&nbsp;&copy;
<p>Line one<br>line two <img src=a.png alt="A plate"> and <code>x &lt; y</code>, <span translate=no>Keep Me</span>.
<p><b>All of it is bold.</b></p>
<p><i class="icon"></i> Save <!-- not this --> now</p>
<p>Mis<b><i>nested</b></i> tags and a stray</span> one
<ul><li>First<li>Second <sup>2</sup></ul>
<pre>kept   as it <b>is</b></pre>
<div class="x notranslate">Brand name <p>inside</p></div>
<table summary="Prices"><tr><th>Name<td>12.50<td>1&times;2</table>
<form><label>Your name <input placeholder="Jane Doe"></label><input type=submit value='Send it'>
<select><optgroup label=Fruit><option>Apple<option selected>Pear</select><textarea>default</textarea>
<button title=Close>Close</button></form>
<svg><title>no</title><text>no</text></svg>
<p>If 3 < 4 & 5 > 4, then AT&T; wins</p>
One<br><br>Two<br />
</body></html>
"""


def test_texts_and_marks_of_a_page() -> None:
    assert shapes(read_html(PAGE.encode(), ReadOptions())) == [
        'About "fish" & chips',
        "It's here",
        "Fish & chips",
        "Fresh fish every [1]single[/1] day",
        "Unclosed paragraph with [1]a [2]bold[/2] link[/1]\u00a0©",
        'The "menu"',
        "Line one[1/] line two [2/] and {x < y}, {Keep Me}.",
        "A plate",
        "All of it is bold.",
        "Save [1/]now",
        "Mis[1][2/]nested[/1][3/] tags and a stray[4/] one",
        "First",
        "Second [1]2[/1]",
        "Prices",
        "Name",
        "Your name",
        "Jane Doe",
        "Send it",
        "Fruit",
        "Apple",
        "Pear",
        "Close",
        "Close",
        "If 3 < 4 & 5 > 4, then AT&T; wins",
        "One",
        "Two",
    ]


def test_a_page_comes_back() -> None:
    written = check_round_trip(read_html, PAGE.encode()).decode()
    for kept in ("<!DOCTYPE html>\r\n<html lang=en dir='ltr'>\r\n", "<pre>kept   as it <b>is</b></pre>"):
        assert kept in written
    assert "content='Vg&#39;f urer'" in written
    assert '<a href="x.html?a=1&amp;b=2" title=\'Gur "zrah"\'>n <b>obyq</b> yvax</a>&nbsp;©' in written


def test_a_changed_attribute_within_an_unchanged_paragraph() -> None:
    document = read_html(PAGE.encode(), ReadOptions())
    written = document.write(replaced(document, {"A plate": 'Ein "Teller" <'})).decode()
    assert written == PAGE.replace('"A plate"', '"Ein &quot;Teller&quot; &lt;"')
    written = document.write(replaced(document, {"Fruit": "Obst & mehr"})).decode()
    assert written == PAGE.replace("label=Fruit", 'label="Obst &amp; mehr"')


def test_marks_may_move() -> None:
    document = read_html(b"<p>a <b>black</b> <i>cat</i></p>", ReadOptions())
    [text] = document.segments
    first, second = text.parts[1:4], text.parts[5:8]
    assert document.write([MarkedText([*second, " y ", *first])]) == b"<p><i>cat</i> y <b>black</b></p>"


def test_the_spaces_on_both_sides_of_a_picture_count() -> None:
    document = read_html(b"<p>a <img src=x> b <wbr> c</p>", ReadOptions())
    assert [part for part in document.segments[0].parts if isinstance(part, str)] == ["a ", " b ", "c"]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (PAGE, PAGE.replace("lang=en", 'lang="de"')),
        ("<html><p>x</p>", '<html lang="de"><p>x</p>'),
        ('<html xml:lang="en" lang="en">', '<html xml:lang="de" lang="de">'),
        ("<p>x</p>", "<p>x</p>"),
        ('<html lang=en><meta http-equiv=Content-Language content="en">',
         '<html lang="de"><meta http-equiv=Content-Language content="de">'),
    ],
)  # fmt: skip
def test_the_language_of_the_page(page: str, expected: str) -> None:
    document = read_html(page.encode(), ReadOptions(target="de"))
    assert document.write(document.segments).decode() == expected


@pytest.mark.parametrize(
    ("data", "text", "written"),
    [
        ("\ufeff<p>é</p>".encode(), "é", "\ufeff<p>é€日</p>".encode()),
        ("<p>é</p>".encode("utf-16"), "é", "<p>é€日</p>".encode("utf-16")),
        ("<p>passé composé</p>".encode("latin-1"), "passé composé", "<p>passé composé€&#26085;</p>".encode("cp1252")),
        (b"<meta charset=iso-8859-1><p>\x93\xe9</p>", "“é", b"<meta charset=iso-8859-1><p>\x93\xe9\x80&#26085;</p>"),
        ('<?xml version="1.0" encoding="koi8-r"?><p>да</p>'.encode("koi8-r"), "да", None),
    ],
)
def test_encodings(data: bytes, text: str, written: bytes | None) -> None:
    document = read_html(data, ReadOptions())
    assert [segment.text for segment in document.segments] == [text]
    assert document.write(document.segments) == data
    if written is not None:
        assert document.write([MarkedText([f"{text}€日"])]) == written


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'<meta charset="utf-8"><p>\xff</p>', "not in the encoding utf-8"),
        (b'<meta charset="no-such-thing"><p>x</p>', "unknown encoding"),
        (b"<meta charset=base64><p>x</p>", "not an encoding of text"),
        ("<p>привет</p>".encode("cp1251"), "encoding is unknown"),
        (b"\x00\xff\xfe\x01", "encoding is unknown"),
    ],
)
def test_unreadable_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_html(data, ReadOptions())


def test_xhtml_closes_its_elements() -> None:
    page = (
        '<?xml version="1.0"?><html><head><title/><script src="a"/></head>'
        '<body><p>A<a id="x"/> <![CDATA[<b>]]>b<br/>c &#160;</p></body></html>'
    )
    assert shapes(read_html(page.encode(), ReadOptions())) == ["A[1/] [2/]b[3/] c"]
    check_round_trip(read_html, page.encode())


@pytest.mark.parametrize(
    "unit", ["<", "<!--", "<p", "<b>", "</b>", "<p='", "<?", "<script>", "&", "<![CDATA[", "<code>"]
)
def test_damaged_pages_are_read_in_linear_time(unit: str) -> None:
    data = b"<i>x " + unit.encode() * 20_000 + b" y</u>"
    started = time.process_time()
    document = read_html(data, ReadOptions())
    assert document.write(document.segments) == data
    document.write([pseudo(segment) for segment in document.segments])
    assert time.process_time() - started < 5


def test_damaged_files_are_read_or_refused() -> None:
    check_damaged(read_html, PAGE.encode())


class _Oracle(HTMLParser):
    """Tags as the standard library finds them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"{tag} {[(name, value or '') for name, value in attrs]}")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")


def test_tags_are_those_of_the_standard_library() -> None:
    oracle = _Oracle()
    oracle.feed(PAGE)
    oracle.close()
    found = []
    for token in html_tokens(PAGE):
        if token.kind is TokenKind.START:
            found.append(f"{token.name} {[(attribute.name, attribute.value) for attribute in token.attributes]}")
            if token.is_closed:
                found.append(f"/{token.name}")
        elif token.kind is TokenKind.END:
            found.append(f"/{token.name}")
    assert found == oracle.tags
    assert "".join(PAGE[token.start : token.end] for token in html_tokens(PAGE)) == PAGE
