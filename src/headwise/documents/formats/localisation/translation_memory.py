"""TMX files: units without the target language get it, translated from the source language; all else stays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headwise.data.read.languages import best
from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.localisation.inline_xml import Content, Inline, content
from headwise.documents.formats.localisation.slots import Slot, SlotDocument
from headwise.documents.marked_text import MarkedText
from headwise.documents.xml_source import Edit, Element, XmlSource, escape_attribute
from headwise.errors import DataError

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_INLINE = Inline(codes=frozenset({"bpt", "ept", "ph", "it", "ut"}), starts={"bpt": "ept"}, numbers=("i",))
_SPACE_BEFORE = re.compile(r"[ \t\r\n]*\Z")


def read_tmx(data: bytes, options: ReadOptions) -> Document:
    """Read a TMX file. Without a source and a target language in the options there is nothing to translate."""
    xml = XmlSource(data)
    if xml.root.local != "tmx":
        raise DataError(f"this is not a TMX file: its first element is <{xml.root.local}>")
    return SlotDocument(xml, _slots(xml, options))


def _slots(xml: XmlSource, options: ReadOptions) -> Iterator[Slot]:
    if not options.source or not options.target:
        return
    for unit in xml.root.walk():
        if unit.local != "tu":
            continue
        variants = [child for child in unit.elements if child.local == "tuv"]
        codes = [variant.attributes.get(_LANG) or variant.attributes.get("lang", "") for variant in variants]
        source, target = best(options.source, codes), best(options.target, codes)
        if source is None or source == target:
            continue
        slot = _unit(xml, variants[source], None if target is None else variants[target], options)
        if slot:
            yield slot


def _unit(xml: XmlSource, source: Element, target: Element | None, options: ReadOptions) -> Slot | None:
    """The slot of a unit; None if it has a translation or nothing to translate."""
    segment = _segment(source)
    present = _segment(target) if target else None
    if segment is None or (target and present is None):
        return None
    if present and present.text.strip() and not options.again:
        return None
    found = content(xml, segment, _INLINE)
    if not found.segment.has_letters:
        return None

    def edits(translations: Sequence[MarkedText]) -> list[Edit]:
        if present is None:
            return [_variant(xml, source, segment, found, translations[0], options.target or "")]
        filled = found.filled(translations[0])
        if present.content_start == present.content_end == present.end:  # <seg/>
            return [Edit(present.start, present.end, f"<seg>{filled}</seg>")]
        return [Edit(present.content_start, present.content_end, filled)]

    return Slot([found.segment], edits)


def _segment(variant: Element) -> Element | None:
    return next((child for child in variant.elements if child.local == "seg"), None)


def _variant(
    xml: XmlSource, source: Element, segment: Element, found: Content, translation: MarkedText, language: str
) -> Edit:
    """A new variant after that of the source language, laid out like it; properties and notes are not its own."""
    assert source.parent is not None
    outer = _SPACE_BEFORE.search(xml.source(source.parent.content_start, source.start))
    inner = _SPACE_BEFORE.search(xml.source(source.content_start, segment.start))
    closing = _SPACE_BEFORE.search(xml.source(segment.end, source.content_end))
    assert outer is not None
    assert inner is not None
    assert closing is not None
    name = "xml:lang" if _LANG in source.attributes else "lang"
    made = (
        f'{outer[0]}<tuv {name}="{escape_attribute(language)}">{inner[0]}'
        f"<seg>{found.filled(translation)}</seg>{closing[0]}</tuv>"
    )
    return Edit(source.end, source.end, made)
