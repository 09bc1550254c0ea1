"""Word documents: .docx, and .docm and .dotx, which differ in their content type only."""

from __future__ import annotations

from collections.abc import Iterator

from headwise.documents.document import Document, ReadOptions
from headwise.documents.office.drawing_text import drawing_places
from headwise.documents.office.open_packaging import OpenPackage
from headwise.documents.office.proofing import word_languages
from headwise.documents.office.word_text import PARAGRAPHS, WordText
from headwise.documents.office.xml_part import PackageDocument, PartPlace, XmlPart, attribute_value
from headwise.documents.xml_source import XmlSource

_KINDS = (
    "main",
    "wordprocessingml.header",
    "wordprocessingml.footer",
    "wordprocessingml.footnotes",
    "wordprocessingml.endnotes",
    "wordprocessingml.comments",
    "wordprocessingml.document.glossary",
    "drawingml.chart",
    "drawingml.diagramData",
    "drawingml.diagramDrawing",
    "ms-office.drawingml.diagramDrawing",
)


def read_docx(data: bytes, options: ReadOptions) -> Document:
    """Read a Word document: its body, headers, footers, notes, comments, text boxes, charts and descriptions."""
    package = OpenPackage(data)
    package.require(("wordprocessingml", "ms-word"), "a Word document")
    parts = [_part(name, package.xml(name)) for name, _ in package.parts(_KINDS)]
    styles = b"".join(package.zip.read(name) for name, _ in package.parts(["wordprocessingml.styles"]))
    languages = word_languages(styles, options.source, options.target)
    return PackageDocument(package.zip, [*parts, *package.core_properties()], proofing=languages)


def _part(name: str, source: XmlSource) -> XmlPart:
    return XmlPart(name, source, _places(source))


def _places(source: XmlSource) -> Iterator[PartPlace]:
    text = WordText(source)
    for element in source.root.walk():
        if element.name in PARAGRAPHS:
            yield text.paragraph(element)
        elif element.local == "shape":
            yield from attribute_value(source, element, "alt")
        elif element.local == "textpath":
            yield from attribute_value(source, element, "string")
        else:
            yield from drawing_places(source, element)
