"""PowerPoint presentations: .pptx, and .pptm, .ppsx, .ppsm, .potx and .potm, which differ in content type only."""

from __future__ import annotations

from collections.abc import Iterator

from headwise.documents.document import Document, ReadOptions
from headwise.documents.office.drawing_text import drawing_places
from headwise.documents.office.open_packaging import OpenPackage
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
"""Not masters and layouts: their prompts are seen by who edits a slide only."""


def read_pptx(data: bytes, options: ReadOptions) -> Document:
    """Read a presentation: its slides, notes, tables, charts, diagrams, comments and descriptions of pictures."""
    package = OpenPackage(data)
    package.require(("presentationml", "ms-powerpoint"), "a PowerPoint presentation")
    parts = []
    for name, _ in package.parts(_KINDS):
        source = package.xml(name)
        parts.append(XmlPart(name, source, _places(source)))
    return PackageDocument(package.zip, [*parts, *package.core_properties()])


def _places(source: XmlSource) -> Iterator[PartPlace]:
    for element in source.root.walk():
        if _is_comment(element):
            yield from element_value(element)
        else:
            yield from drawing_places(source, element)


def _is_comment(element: Element) -> bool:
    return element.local == "text" and element.parent is not None and element.parent.local == "cm"
