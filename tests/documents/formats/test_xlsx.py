"""Excel workbooks: strings change, and what refers to names still finds them."""

import pytest

from headwise.documents.formats.xlsx import read_xlsx
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError
from tests.documents.office.packages import (
    check_damage,
    check_round_trip,
    contents,
    open_package,
    read,
    shapes,
    with_part,
)

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SHEET = "officedocument.spreadsheetml"
CELLS = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><f>Data!A1&amp;"Yes"</f><v>3</v></c></row>'
TAIL = (
    '<dataValidations><dataValidation type="list" promptTitle="Choose" prompt="One &amp; only">'
    '<formula1>"Yes,No"</formula1></dataValidation></dataValidations>'
    "<headerFooter><oddHeader>&amp;LOur firm &amp;&amp; sons&amp;RPage &amp;P of &amp;N</oddHeader></headerFooter>"
)
STRINGS = (
    "<si><t>Simple</t></si><si><r><t>With </t></r><r><rPr><b/></rPr><t>bold</t></r><r><t> words</t></r></si>"
    "<si><t>12</t></si><si><t>Price</t></si><si><t>First line\nsecond</t></si>"
    "<si><t>漢字</t><rPh sb='0' eb='2'><t>かんじ</t></rPh></si>"
)


def xlsx(cells: str = CELLS, names: tuple[str, ...] = ("Data", "Summary", "Other")) -> bytes:
    sheets = "".join(f'<sheet name="{name}" sheetId="{number}"/>' for number, name in enumerate(names, 1))
    return open_package(
        {
            "xl/workbook.xml": (f"{SHEET}.sheet.main", f"<workbook {MAIN}><sheets>{sheets}</sheets></workbook>"),
            "xl/sharedStrings.xml": (f"{SHEET}.sharedStrings", f"<sst {MAIN}>{STRINGS}</sst>"),
            "xl/worksheets/sheet1.xml": (
                f"{SHEET}.worksheet",
                f"<worksheet {MAIN}><sheetData>{cells}</sheetData>{TAIL}</worksheet>",
            ),
            "xl/tables/table1.xml": (f"{SHEET}.table", f'<table {MAIN}><tableColumn name="Price"/></table>'),
        }
    )


EXPECTED = [
    "Summary",
    "Other",
    "Simple",
    "With [bold] words",
    "Price",
    "First line| second",
    "漢字",
    "Choose",
    "One & only",
    "Our firm & sons",
    "Page {1} of {1}",
]


def test_all_texts() -> None:
    assert shapes(read(read_xlsx, xlsx())) == EXPECTED


def test_round_trip() -> None:
    written = contents(check_round_trip(read_xlsx, xlsx()))
    sheet = written["xl/worksheets/sheet1.xml"]
    assert CELLS in sheet
    assert '<formula1>"Yes,No"</formula1>' in sheet
    assert "&amp;LÓúr fírm &amp;&amp; sóñs&amp;RPágé &amp;P óf &amp;N" in sheet
    assert 'name="Data"' in written["xl/workbook.xml"]
    assert "<si><t>Prícé</t></si>" in written["xl/sharedStrings.xml"]
    assert '<tableColumn name="Prícé"/>' in written["xl/tables/table1.xml"]
    assert '<t xml:space="preserve">Fírst líñé\nsécóñd</t>' in written["xl/sharedStrings.xml"]


def test_strings_inside_cells() -> None:
    data = xlsx('<row><c t="inlineStr"><is><t>In the cell</t></is></c></row>')
    assert "In the cell" in shapes(read(read_xlsx, data))
    check_round_trip(read_xlsx, data)


def test_names_of_sheets_stay_valid_and_different() -> None:
    document = read(read_xlsx, xlsx(names=("Data", "One", "Two", "Three")))
    new = ["data", "A [very] long/name: " + "x" * 40, "data"]
    texts = [MarkedText([text]) for text in new] + list(document.segments[3:])
    names = shapes(read(read_xlsx, document.write(texts)))[:3]
    assert names == ["data 2", "A  very  long name  xxxxxxxxxxx", "data 3"]
    assert all(len(name) <= 31 for name in names)


@pytest.mark.parametrize("formula", ["INDIRECT(A1)", "'Summary'!A1+Other!B2", "SUM(Summary:Other!A1)"])
def test_names_in_formulas_stay(formula: str) -> None:
    document = read(read_xlsx, xlsx(f"<row><c><f>{formula}</f></c></row>"))
    assert not {"Summary", "Other"} & {*shapes(document)}


@pytest.mark.parametrize("cell", ["<f>SUM(Table1[Price])</f>", '<is t="inlineStr"/>', '<f t="x">[1]Data!A1</f>'])
def test_headings_that_are_looked_up_stay(cell: str) -> None:
    assert "Price" not in shapes(read(read_xlsx, xlsx(f"<row><c>{cell}</c></row>")))


def test_headings_of_one_table_stay_different() -> None:
    columns = "".join(f'<tableColumn name="{name}"/>' for name in ("Price", "Simple", "12", "First line_x000a_second"))
    data = with_part(xlsx(), "xl/tables/table1.xml", f"<table {MAIN}>{columns}</table>")
    document = read(read_xlsx, data)
    assert not any("First line" in text for text in shapes(document)), "a heading of two lines is no single text"
    new = [MarkedText(["Prix"]) if text.text in ("Price", "Simple") else text for text in document.segments]
    written = contents(document.write(new))
    assert written["xl/tables/table1.xml"] == contents(data)["xl/tables/table1.xml"]
    assert "<t>Price</t>" in written["xl/sharedStrings.xml"]
    assert "<t>Simple</t>" in written["xl/sharedStrings.xml"]


def test_bad_files_are_refused() -> None:
    with pytest.raises(DataError, match="not an Excel workbook"):
        read(read_xlsx, open_package({}))
    check_damage(read_xlsx, xlsx())
