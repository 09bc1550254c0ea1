"""Paragraphs of WordprocessingML, the markup of Word documents."""

from __future__ import annotations

from collections.abc import Iterator

from headwise.documents.office.fields import FieldItem, Fields, is_translated
from headwise.documents.office.inline import Format, Item, ItemKind
from headwise.documents.office.replacements import SourceSpan
from headwise.documents.office.xml_part import Paragraph
from headwise.documents.xml_source import Element, XmlSource, escape_text

WORD_NAMESPACES = (
    "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}",
    "{http://purl.oclc.org/ooxml/wordprocessingml/main}",
)
PARAGRAPHS = frozenset(f"{namespace}p" for namespace in WORD_NAMESPACES)

_ENCLOSING = frozenset({"hyperlink", "ins", "moveTo", "smartTag", "dir", "bdo", "customXml", "sdt", "fldSimple"})
_PROPERTIES = frozenset({"smartTagPr", "customXmlPr", "fldData"})
_DROPPED = frozenset({"rPr", "softHyphen", "lastRenderedPageBreak"})
"""Inside runs: hyphens and page breaks of the old text have no place in a new one."""
_IGNORED = frozenset({"lang", "noProof"})
"""Properties that do not change how text looks."""
_NO_BREAK_HYPHEN = "\u2011"
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


class WordText:
    """Reads the paragraphs of one part, in order: a field may begin in one and end in another."""

    def __init__(self, source: XmlSource) -> None:
        self.source = source
        self.fields = Fields()
        self.formats: dict[str, Format] = {}

    def paragraph(self, element: Element) -> Paragraph:
        """One paragraph."""
        start = element.content_start
        for child in element.elements:
            if child.local == "pPr":
                start = child.end
        prefix = self._prefix(element)
        items = self.fields.resolve(self._content(element, prefix))
        return Paragraph(start, element.content_end, items, lambda text, _: _encoded(text, prefix))

    def _prefix(self, element: Element) -> str:
        tag = self.source.source(element.start + 1, element.content_start)
        return tag[: tag.index(element.local)]

    def _content(self, parent: Element, prefix: str) -> Iterator[Item]:
        for child in parent.elements:
            name = child.local
            if name == "pPr" or name in _PROPERTIES:
                continue
            if name == "r":
                yield from self._run(child, prefix)
            elif name in _ENCLOSING:
                yield from self._enclosing(child, prefix)
            elif name in ("oMath", "oMathPara") and (text := child.text.strip()):
                yield Item(ItemKind.KEPT, text, raw=(SourceSpan(child.start, child.end),))
            else:
                yield _outside(child)

    def _enclosing(self, element: Element, prefix: str) -> Iterator[Item]:
        """An element around runs as tags with items between them, or as one item if there is no text."""
        whole = SourceSpan(element.start, element.end)
        inner = next((child for child in element.elements if child.local == "sdtContent"), element)
        items = list(self._content(inner, prefix))
        text = "".join(item.text for item in items if item.kind is ItemKind.TEXT)
        is_paired = any(isinstance(item, FieldItem) for item in items) or text
        if element.local == "fldSimple" and not is_translated(_value(element, "instr")):
            kind = ItemKind.KEPT if text.strip() else ItemKind.SINGLE
            yield Item(kind, text, raw=(whole,))
        elif not is_paired:
            yield Item(ItemKind.SINGLE, raw=(whole,))
        else:
            start = max([inner.content_start, *(each.end for each in inner.elements if each.local in _PROPERTIES)])
            yield Item(ItemKind.OPEN, raw=(SourceSpan(element.start, start),))
            yield from items
            yield Item(ItemKind.CLOSE, raw=(SourceSpan(inner.content_end, element.end),))

    def _run(self, run: Element, prefix: str) -> Iterator[Item]:
        form = self._format(run, prefix)
        for child in run.elements:
            if child.local in _DROPPED:
                continue
            raw = (SourceSpan(child.start, child.end),)
            match child.local:
                case "t":
                    if text := _text(child):
                        yield Item(ItemKind.TEXT, text, form)
                case "noBreakHyphen":
                    yield Item(ItemKind.TEXT, _NO_BREAK_HYPHEN, form)
                case "fldChar":
                    yield FieldItem(ItemKind.BARRIER, "", form, raw, is_alone=True, role=_value(child, "fldCharType"))
                case "instrText":
                    yield FieldItem(ItemKind.BARRIER, child.text, form, raw, is_alone=True, role="code")
                case _:
                    yield Item(_kind_in_run(child), "", form, raw)

    def _format(self, run: Element, prefix: str) -> Format:
        properties = next((child for child in run.elements if child.local == "rPr"), None)
        key = prefix + (_look(properties) if properties is not None else "")
        if key not in self.formats:
            before = (SourceSpan(properties.start, properties.end),) if properties is not None else ()
            self.formats[key] = Format(key, (f"<{prefix}r>", *before), f"</{prefix}r>")
        return self.formats[key]


def _kind_in_run(element: Element) -> ItemKind:
    if element.local in ("tab", "ptab"):
        return ItemKind.BARRIER
    if element.local in ("br", "cr"):
        return ItemKind.BARRIER if _value(element, "type") in ("page", "column") else ItemKind.BREAK
    return ItemKind.SINGLE


def _outside(element: Element) -> Item:
    """Markup between runs."""
    name = element.local
    raw = (SourceSpan(element.start, element.end),)
    if name == "proofErr":
        return Item(ItemKind.STALE, raw=raw)
    for ending, kind in (("Start", ItemKind.RANGE_START), ("End", ItemKind.RANGE_END)):
        if name.endswith(ending) and not name.startswith("customXml"):
            identity = f"{name.removesuffix(ending)} {_value(element, 'id')}"
            return Item(kind, raw=raw, name=identity)
    return Item(ItemKind.SINGLE, raw=raw)


def _value(element: Element, name: str) -> str:
    return next((value for key, value in element.attributes.items() if key.rpartition("}")[2] == name), "")


def _text(element: Element) -> str:
    text = element.text.replace("\n", " ").replace("\r", " ")
    return text if element.attributes.get(_XML_SPACE) == "preserve" else text.strip(" ")


def _look(properties: Element) -> str:
    """What formatting looks like: equal for run properties that differ in language and traces of editing only."""
    looks = []
    for element in properties.elements:
        if element.local in _IGNORED:
            continue
        values = [
            f"{name}={value}"
            for name, value in sorted(element.attributes.items())
            if not name.rpartition("}")[2].startswith(("rsid", "hint"))
        ]
        looks.append(
            f"{element.name} {' '.join(values)} ({_look(element)})" if values or element.children else element.name
        )
    return ";".join(looks)


def _encoded(text: str, prefix: str) -> str:
    """Text as elements of a run."""
    pieces = []
    for number, part in enumerate(text.split(_NO_BREAK_HYPHEN)):
        if number:
            pieces.append(f"<{prefix}noBreakHyphen/>")
        if part:
            space = ' xml:space="preserve"' if part != part.strip() else ""
            pieces.append(f"<{prefix}t{space}>{escape_text(part)}</{prefix}t>")
    return "".join(pieces)
