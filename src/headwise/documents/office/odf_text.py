"""Paragraphs of OpenDocument, whose runs are spans that refer to styles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headwise.documents.office.inline import Format, Item, ItemKind
from headwise.documents.office.replacements import SourceSpan
from headwise.documents.office.xml_part import Paragraph
from headwise.documents.xml_source import Element, Leaf, LeafKind, XmlSource, escape_text

TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
PARAGRAPHS = frozenset({f"{TEXT}p", f"{TEXT}h"})

_ENCLOSING = frozenset({f"{TEXT}a", f"{TEXT}meta", f"{TEXT}ruby-base"})
_TRANSLATED_FIELDS = frozenset({f"{TEXT}bookmark-ref", f"{TEXT}reference-ref", f"{TEXT}placeholder"})
_NO_FIELD = frozenset({f"{TEXT}note", f"{OFFICE}annotation", f"{TEXT}ruby"})
_SPACES = re.compile(r"[ \t\r\n]+")
_SEVERAL = re.compile("  +")
_TRACES = ("rsid", "language", "country", "script", "rfc-language-tag")
"""Properties of text that do not change how it looks: the time of editing, the language."""


class OdfText:
    """Reads the paragraphs of one part; spans with automatic styles of the same look are one format."""

    def __init__(self, source: XmlSource) -> None:
        self.source = source
        self.looks = dict(_automatic_looks(source.root))

    def paragraph(self, element: Element) -> Paragraph:
        """A paragraph or a heading."""
        tag = self.source.source(element.start + 1, element.content_start)
        prefix = tag[: tag.index(element.local)]
        reader = _Paragraph(self.looks, prefix)
        items = list(reader.content(element, Format()))
        return Paragraph(
            element.content_start, element.content_end, items, lambda text, before: _encoded(text, before, prefix)
        )


class _Paragraph:
    """Reads one paragraph, in which white space collapses across elements."""

    def __init__(self, looks: dict[str, str], prefix: str) -> None:
        self.looks, self.prefix = looks, prefix
        self.after_space = True

    def content(self, parent: Element, form: Format) -> Iterator[Item]:
        for child in parent.children:
            if isinstance(child, Element):
                yield from self._element(child, form)
            elif child.kind in (LeafKind.TEXT, LeafKind.CDATA) and (text := self._collapsed(child)):
                yield Item(ItemKind.TEXT, text, form)

    def _collapsed(self, leaf: Leaf) -> str:
        text = _SPACES.sub(" ", leaf.text)
        if self.after_space:
            text = text.removeprefix(" ")
        if text:
            self.after_space = text.endswith(" ")
        return text

    def _element(self, element: Element, form: Format) -> Iterator[Item]:
        raw = (SourceSpan(element.start, element.end),)
        name = element.name
        if name == f"{TEXT}span":
            yield from self.content(element, self._span_format(element, form))
            return
        if name == f"{TEXT}s":
            yield Item(ItemKind.TEXT, " " * _count(element), form)
        elif name == f"{TEXT}tab":
            yield Item(ItemKind.BARRIER, "", form, raw)
        elif name == f"{TEXT}line-break":
            yield Item(ItemKind.BREAK, "", form, raw)
        elif name in _ENCLOSING or name in _TRANSLATED_FIELDS:
            yield from self._enclosing(element, form)
            return
        elif name == f"{TEXT}soft-page-break":
            return
        else:
            yield self._other(element, form, raw)
        self.after_space = False

    def _other(self, element: Element, form: Format, raw: tuple[SourceSpan, ...]) -> Item:
        local = element.local
        if element.name.startswith(TEXT) or element.name.startswith(OFFICE):
            for ending, kind in (("-start", ItemKind.RANGE_START), ("-end", ItemKind.RANGE_END)):
                if local.endswith(ending):
                    return Item(kind, "", None, raw, name=f"{local.removesuffix(ending)} {_identity(element)}")
        is_field = element.name.startswith(TEXT) and element.name not in _NO_FIELD
        if is_field and element.text.strip() and not any(each.name in PARAGRAPHS for each in element.walk()):
            return Item(ItemKind.KEPT, element.text, form, raw)
        return Item(ItemKind.SINGLE, "", form, raw)

    def _enclosing(self, element: Element, form: Format) -> Iterator[Item]:
        items = list(self.content(element, form))
        if not any(item.kind is ItemKind.TEXT for item in items):
            yield Item(ItemKind.SINGLE, "", form, (SourceSpan(element.start, element.end),))
            return
        yield Item(ItemKind.OPEN, raw=(SourceSpan(element.start, element.content_start),))
        yield from items
        yield Item(ItemKind.CLOSE, raw=(SourceSpan(element.content_end, element.end),))

    def _span_format(self, span: Element, outer: Format) -> Format:
        style = span.attributes.get(f"{TEXT}style-name", "")
        look = self.looks.get(style, style)
        if not look:
            return outer
        before = (*outer.before, SourceSpan(span.start, span.content_start))
        return Format(f"{outer.key}|{look}", before, f"</{self.prefix}span>{outer.after}")


def _count(element: Element) -> int:
    value = element.attributes.get(f"{TEXT}c", "1")
    return min(int(value), 10_000) if value.isdecimal() else 1


def _identity(element: Element) -> str:
    names = ("name", "change-id", "id")
    return next((value for key, value in element.attributes.items() if key.rpartition("}")[2] in names), "")


def _automatic_looks(root: Element) -> Iterator[tuple[str, str]]:
    """The look of each automatic style of text, empty if it changes nothing that can be seen."""
    for group in root.elements:
        if group.name != f"{OFFICE}automatic-styles":
            continue
        for style in group.elements:
            name = style.attributes.get(f"{STYLE}name")
            if name and style.attributes.get(f"{STYLE}family") == "text":
                yield name, _look(style)


def _look(style: Element) -> str:
    own = [style.attributes.get(f"{STYLE}parent-style-name", "")]
    for properties in style.walk():
        if properties is not style:
            own += [
                f"{name}={value}"
                for name, value in sorted(properties.attributes.items())
                if not name.rpartition("}")[2].startswith(_TRACES)
            ]
    return " ".join(filter(None, own))


def _encoded(text: str, before: str, prefix: str) -> str:
    """Text as XML source: all but the first of several spaces are elements, since white space collapses."""
    if text.startswith(" ") and before in ("", " "):
        lead = len(text) - len(text.lstrip(" "))
        return _spaces(lead, prefix) + _encoded(text[lead:], "x", prefix)
    pieces = []
    position = 0
    for run in _SEVERAL.finditer(text):
        pieces += [escape_text(text[position : run.start()]), " ", _spaces(len(run[0]) - 1, prefix)]
        position = run.end()
    return "".join([*pieces, escape_text(text[position:])])


def _spaces(count: int, prefix: str) -> str:
    return f"<{prefix}s/>" if count == 1 else f'<{prefix}s {prefix}c="{count}"/>'
