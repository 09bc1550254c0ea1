"""EPUB: content documents are translated as XHTML, with the table of contents and the description of the book."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.html import read_html
from headwise.documents.marked_text import MarkedText
from headwise.documents.office.replacements import Replacement
from headwise.documents.office.xml_part import PackageDocument, PackagePart, PlainValue, XmlPart, element_value
from headwise.documents.xml_source import XmlSource, escape_text
from headwise.documents.zip_package import ZipPackage
from headwise.errors import DataError

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Ways to obfuscate fonts, which leave the text readable."""
_XHTML = ("application/xhtml+xml", "text/html", "application/html+xml")
_NCX = "application/x-dtbncx+xml"
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_DESCRIBED = frozenset({f"{_DUBLIN_CORE}{name}" for name in ("title", "description", "subject")})


def read_epub(data: bytes, options: ReadOptions) -> Document:
    """Read an e-book: its description, its chapters in reading order, and its tables of contents."""
    package = ZipPackage(data)
    if _CONTAINER not in package.names:
        raise DataError("the file is not an EPUB: it has no META-INF/container.xml")
    _refuse_encrypted(package)
    book = _book_name(package)
    source = _xml(package, book)
    parts: list[PackagePart] = [_description(book, source, options.target)]
    for name, kind in _contents(book, source):
        if name not in package.names:
            continue
        if kind in _XHTML:
            parts.append(_Chapter(name, package.read(name), options))
        elif kind == _NCX:
            contents = _xml(package, name)
            parts.append(XmlPart(name, contents, _labels(contents)))
    return PackageDocument(package, parts)


class _Chapter:
    """A content document as a part of its package."""

    def __init__(self, name: str, data: bytes, options: ReadOptions) -> None:
        self.name = name
        try:
            self._page = read_html(data, options, is_xml=True)
        except DataError as error:
            raise DataError(f"part {name!r}: {error}") from error
        self.segments = self._page.segments

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The content document with the translations."""
        return self._page.write(translations)


def _refuse_encrypted(package: ZipPackage) -> None:
    if _ENCRYPTION not in package.names:
        return
    methods = (each for each in _xml(package, _ENCRYPTION).root.walk() if each.local == "EncryptionMethod")
    if any(method.attributes.get("Algorithm") not in _FONTS for method in methods):
        raise DataError("the e-book is encrypted (DRM): its text can be read by the shop's own programs only")


def _xml(package: ZipPackage, name: str) -> XmlSource:
    try:
        return XmlSource(package.read(name))
    except DataError as error:
        raise DataError(f"part {name!r}: {error}") from error


def _book_name(package: ZipPackage) -> str:
    """The name of the part that lists all others."""
    for element in _xml(package, _CONTAINER).root.walk():
        if element.local == "rootfile" and element.attributes.get("full-path"):
            return element.attributes["full-path"]
    raise DataError("META-INF/container.xml of the e-book names no package document")


def _description(name: str, source: XmlSource, target: str | None) -> XmlPart:
    """The title, description and subjects of the book; its language becomes that of the translation."""
    described = (each for each in source.root.walk() if each.name in _DESCRIBED)
    part = XmlPart(name, source, (place for each in described for place in element_value(each)))
    languages = [each for each in source.root.walk() if each.name == f"{_DUBLIN_CORE}language"]
    if target:
        part.always += [
            Replacement(each.content_start, each.content_end, (escape_text(target),))
            for each in languages
            if each.content_start < each.content_end
        ]
    return part


def _contents(book: str, source: XmlSource) -> Iterator[tuple[str, str]]:
    """The names of all parts and their kinds, chapters in reading order first."""
    elements = list(source.root.walk())
    items = {each.attributes.get("id", ""): each for each in elements if each.local == "item"}
    order = [each.attributes.get("idref", "") for each in elements if each.local == "itemref"]
    for key in dict.fromkeys([*order, *items]):
        if key in items:
            path = unquote(items[key].attributes.get("href", ""))
            yield (
                posixpath.normpath(posixpath.join(posixpath.dirname(book), path)),
                items[key].attributes.get("media-type", ""),
            )


def _labels(source: XmlSource) -> Iterator[PlainValue]:
    """The entries of a table of contents."""
    for element in source.root.walk():
        if element.local == "text":
            yield from element_value(element)
