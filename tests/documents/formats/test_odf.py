"""OpenDocument files: paragraphs with spans, notes inside of them, cells, slides, and white space that collapses."""

import zipfile

import pytest

from headwise.documents.formats.odf import read_odf
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError
from tests.documents.office.packages import check_damage, check_round_trip, contents, entries, package, read, shapes

NAMES = "urn:oasis:names:tc:opendocument:xmlns"
SPACES = " ".join(f'xmlns:{name}="{NAMES}:{name}:1.0"' for name in ("office", "text", "style", "table", "draw"))
STYLES = (
    '<style:style style:name="T1" style:family="text"><style:text-properties officeooo:rsid="1"/></style:style>'
    '<style:style style:name="T2" style:family="text"><style:text-properties fo:b="1"/></style:style>'
    '<style:style style:name="T3" style:family="text">'
    '<style:text-properties fo:b="1" officeooo:rsid="2"/></style:style>'
)


def odt(body: str, **others: str) -> bytes:
    start = f'<office:document-content {SPACES} xmlns:fo="f" xmlns:officeooo="o" xmlns:xlink="x" '
    start += f'xmlns:svg="{NAMES}:svg-compatible:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/">'
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"{start}<office:automatic-styles>{STYLES}</office:automatic-styles><office:body>"
        f"{body}</office:body></office:document-content>",
    }
    for name, inner in others.items():
        parts[f"{name}.xml"] = f"{start}{inner}</office:document-content>"
    return package(parts)


CASES = {
    "spans of one look are one word": (
        'A <text:span text:style-name="T2">bo</text:span><text:span text:style-name="T3">ld</text:span> word '
        'and <text:span text:style-name="T1">plain</text:span>',
        ["A [bold] word and plain"],
    ),
    "white space collapses, elements count": (
        "\n  Two<text:s text:c='2'/>spaces,\n   one <text:span text:style-name='T2'> bold</text:span>",
        ["Two  spaces, one [bold]"],
    ),
    "tabs separate, line breaks do not": ("Name<text:tab/>First<text:line-break/>second", ["Name", "First| second"]),
    "links and fields": (
        'See <text:a xlink:href="h">page</text:a> <text:page-number>7</text:page-number> of it',
        ["See [page] {7} of it"],
    ),
    "notes are texts of their own": (
        "Word<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>The note</text:p>"
        "</text:note-body></text:note> goes on",
        ["Word| goes on", "The note"],
    ),
    "a frame first": (
        "<draw:frame><svg:title>Logo</svg:title><draw:text-box>"
        "<text:p>In <text:span text:style-name='T2'>it</text:span>"
        "</text:p></draw:text-box></draw:frame>After",
        ["After", "Logo", "In [it]"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_paragraphs(name: str) -> None:
    source, expected = CASES[name]
    data = odt(f"<text:p>{source}</text:p>")
    assert shapes(read(read_odf, data)) == expected
    check_round_trip(read_odf, data)


def test_spaces_are_written_so_that_they_count() -> None:
    document = read(read_odf, odt("<text:p>word</text:p>"))
    written = document.write([MarkedText(["  two   three & "])])
    assert (
        '<text:p><text:s text:c="2"/>two <text:s text:c="2"/>three &amp; </text:p>' in contents(written)["content.xml"]
    )


def test_numbers_changes_and_other_parts() -> None:
    body = (
        "<text:tracked-changes><text:p>Deleted</text:p></text:tracked-changes>"
        '<table:table table:name="Sheet"><table:table-cell office:value-type="date"><text:p>1 May</text:p>'
        "<office:annotation><text:p>Holiday</text:p></office:annotation></table:table-cell>"
        '<table:table-cell office:value-type="string"><text:p>Cell</text:p></table:table-cell></table:table>'
    )
    header = "<office:master-styles><style:header><text:p>Head</text:p></style:header></office:master-styles>"
    data = odt(body, styles=header, meta="<dc:title>Title</dc:title><dc:creator>Ann</dc:creator>")
    assert shapes(read(read_odf, data)) == ["Holiday", "Cell", "Head", "Title"]
    written = check_round_trip(read_odf, data)
    assert entries(written)[0] == ("mimetype", zipfile.ZIP_STORED, b"application/vnd.oasis.opendocument.text")


VIEW = '<config:config-item-map-entry config:name="{0}"/><config:config-item config:name="ActiveTable">{0}'


def ods(formula: str = "", **others: str) -> bytes:
    """A spreadsheet of two sheets, whose settings hold the view of the first."""
    sheets = "".join(
        f'<table:table table:name="{name}"><table:table-cell table:formula="{formula}"/></table:table>'
        for name in ("Income", "Old costs")
    )
    settings = f'<config:config xmlns:config="{NAMES}:config:1.0">{VIEW.format("Income")}</config:config-item>'
    others = {"settings": f"{settings}</config:config>", **others}
    return odt(f"<office:spreadsheet>{sheets}</office:spreadsheet>", **others)


def test_names_of_sheets_and_the_views_of_them() -> None:
    data = ods()
    assert shapes(read(read_odf, data)) == ["Income", "Old costs"]
    written = contents(check_round_trip(read_odf, data))
    assert 'table:name="\u00cd\u00f1c\u00f3m\u00e9"' in written["content.xml"]
    assert VIEW.format("\u00cd\u00f1c\u00f3m\u00e9") in written["settings.xml"]


@pytest.mark.parametrize("formula", ["of:=[$Income.A1]", "of:=[$&apos;Old costs&apos;.B2]", "of:=INDIRECT([.A1])"])
def test_names_of_sheets_in_formulas_stay(formula: str) -> None:
    for name in ("Income", "Old costs"):
        assert (name in shapes(read(read_odf, ods(formula)))) == (name not in formula and "INDIRECT" not in formula)


def test_embedded_objects_of_any_name() -> None:
    data = odt("<text:p>Text</text:p>", **{"Object_1/content": "<text:p>Axis</text:p>"})
    assert shapes(read(read_odf, data)) == ["Text", "Axis"]


def test_bad_files_are_refused() -> None:
    with pytest.raises(DataError, match="not an OpenDocument file"):
        read(read_odf, package({"mimetype": "x"}))
    manifest = {"content.xml": "<a/>", "META-INF/manifest.xml": "<m><encryption-data/></m>"}
    with pytest.raises(DataError, match="password"):
        read(read_odf, package(manifest))
    check_damage(read_odf, odt("".join(f"<text:p>{source}</text:p>" for source, _ in CASES.values())))
