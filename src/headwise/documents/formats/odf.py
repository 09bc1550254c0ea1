"""OpenDocument: texts, presentations, spreadsheets and drawings, and their templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from headwise.documents.document import Document, ReadOptions
from headwise.documents.marked_text import MarkedText
from headwise.documents.office.odf_sheets import TABLE, renamed_settings, sheet_names
from headwise.documents.office.odf_text import OFFICE, PARAGRAPHS, TEXT, OdfText
from headwise.documents.office.open_packaging import natural_order
from headwise.documents.office.proofing import odf_languages
from headwise.documents.office.sheet_names import SheetNames
from headwise.documents.office.xml_part import PackageDocument, PartPlace, XmlPart, element_value
from headwise.documents.xml_source import Element, XmlSource
from headwise.documents.zip_package import ZipPackage
from headwise.errors import DataError

_MANIFEST = "META-INF/manifest.xml"
_SETTINGS = "settings.xml"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_META = frozenset({"title", "subject", "description", "keyword"})
_UNTOUCHED = frozenset({f"{TEXT}tracked-changes", f"{OFFICE}scripts", f"{OFFICE}forms"})


def read_odf(data: bytes, options: ReadOptions) -> Document:
    """Read an OpenDocument file: content, names of sheets, headers, footers, notes, comments, charts, descriptions."""
    package = ZipPackage(data)
    if not {"content.xml", "styles.xml"} & {*package.names}:  # a template may have styles only
        raise DataError("the file is not an OpenDocument file, or its content.xml is missing")
    if _MANIFEST in package.names and b"encryption-data" in package.read(_MANIFEST):
        raise DataError("the file is password protected: save it without a password")
    parts = []
    sheets: SheetNames | None = None
    for name in _text_parts(package):
        try:
            source = XmlSource(package.read(name))
        except DataError as error:
            raise DataError(f"part {name!r}: {error}") from error
        places: Iterable[PartPlace] = _properties(source) if name == "meta.xml" else _places(source)
        if name == "content.xml":
            sheets = sheet_names(package, source, [*_text_parts(package)])
            places = chain([sheets] if sheets else [], places)
        parts.append(XmlPart(name, source, places))

    def settings(translations: Sequence[MarkedText]) -> dict[str, bytes]:
        if sheets is None or _SETTINGS not in package.names:
            return {}
        names = sheets.renamed(translations[: len(sheets.texts)])  # they are the first texts of the first part
        return {_SETTINGS: renamed_settings(package.read(_SETTINGS), names)}

    styles = package.read("styles.xml") if "styles.xml" in package.names else b""
    return PackageDocument(package, parts, settings, odf_languages(styles, options.source, options.target))


def _text_parts(package: ZipPackage) -> Iterator[str]:
    """The main parts, then those of embedded objects such as charts."""
    yield from (name for name in ("content.xml", "styles.xml", "meta.xml") if name in package.names)
    objects = (name for name in package.names if name.endswith("/content.xml"))
    yield from sorted(objects, key=natural_order)


def _properties(source: XmlSource) -> Iterator[PartPlace]:
    for element in source.root.walk():
        if element.local in _META:
            yield from element_value(element)


def _places(source: XmlSource) -> Iterator[PartPlace]:
    text = OdfText(source)
    for element in _walk(source.root):
        if element.name in PARAGRAPHS:
            if not _is_number(element.parent):
                yield text.paragraph(element)
        elif element.name in (f"{_SVG}title", f"{_SVG}desc"):
            yield from element_value(element)


def _is_number(parent: Element | None) -> bool:
    """Whether a paragraph in this element shows a number, a date or the result of a formula."""
    if parent is None or parent.name != f"{TABLE}table-cell":
        return False
    return parent.attributes.get(f"{OFFICE}value-type", "string") != "string" or f"{TABLE}formula" in parent.attributes


def _walk(root: Element) -> Iterator[Element]:
    """All elements in document order, without deleted text, scripts and forms."""
    stack = [root]
    while stack:
        element = stack.pop()
        if element.name not in _UNTOUCHED:
            yield element
            stack.extend(reversed([*element.elements]))
