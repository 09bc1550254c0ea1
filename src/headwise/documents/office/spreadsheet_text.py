"""Texts of SpreadsheetML: strings of cells and comments, headers and footers of pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headwise.documents.office.drawing_text import look
from headwise.documents.office.inline import Format, Item, ItemKind
from headwise.documents.office.replacements import SourceSpan
from headwise.documents.office.xml_part import Paragraph
from headwise.documents.xml_source import Element, XmlSource, escape_text

_PARTS = re.compile("([\t\n])")
_CODE = re.compile(r'(&(?:"[^"]*"|\d+|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|.)|\n)', re.S)
_SECTIONS = frozenset({"&L", "&C", "&R"})
_VALUES = {"&P": "1", "&N": "1", "&D": "1", "&T": "1", "&F": "1", "&Z": "1", "&A": "1"}
"""Codes of headers and footers for page numbers, dates and names, and what the model sees in their place."""


def rich_string(source: XmlSource, element: Element) -> Paragraph:
    """A string of one text, or of runs with formats; readings of Japanese words stay as they are."""
    tag = source.source(element.start + 1, element.content_start)
    prefix = tag[: tag.index(element.local)]
    end = min([element.content_end, *(each.start for each in element.elements if each.local in ("rPh", "phoneticPr"))])
    items: list[Item] = []
    for child in element.elements:
        if child.local == "t":
            items += _items(child.text, Format())
        elif child.local == "r":
            properties = next((each for each in child.elements if each.local == "rPr"), None)
            before = (SourceSpan(properties.start, properties.end),) if properties is not None else ()
            form = Format(f"run {look(properties)}", (f"<{prefix}r>", *before), f"</{prefix}r>")
            items += _items("".join(each.text for each in child.elements if each.local == "t"), form)
    return Paragraph(element.content_start, end, items, lambda text, _: _encoded(text, prefix))


def _items(text: str, form: Format) -> Iterator[Item]:
    for part in filter(None, _PARTS.split(text)):
        kind = ItemKind.BARRIER if part == "\t" else ItemKind.BREAK if part == "\n" else ItemKind.TEXT
        yield Item(kind, part, form)


def _encoded(text: str, prefix: str) -> str:
    space = ' xml:space="preserve"' if text != text.strip() or "\n" in text else ""
    return f"<{prefix}t{space}>{escape_text(text)}</{prefix}t>"


def page_header(element: Element) -> Paragraph:
    """A header or footer of a page: text with codes for its three sections, for formats and for page numbers."""
    items = []
    for part in filter(None, _CODE.split(element.text)):
        raw = (escape_text(part),)
        if part == "&&":
            items.append(Item(ItemKind.TEXT, "&", Format()))
        elif part == "\n":
            items.append(Item(ItemKind.BREAK, raw=raw))
        elif part in _SECTIONS:
            items.append(Item(ItemKind.BARRIER, raw=raw))
        elif part in _VALUES:
            items.append(Item(ItemKind.KEPT, _VALUES[part], raw=raw))
        elif part.startswith("&"):
            items.append(Item(ItemKind.SINGLE, raw=raw))
        else:
            items.append(Item(ItemKind.TEXT, part, Format()))
    return Paragraph(
        element.content_start, element.content_end, items, lambda text, _: escape_text(text.replace("&", "&&"))
    )
