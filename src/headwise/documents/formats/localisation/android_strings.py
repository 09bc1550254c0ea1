"""Android strings.xml: strings, items of arrays and plurals are texts; resources that are not text stay as they are.

Elements such as <b> are pairs of marks, <xliff:g> is kept. Apostrophes and quotation marks of translations are escaped
as Android requires; a string in quotation marks stays in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.localisation.inline_xml import Content, Inline, content
from headwise.documents.formats.localisation.message_lines import message
from headwise.documents.formats.localisation.slots import Slot, SlotDocument, in_place
from headwise.documents.marked_text import MarkedText, Part
from headwise.documents.xml_source import Element, Leaf, LeafKind, XmlSource, escape_text
from headwise.errors import DataError

_INLINE = Inline(codes=frozenset(), protected=lambda element: element.local == "g" and "xliff" in element.name)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t"}
_REFERENCE = re.compile(r"\s*[@?][\w.:+*]+(?:/[\w.]+)?\s*")
_WRAPPED = re.compile(r"[ \t]*[\r\n]\s*")


def read_android(data: bytes, options: ReadOptions) -> Document:
    """Read a file of Android string resources."""
    xml = XmlSource(data)
    if xml.root.local != "resources":
        raise DataError(f"this is not a file of Android resources: its first element is <{xml.root.local}>")
    return SlotDocument(xml, (_slot(xml, element) for element in _texts(xml.root)))


def _texts(root: Element) -> Iterator[Element]:
    for element in root.elements:
        if element.attributes.get("translatable") == "false":
            continue
        if element.local == "string":
            yield element
        elif element.local in ("string-array", "plurals"):
            yield from (child for child in element.elements if child.local == "item")


def _slot(xml: XmlSource, element: Element) -> Slot:
    start, end = element.content_start, element.content_end
    if _REFERENCE.fullmatch(element.text):
        return Slot([], lambda translations: [])
    leaves = [child for child in element.children if isinstance(child, Leaf)]
    if len(element.children) == len(leaves) == 1 and leaves[0].kind is LeafKind.CDATA:
        return _verbatim(leaves[0])
    found = content(xml, element, _INLINE)
    quoted = _is_quoted(found)
    parts = [_unescaped(part, quoted) if isinstance(part, str) else part for part in found.segment.parts]
    if all(isinstance(part, str) for part in parts):
        return _plain(start, end, found, "".join(map(str, parts)), quoted)
    segment = MarkedText(parts)
    if not segment.has_letters:
        return Slot([], lambda translations: [])
    escaped = Content(segment, found.before, found.after, found.source)
    return in_place(start, end, [segment], lambda given: escaped.filled(given[0], lambda text: _escaped(text, quoted)))


def _is_quoted(found: Content) -> bool:
    source = found.source
    return len(source) > 1 and source[0] == source[-1] == '"' and not source.endswith('\\"')


def _plain(start: int, end: int, found: Content, text: str, quoted: bool) -> Slot:
    """A string without elements, whose paragraphs are texts of their own."""
    whole = message(text)

    def render(translations: Sequence[MarkedText]) -> str:
        inner = _escaped(whole.filled(translations), quoted)
        return found.before + (f'"{inner}"' if quoted else inner) + found.after

    return in_place(start, end, whole.segments, render)


def _verbatim(leaf: Leaf) -> Slot:
    """Text in a CDATA section, which is mostly HTML: tags are left to the rules for placeholders."""
    whole = message(_unescaped(leaf.text, False))

    def render(translations: Sequence[MarkedText]) -> str:
        filled = whole.filled(translations).replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"<![CDATA[{filled.replace(']]>', ']] >')}]]>"

    return in_place(leaf.start, leaf.end, whole.segments, render)


def _unescaped(part: Part, quoted: bool) -> str:
    """The characters that Android shows. Line ends of the file are spaces unless the string is quoted."""
    assert isinstance(part, str)
    text = part.removeprefix('"').removesuffix('"') if quoted else _WRAPPED.sub(" ", part)

    def character(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[2], found[2])

    return _ESCAPE.sub(character, text)


def _escaped(text: str, quoted: bool) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
    if not quoted:
        text = text.replace("'", "\\'")
    if text[:1] in ("@", "?"):
        text = f"\\{text}"
    return escape_text(text)
