"""Text of DrawingML: the paragraphs of slides, charts, diagrams and shapes, and the descriptions of pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headwise.documents.office.inline import Format, Item, ItemKind
from headwise.documents.office.replacements import SourceSpan
from headwise.documents.office.xml_part import Paragraph, PartPlace, attribute_value, element_value
from headwise.documents.xml_source import Element, XmlSource, escape_text

_DRAWING = (
    "{http://schemas.openxmlformats.org/drawingml/2006/main}",
    "{http://purl.oclc.org/ooxml/drawingml/main}",
)
_PARAGRAPHS = frozenset(f"{namespace}p" for namespace in _DRAWING)
_DESCRIBED = frozenset({"docPr", "cNvPr"})
_UNSEEN = frozenset({"lang", "altLang", "dirty", "err", "noProof", "smtClean", "smtId"})
"""Attributes of run properties that do not change how text looks."""
_LABELS = frozenset({"strCache", "strLit", "lvl"})
"""Lists of labels: what cells of the chart's table held, given labels, one level of nested labels."""
_PARTS = re.compile("([\t\n\v])")


def drawing_places(source: XmlSource, element: Element) -> Iterator[PartPlace]:
    """The texts of one element, not of those inside of it: a paragraph, a description, a label of a chart."""
    if element.name in _PARAGRAPHS:
        yield drawing_paragraph(source, element)
    elif element.local in _DESCRIBED:
        yield from attribute_value(source, element, "title")
        yield from attribute_value(source, element, "descr")
    elif _is_label(element):
        yield from element_value(element)


def _is_label(element: Element) -> bool:
    """Whether a value is a label of a chart: a category, the name of a series or of a trend."""
    above = element.parent
    if above is None or element.local not in ("v", "name"):
        return False
    if element.local == "name":
        return above.local == "trendline"
    return above.local == "tx" or (above.parent is not None and above.parent.local in _LABELS)


def drawing_paragraph(source: XmlSource, element: Element) -> Paragraph:
    """A paragraph of a text body."""
    tag = source.source(element.start + 1, element.content_start)
    prefix = tag[: tag.index("p")]
    start, end = element.content_start, element.content_end
    items: list[Item] = []
    for child in element.elements:
        if child.local == "pPr":
            start = child.end
        elif child.local == "endParaRPr":
            end = min(end, child.start)
        elif child.local == "r":
            items += _run(child, prefix)
        else:
            items.append(_between_runs(child))
    return Paragraph(start, end, items, lambda text, _: f"<{prefix}t>{escape_text(text)}</{prefix}t>")


def _run(run: Element, prefix: str) -> Iterator[Item]:
    properties = next((child for child in run.elements if child.local == "rPr"), None)
    text = "".join(child.text for child in run.elements if child.local == "t")
    before = (SourceSpan(properties.start, properties.end),) if properties is not None else ()
    form = Format(look(properties, _UNSEEN), (f"<{prefix}r>", *before), f"</{prefix}r>")
    for part in filter(None, _PARTS.split(text)):
        kind = ItemKind.BARRIER if part == "\t" else ItemKind.BREAK if part in "\n\v" else ItemKind.TEXT
        yield Item(kind, part, form)


def _between_runs(element: Element) -> Item:
    raw = (SourceSpan(element.start, element.end),)
    if element.local == "br":
        return Item(ItemKind.BREAK, raw=raw)
    text = "".join(child.text for child in element.elements if child.local == "t")
    if element.local == "fld" and text.strip():
        return Item(ItemKind.KEPT, text, raw=raw)
    return Item(ItemKind.SINGLE, raw=raw)


def look(properties: Element | None, unseen: frozenset[str] = frozenset()) -> str:
    """What formatting looks like, as text that is equal for equal formatting; attributes in `unseen` do not count."""
    if properties is None:
        return ""
    values = [f"{name}={value}" for name, value in sorted(properties.attributes.items()) if name not in unseen]
    return " ".join(values) + "".join(f"({each.name} {look(each, unseen)})" for each in properties.elements)
