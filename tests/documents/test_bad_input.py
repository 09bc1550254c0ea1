"""Bad input: each file is refused in one line that names it, and nothing is left under the name of the output."""

import errno
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from headwise.decode.translator import Translator
from headwise.documents import translate_document as module
from headwise.documents.document import ReadOptions
from headwise.documents.formats.format_table import BY_SUFFIX
from headwise.documents.translate_document import DocumentOptions, translate_document
from headwise.errors import DataError, HeadwiseError
from tests.documents.formats.test_docx import docx
from tests.documents.formats.test_odf import odt
from tests.documents.office.packages import with_part
from tests.documents.test_translate_document import catalogue, expected
from tests.taught import taught

LAUGHS = "".join(f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 10))
XML_BOMB = f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l9;</a>'


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator(taught(), device="cpu")


def word() -> bytes:
    return docx("<w:p><w:r><w:t>The cat sees an apple.</w:t></w:r></w:p>")


def large_part() -> bytes:
    """A package of 40 kB with a part of 40 MB."""
    return with_part(word(), "word/document.xml", " " * (40 << 20))


CASES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "zip bomb": ("a.docx", large_part, "would unpack to more"),
    "XML bomb in a package": (
        "a.docx",
        lambda: with_part(word(), "word/document.xml", XML_BOMB),
        "part 'word/document.xml': the XML defines entities",
    ),
    "XML bomb": ("a.xlf", XML_BOMB.encode, "the XML defines entities"),
    "main part missing": (
        "a.docx",
        lambda: with_part(word(), "word/document.xml", None),
        "its main part is missing",
    ),
    "content types missing": ("a.docx", lambda: with_part(word(), "[Content_Types].xml", None), "no content types"),
    "invalid XML": (
        "a.docx",
        lambda: with_part(word(), "word/document.xml", "<w:document><w:body>"),
        "part 'word/document.xml': damaged XML",
    ),
    "PDF as Word": ("a.docx", lambda: b"%PDF-1.5\n...", r"not a zip archive.*looks like a PDF file"),
    "old Word file": ("a.docx", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "of an old format"),
    "HTML as Word": ("a.docx", lambda: b"<!DOCTYPE html><p>Hello</p>", "looks like an HTML page"),
    "Word as OpenDocument": ("a.odt", word, "looks like a Word document"),
    "Word as JSON": ("a.json", word, "looks like a Word document"),
    "OpenDocument as Word": ("a.docx", lambda: odt("<text:p>Hello</text:p>"), "looks like an OpenDocument file"),
    "encrypted OpenDocument": (
        "a.odt",
        lambda: with_part(odt(""), "META-INF/manifest.xml", "<m><encryption-data/></m>"),
        "password protected",
    ),
    "unknown encoding": ("a.html", lambda: b"<meta charset=x-klingon><p>Hello</p>", "unknown encoding: x-klingon"),
    "unknown encoding in XML": (
        "a.xlf",
        lambda: b'<?xml version="1.0" encoding="x-klingon"?><xliff/>',
        "unknown encoding: x-klingon",
    ),
    "an encoding that never works": (
        "a.xml",
        lambda: b'<?xml version="1.0" encoding="undefined"?><resources/>',
        "encoding undefined",
    ),
    "not an encoding of text": ("a.html", lambda: b"<meta charset=rot13><p>Hello</p>", "not an encoding of text"),
    "an encoding of domain names": (
        "a.html",
        lambda: b"<meta charset=punycode><p>Hello-</p>",
        "not for files: punycode",
    ),
    "an encoding of domain names in XML": (
        "a.xlf",
        lambda: b'<?xml version="1.0" encoding="punycode"?><xliff/>-',
        "not for files: punycode",
    ),
    "an encoding of domain names in PO": (
        "a.po",
        lambda: b'msgid ""\nmsgstr "Content-Type: text/plain; charset=idna\\n"\n',
        "not for files: idna",
    ),
    "deep JSON": ("a.json", lambda: b"[" * 100_000, "nested more than"),
    "deep XML": ("a.xml", lambda: b"<a>" * 2_000 + b"</a>" * 2_000, "nested more than"),
    "nothing": ("a.docx", bytes, "not a zip archive"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_file_is_refused_in_one_line(case: str, translator: Translator, tmp_path: Path) -> None:
    name, make, message = CASES[case]
    source, out = tmp_path / name, tmp_path / f"out{Path(name).suffix}"
    source.write_bytes(make())
    with pytest.raises(DataError, match=message) as caught:
        translate_document(translator, source, out, DocumentOptions())
    assert str(caught.value).startswith(f"{name}: ")
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("suffix", [".docx", ".odt"])
def test_a_package_that_is_cut_off_is_refused_wherever_it_ends(suffix: str) -> None:
    data = word() if suffix == ".docx" else odt("<text:p>Hello</text:p>")
    read = BY_SUFFIX[suffix].read
    for end in range(0, len(data), 7):
        with pytest.raises(DataError):
            read(data[:end], ReadOptions())


def test_a_picture_of_any_size_is_no_bomb(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(word())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as file:
        file.writestr("word/media/image.bin", os.urandom(8 << 20))
    data = path.read_bytes()
    document = BY_SUFFIX[".docx"].read(data, ReadOptions())
    assert len(document.write(document.segments)) == pytest.approx(len(data), rel=0.01)


def test_a_link_as_output_leaves_the_input_alone(translator: Translator, tmp_path: Path) -> None:
    source, link = tmp_path / "in.po", tmp_path / "out.po"
    source.write_bytes(catalogue(3))
    link.symlink_to(source)
    with pytest.raises(HeadwiseError, match="is the input"):
        translate_document(translator, source, link, DocumentOptions())
    assert source.read_bytes() == catalogue(3)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder that this user may not write to")
def test_a_folder_that_cannot_be_written_to(translator: Translator, tmp_path: Path) -> None:
    source, folder = tmp_path / "in.po", tmp_path / "closed"
    source.write_bytes(catalogue(3))
    folder.mkdir(mode=0o500)
    with pytest.raises(HeadwiseError, match=r"out\.po"):
        translate_document(translator, source, folder / "out.po", DocumentOptions())


@pytest.mark.parametrize("writes", [0, 1, 2, 3])
def test_a_full_disk_loses_nothing(
    writes: int, translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "in.po", tmp_path / "out.po"
    source.write_bytes(catalogue(60))
    left, sync = iter(range(writes)), os.fsync

    def fails_when_full(descriptor: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(module, "FIRST_STEP", 1_000)
    monkeypatch.setattr(module, "STEP_SECONDS", 0.0)
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", fails_when_full)
        with pytest.raises(HeadwiseError, match=r"(?i)no room|no space|full"):
            translate_document(translator, source, out, DocumentOptions())
    assert not out.exists()
    translate_document(translator, source, out, DocumentOptions())
    assert out.read_bytes() == expected(source.read_bytes())
