"""EPUB: chapters, tables of contents and descriptions are translated, and the package stays one."""

import io
import zipfile

import pytest

from headwise.documents.document import ReadOptions
from headwise.documents.formats.epub import read_epub
from headwise.errors import DataError
from tests.documents.pseudo_translation import pseudo, shape, shapes

PARTS = {
    "META-INF/container.xml": '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
    "</container>",
    "OEBPS/book.opf": '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf">'
    '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A Book</dc:title>'
    "<dc:creator>Ann Author</dc:creator>"
    "<dc:description>About &lt;b&gt;it&lt;/b&gt;</dc:description><dc:language>en</dc:language></metadata>"
    '<manifest><item id="toc" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    '<item id="two" href="two%20b.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="one" href="one.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="css" href="a.css" media-type="text/css"/></manifest>'
    '<spine toc="toc"><itemref idref="one"/><itemref idref="two"/></spine></package>',
    "OEBPS/two b.xhtml": '<!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
    "<body><h1>Two</h1><p>The <i>end</i>.</p></body></html>",
    "OEBPS/one.xhtml": '<?xml version="1.0"?><html lang="en"><body><p>One<br/>line</p></body></html>',
    "OEBPS/toc.ncx": '<?xml version="1.0"?><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><docTitle><text>A Book'
    "</text></docTitle><navMap><navPoint><navLabel><text>Chapter one</text></navLabel></navPoint></navMap></ncx>",
    "OEBPS/a.css": "p { color: red }",
}


def book(changed: dict[str, str] | None = None) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in {**PARTS, **(changed or {})}.items():
            file.writestr(name, text)
    return output.getvalue()


def parts(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def test_texts_in_reading_order() -> None:
    assert shapes(read_epub(book(), ReadOptions())) == [
        "A Book",
        "About <b>it</b>",
        "One[1/] line",
        "Two",
        "The [1]end[/1].",
        "A Book",
        "Chapter one",
    ]


def test_a_book_comes_back() -> None:
    document = read_epub(book(), ReadOptions())
    assert parts(document.write(document.segments)) == parts(book())
    translations = [pseudo(segment) for segment in document.segments]
    written = document.write(translations)
    with zipfile.ZipFile(io.BytesIO(written)) as file:
        first = file.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
    assert shapes(read_epub(written, ReadOptions())) == [shape(each) for each in translations]
    assert parts(written)["OEBPS/a.css"] == PARTS["OEBPS/a.css"]


def test_the_language_of_the_book() -> None:
    document = read_epub(book(), ReadOptions(target="de"))
    written = parts(document.write(document.segments))
    assert "<dc:language>de</dc:language>" in written["OEBPS/book.opf"]
    assert '<html lang="de">' in written["OEBPS/one.xhtml"]


def encryption(algorithm: str) -> dict[str, str]:
    method = f'<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#"><EncryptionMethod Algorithm="{algorithm}"/>'
    return {"META-INF/encryption.xml": f"<encryption>{method}</EncryptedData></encryption>"}


def test_encrypted_books_are_refused_and_obfuscated_fonts_are_not() -> None:
    assert read_epub(book(encryption("http://www.idpf.org/2008/embedding")), ReadOptions()).segments
    with pytest.raises(DataError, match="DRM"):
        read_epub(book(encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")), ReadOptions())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"garbage", "not a zip archive"),
        (book()[:-40], "not a zip archive"),
        (book({"META-INF/container.xml": "<container/>"}), "names no package document"),
        (book({"OEBPS/book.opf": "<package>"}), "part 'OEBPS/book.opf'"),
    ],
)
def test_damaged_books_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_epub(data, ReadOptions())
