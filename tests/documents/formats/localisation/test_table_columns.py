"""CSV and TSV: cells of named columns change, every other byte stays."""

import csv
import io

import pytest

from headwise.documents.document import ReadOptions
from headwise.documents.formats.localisation.table_columns import read_csv
from headwise.documents.marked_text import MarkedText
from tests.documents.formats.localisation.pseudo import check_damage, check_round_trip, refused, rewritten, texts

FILE = b'id,"Name", text \r\n1,"A, ""b""",Hello there\r\n2,x,"Quoted\nlines"\r\n3,,\r\n4,short'
COLUMNS = ReadOptions(columns=("text",))


def test_columns_are_named_by_heading_or_number() -> None:
    assert texts(read_csv(FILE, COLUMNS)) == ["Hello there", "Quoted lines"]
    assert texts(read_csv(FILE, ReadOptions(columns=("Name",)))) == ['A, "b"', "x", "short"]
    assert texts(read_csv(b"Ab\tc\n", ReadOptions(columns=("2",)))) == ["c"]
    assert texts(read_csv(b"a;Text\n1;Two, three\n", ReadOptions(columns=("Text",)))) == ["Two, three"]


@pytest.mark.parametrize("delimiter", [b",", b";", b"\t"])
def test_files_come_back(delimiter: bytes) -> None:
    for options in (COLUMNS, ReadOptions(columns=("Name", "3"))):
        check_round_trip(read_csv, FILE.replace(b",", delimiter), options)
        _, _, written = rewritten(read_csv, FILE, options)
        before, after = (list(csv.reader(io.StringIO(data.decode(), newline=""))) for data in (FILE, written))
        assert [row[0] for row in before] == [row[0] for row in after]
        assert [len(row) for row in before] == [len(row) for row in after]


def test_quotes_are_added_only_where_needed() -> None:
    document = read_csv(b"t\nOne\nTwo\n", ReadOptions(columns=("t",)))
    assert document.write([MarkedText(["a, b"]), MarkedText(['c "d"'])]) == b't\n"a, b"\nc "d"\n'


def test_columns_have_to_be_named() -> None:
    refused(read_csv, FILE, "name the columns to translate: --columns .* 'id', 'Name', 'text'")
    refused(read_csv, FILE, "no column 'x'", ReadOptions(columns=("x",)))
    refused(read_csv, b"", "empty")
    check_damage(read_csv, FILE, COLUMNS)
