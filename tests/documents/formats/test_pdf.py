"""PDF: paragraphs are rebuilt from lines, and files without readable text are refused."""

import io

import pytest

from headwise.documents.document import ReadOptions
from headwise.documents.formats.pdf import read_pdf
from headwise.documents.formats.pdf_paragraphs import Line, paragraphs, without_page_furniture
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError

pypdf = pytest.importorskip("pypdf")


def pdf(pages: list[list[tuple[int, int, str]]]) -> bytes:
    """A file with these lines: their heights on the page, sizes of type, and texts."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    kids = []
    for page in pages:
        content = "".join(f"BT /F {size} Tf 72 {y} Td ({text}) Tj ET\n" for y, size, text in page)
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}endstream")
        kids.append(len(objects) + 1)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects)} 0 R "
            f"/Resources << /Font << /F {font} >> >> >>"
        )
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>"
    data, offsets = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
    )
    return data + f"{end}startxref\n{len(data)}\n%%EOF\n".encode()


BODY = ["The first paragraph of a text that runs over lines and has a divi-", "ded word in it, and ends here."]
PAGE = [(780, 18, "A heading"), (740, 12, BODY[0]), (726, 12, BODY[1]), (690, 12, "Another paragraph.")]


def test_paragraphs_of_a_file() -> None:
    document = read_pdf(pdf([PAGE]), ReadOptions())
    assert [segment.text for segment in document.segments] == [
        "A heading",
        "The first paragraph of a text that runs over lines and has a divided word in it, and ends here.",
        "Another paragraph.",
    ]
    written = document.write([MarkedText([text]) for text in ("Eins", "Zwei", "Drei")])
    assert written == b"Eins\n\nZwei\n\nDrei\n"


def line(text: str, y: float, size: float = 12.0) -> Line:
    return Line(text, 72.0, y, size)


def test_headers_and_page_numbers_are_left_out() -> None:
    texts = [[f"{word}{letter}" for letter in "abcdef"] for word in ("one", "two", "three", "four")]
    pages = [
        [line(f"The Manual - {number}", 820), *map(line, words, range(780, 700, -14)), line(str(number), 30)]
        for number, words in enumerate(texts, 1)
    ]
    assert [[each.text for each in page] for page in without_page_furniture(pages)] == texts


def test_paragraphs_run_over_pages() -> None:
    first = [line("A line that fills the page from left to right and goes", 100), line("on and on over", 86)]
    second = [line("the end of the page.", 780), line("• An item", 766), line("• Another", 752)]
    assert list(paragraphs([first, second])) == [
        "A line that fills the page from left to right and goes on and on over the end of the page.",
        "• An item",
        "• Another",
    ]


def test_hyphens_of_compounds_stay() -> None:
    lines = [line("It is a well-", 100), line("known, well-known and long enough line for a text, and exam-", 86)]
    [text] = paragraphs([[*lines, line("ples of it.", 72)]])
    assert text == "It is a well-known, well-known and long enough line for a text, and examples of it."


def test_pages_without_text_are_refused() -> None:
    with pytest.raises(DataError, match="OCR"):
        read_pdf(pdf([[], []]), ReadOptions())


def test_passwords_are_asked_for() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf([PAGE])))
    writer.encrypt(user_password="secret", owner_password="owner", algorithm="RC4-128")
    output = io.BytesIO()
    writer.write(output)
    with pytest.raises(DataError, match="password"):
        read_pdf(output.getvalue(), ReadOptions())


@pytest.mark.parametrize(("version", "revision", "method"), [(5, 6, "AESV3"), (4, 4, "AESV2")])
def test_aes_is_named(version: int, revision: int, method: str) -> None:
    filters = f"/CF << /StdCF << /CFM /{method} /Length 16 >> >> /StmF /StdCF /StrF /StdCF"
    keys = f"/O <{'00' * 48}> /U <{'00' * 48}> /OE <{'00' * 32}> /UE <{'00' * 32}> /Perms <{'00' * 16}>"
    encryption = f"<< /Filter /Standard /V {version} /R {revision} /Length 128 /P -4 {keys} {filters} >>".encode()
    data = pdf([PAGE]).replace(b"/Root", b"/ID [<00> <00>] /Encrypt " + encryption + b" /Root")
    with pytest.raises(DataError, match=r"encrypted with AES|password protected"):  # AES needs another package
        read_pdf(data, ReadOptions())


@pytest.mark.parametrize("data", [b"garbage", b"%PDF-1.4\n garbage", pdf([PAGE])[:200]])
def test_damaged_files_are_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="PDF"):
        read_pdf(data, ReadOptions())


def test_leaders_of_a_table_of_contents_stay() -> None:
    document = read_pdf(pdf([[(700, 12, "Overview . . . . . . 13"), (600, 12, "Index ......... 20")]]), ReadOptions())
    assert [segment.text for segment in document.segments] == ["Overview", "Index"]
    assert document.write(document.segments) == b"Overview . . . . . . 13\n\nIndex ......... 20\n"
