"""PowerPoint presentations: .pptx, and .pptm and .potx, which differ in content type only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwise.documents.document import Document, ReadOptions
from headwise.documents.office.drawing_text import drawing_places
from headwise.documents.office.open_packaging import OpenPackage
from headwise.documents.office.proofing import slide_languages
from headwise.documents.office.xml_part import PackageDocument, PartPlace, XmlPart, element_value
from headwise.documents.xml_source import Element, XmlSource

_KINDS = (
    "presentationml.slide",
    "presentationml.notesSlide",
    "drawingml.chart",
    "drawingml.diagramData",
    "drawingml.diagramDrawing",
    "presentationml.comments",
    "ms-powerpoint.comments",
)
_BACKGROUNDS = ("presentationml.slideLayout", "presentationml.slideMaster")
"""What lies behind the slides. Texts in placeholders are left out there: they are prompts for who edits a slide."""


def read_pptx(data: bytes, options: ReadOptions) -> Document:
    """Read a presentation: slides with what lies behind them, notes, charts, diagrams, comments and descriptions."""
    package = OpenPackage(data)
    package.require(("presentationml", "ms-powerpoint"), "a PowerPoint presentation")
    parts = []
    for name, _ in package.parts(_KINDS):
        source = package.xml(name)
        parts.append(XmlPart(name, source, _places(source.root.walk(), source)))
    for name, _ in package.parts(_BACKGROUNDS):
        source = package.xml(name)
        parts.append(XmlPart(name, source, _places(_without_placeholders(source.root), source)))
    slide = next((package.zip.read(name) for name, _ in package.parts(_KINDS[:1])), b"")
    languages = slide_languages(slide, options.source, options.target)
    return PackageDocument(package.zip, [*parts, *package.core_properties()], proofing=languages)


def _places(elements: Iterable[Element], source: XmlSource) -> Iterator[PartPlace]:
    for element in elements:
        if _is_comment(element):
            yield from element_value(element)
        else:
            yield from drawing_places(source, element)


def _is_comment(element: Element) -> bool:
    return element.local == "text" and element.parent is not None and element.parent.local == "cm"


def _without_placeholders(root: Element) -> Iterator[Element]:
    """All elements in document order, without shapes that a slide fills."""
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed([each for each in element.elements if not _is_placeholder(each)]))


def _is_placeholder(shape: Element) -> bool:
    return any(
        mark.local == "ph" for head in shape.elements for properties in head.elements for mark in properties.elements
    )
