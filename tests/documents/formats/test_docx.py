"""Word documents: what is text, what is one text, and that everything else stays."""

import pytest

from headwise.documents.formats.docx import read_docx
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError
from tests.documents.office.packages import (
    check_damage,
    check_round_trip,
    contents,
    open_package,
    package,
    read,
    shapes,
)

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
DRAWING = 'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
COMPATIBILITY = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
WORD = "officedocument.wordprocessingml"


def run(text: str, properties: str = "", attributes: str = "") -> str:
    inner = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r{attributes}>{inner}<w:t xml:space="preserve">{text}</w:t></w:r>'


def field(code: str, result: str) -> str:
    return (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        f"<w:r><w:instrText> {code} </w:instrText></w:r>"
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        f'{result}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def docx(body: str, **others: str) -> bytes:
    parts = {
        "word/document.xml": (
            f"{WORD}.document.main",
            f"<?xml version='1.0'?>\r\n<w:document {W} {DRAWING} {MATH} {COMPATIBILITY}>"
            f"<w:body>{body}</w:body></w:document>",
        )
    }
    for kind, inner in others.items():
        parts[f"word/{kind}.xml"] = (f"{WORD}.{kind}", f"<w:{kind} {W}>{inner}</w:{kind}>")
    return open_package(parts)


def paragraph(*runs: str) -> str:
    return f'<w:p w:rsidR="1"><w:pPr><w:jc w:val="left"/></w:pPr>{"".join(runs)}</w:p>'


CASES = {
    "one word over several runs of one look": (
        [run("Hel", "<w:b/>"), '<w:proofErr w:type="x"/>', run("lo", '<w:b/><w:lang w:val="en"/>', ' w:rsidR="2"')],
        ["Hello"],
    ),
    "the most frequent format has no marks": (
        [run("This is "), run("bold", "<w:b/>"), run(" text.")],
        ["This is [bold] text."],
    ),
    "white space and marks around the text stay outside": (
        ['<w:bookmarkStart w:id="0" w:name="a"/>', run("  Title "), '<w:bookmarkEnd w:id="0"/>'],
        ["Title"],
    ),
    "a bookmark inside is a pair": (
        [run("see "), '<w:bookmarkStart w:id="0"/>', run("this"), '<w:bookmarkEnd w:id="0"/>', run(" one")],
        ["see [this] one"],
    ),
    "a link has one pair although its text has a style": (
        [run("See "), f'<w:hyperlink w:anchor="x">{run("the page", "<w:u/>")}</w:hyperlink>', run(" now.")],
        ["See [the page] now."],
    ),
    "a tab separates texts": (["<w:r><w:t>Name</w:t><w:tab/><w:t>Place</w:t></w:r>"], ["Name", "Place"]),
    "a line break does not join words": (["<w:r><w:t>One</w:t><w:br/><w:t>two</w:t></w:r>"], ["One| two"]),
    "an empty line separates texts": (["<w:r><w:t>One</w:t><w:br/><w:br/><w:t>two</w:t></w:r>"], ["One", "two"]),
    "a footnote inside a sentence": (
        [run("Word"), '<w:r><w:rPr><w:vertAlign/></w:rPr><w:footnoteReference w:id="2"/></w:r>', run(" and more")],
        ["Word| and more"],
    ),
    "a page number is kept": ([run("Page "), field("PAGE", run("3")), run(" of it")], ["Page {3} of it"]),
    "the text of a link field is translated": (
        [run("Go "), field('HYPERLINK "http://a.b"', run("there")), run(" soon")],
        ["Go [there] soon"],
    ),
    "inserted text is text, deleted text is not": (
        [
            run("We "),
            f"<w:ins>{run('now ')}</w:ins>",
            "<w:del><w:r><w:delText>not</w:delText></w:r></w:del>",
            run("go"),
        ],
        ["We [now ]|go"],
    ),
    "math is kept": ([run("Let "), "<m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath>", run(" be")], ["Let {x=1} be"]),
    "hyphens": (
        ["<w:r><w:t>well</w:t><w:noBreakHyphen/><w:t>kn</w:t><w:softHyphen/><w:t>own</w:t></w:r>"],
        ["well\u2011known"],
    ),
    "numbers are not text": ([run("12.5 %")], []),
}


@pytest.mark.parametrize("name", CASES)
def test_paragraphs(name: str) -> None:
    runs, expected = CASES[name]
    data = docx(paragraph(*runs))
    assert shapes(read(read_docx, data)) == expected
    check_round_trip(read_docx, data)


def test_only_the_changed_paragraph_is_written_anew() -> None:
    first, second = paragraph(run("One", "", ' w:rsidR="7"')), paragraph(run("Two &#38; "), run("more"))
    document = read(read_docx, docx(first + second))
    texts = [document.segments[0], MarkedText(["Deux & <plus> "])]
    written = contents(document.write(texts))["word/document.xml"]
    assert written == contents(docx(first + second))["word/document.xml"].replace(
        "".join([run("Two &#38; "), run("more")]),
        '<w:r><w:t xml:space="preserve">Deux &amp; &lt;plus&gt; </w:t></w:r>',
    )


def test_marks_may_change_places() -> None:
    document = read(read_docx, docx(paragraph(run("a "), run("b", "<w:b/>"), run(" cc "), run("d", "<w:i/>"))))
    parts = document.segments[0].parts
    assert parts[0] == "a "
    moved = MarkedText([*parts[5:], " x ", *parts[1:4]])
    written = contents(document.write([moved]))["word/document.xml"]
    order = [written.index(piece) for piece in ("<w:i/>", ">d<", "> x <", "<w:b/>", ">b<")]
    assert order == sorted(order)


def test_each_part_of_a_field_keeps_its_own_run() -> None:
    """LibreOffice drops the format of a page number whose parts share a run."""
    number = field("PAGE", run("1"))
    written = check_round_trip(read_docx, docx(paragraph(run("Page "), number, run(" of it"))))
    assert number.replace(' xml:space="preserve"', "") in contents(written)["word/document.xml"]


def test_fields_over_several_paragraphs() -> None:
    begin, end = field("TOC", "SPLIT").split("SPLIT")
    entry = paragraph(begin, run("Introduction"), "<w:r><w:tab/></w:r>", field("PAGEREF _a", run("3")))
    assert shapes(read(read_docx, docx(entry + paragraph(run("Last"), end)))) == ["Introduction", "Last"]
    begin, end = field("ADDIN BIBLIOGRAPHY", "SPLIT").split("SPLIT")
    data = docx(paragraph(begin, run("Knuth")) + paragraph(run("Lamport"), end, run("After")))
    assert shapes(read(read_docx, data)) == ["After"]
    check_round_trip(read_docx, data)


def test_text_boxes_in_both_versions_and_descriptions() -> None:
    box = f"<w:txbxContent>{paragraph(run('Inner '), run('text', '<w:b/>'))}</w:txbxContent>"
    picture = (
        f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><wp:docPr id="1" name="Box 1" descr="A &quot;b&quot;"/>'
        f"{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
    )
    data = docx(paragraph(picture, run("Outer text")))
    assert shapes(read(read_docx, data)) == ["Outer text", 'A "b"', "Inner [text]", "Inner [text]"]
    written = contents(check_round_trip(read_docx, data))["word/document.xml"]
    assert written.count("Íññér ") == 2
    assert 'descr="Á &quot;b&quot;"' in written


def test_headers_notes_and_comments_are_text() -> None:
    data = docx(paragraph(run("Body")), header=paragraph(run("Head")), footnotes=paragraph(run("Note")))
    assert shapes(read(read_docx, data)) == ["Body", "Head", "Note"]
    check_round_trip(read_docx, data)


def test_other_files_are_refused() -> None:
    with pytest.raises(DataError, match="content types"):
        read(read_docx, package({"a": "b"}))
    other = open_package({"ppt/presentation.xml": ("officedocument.presentationml.presentation.main", "<a/>")})
    with pytest.raises(DataError, match="not a Word document"):
        read(read_docx, other)
    with pytest.raises(DataError, match=r"'word/document\.xml': damaged XML"):
        read(read_docx, docx("<w:p>"))


def test_damaged_files_are_read_or_refused() -> None:
    check_damage(read_docx, docx("".join(paragraph(*runs) for runs, _ in CASES.values())))
