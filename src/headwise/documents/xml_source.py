"""XML as a tree with positions: text can be replaced while every other byte of the file stays as it is.

A parser that builds a tree and writes it again changes quotes, entities, declarations and line ends. Here expat reports
where each tag and text lies, and changes are spliced into the original bytes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from xml.parsers import expat

from headwise.documents.encoded_text import codec_name
from headwise.errors import DataError

DEEPEST = 500
"""Nesting at which a file is refused: no honest document comes near, and walking its tree would overflow the stack."""

_TAG = re.compile(rb"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_ENCODING = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class LeafKind(Enum):
    """The kind of a node without children."""

    TEXT = "text"
    CDATA = "cdata"
    COMMENT = "comment"
    INSTRUCTION = "instruction"
    ENTITY = "entity"


@dataclass(slots=True, eq=False)
class Leaf:
    """Text, or another node without children, from byte `start` to before byte `end`."""

    kind: LeafKind
    start: int
    end: int
    text: str
    """Its value, with references resolved; an entity that the file does not define has that of HTML."""


@dataclass(slots=True, eq=False)
class Element:
    """An element; its content lies from `content_start` to before `content_end`, which are equal if it is empty."""

    name: str
    """`{namespace}local`, or the bare name outside of all namespaces."""
    attributes: dict[str, str]
    start: int
    content_start: int
    parent: Element | None
    content_end: int = 0
    end: int = 0
    children: list[Element | Leaf] = field(default_factory=list)

    @property
    def local(self) -> str:
        """The name without its namespace."""
        return self.name.rpartition("}")[2]

    @property
    def elements(self) -> Iterator[Element]:
        """The children that are elements."""
        return (child for child in self.children if isinstance(child, Element))

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in document order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed([*element.elements]))

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(
            leaf.text
            for element in self.walk()
            for leaf in element.children
            if isinstance(leaf, Leaf) and leaf.kind in (LeafKind.TEXT, LeafKind.CDATA, LeafKind.ENTITY)
        )


@dataclass(frozen=True)
class Edit:
    """Bytes from `start` to before `end` replaced by XML source text."""

    start: int
    end: int
    source: str


class XmlSource:
    """An XML file: its tree, the UTF-8 bytes that positions count, and the encoding to write."""

    def __init__(self, data: bytes) -> None:
        self.encoding, self._bom = _encoding(data)
        codec_name(self.encoding)
        try:
            text = data[len(self._bom) :].decode(self.encoding)
        except (LookupError, UnicodeError) as error:
            raise DataError(f"the XML is not in its declared encoding {self.encoding}") from error
        self.data = text.encode("utf-8")
        self.root = _Parser(self.data).parse()

    def source(self, start: int, end: int) -> str:
        """The source text between two positions, as it is in the file."""
        return self.data[start:end].decode("utf-8")

    def attribute(self, element: Element, name: str) -> tuple[int, int] | None:
        """The positions of an attribute's value, without its quotes; `name` is written as in the file."""
        tag = self.data[element.start : element.content_start]
        found = re.search(rb"\s" + re.escape(name.encode()) + rb"\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", tag)
        if found is None:
            return None
        group = 1 if found[1] is not None else 2
        return element.start + found.start(group), element.start + found.end(group)

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The file with these edits, which must not overlap, in its own encoding."""
        pieces: list[bytes] = []
        end = 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            if edit.start < end:
                raise ValueError(f"edits overlap at byte {edit.start}")
            pieces += [self.data[end : edit.start], edit.source.encode("utf-8")]
            end = edit.end
        pieces.append(self.data[end:])
        text = b"".join(pieces).decode("utf-8")
        return self._bom + text.encode(self.encoding, "xmlcharrefreplace")


def escape_text(text: str) -> str:
    """Text as XML source; characters that XML cannot hold are left out."""
    return html.escape(_ILLEGAL.sub("", text), quote=False)


def escape_attribute(text: str) -> str:
    """Text as the value of an attribute in either kind of quotes."""
    escaped = html.escape(_ILLEGAL.sub("", text))
    return escaped.replace("\t", "&#9;").replace("\n", "&#10;").replace("\r", "&#13;")


def _encoding(data: bytes) -> tuple[str, bytes]:
    """The encoding of a file and its byte order mark."""
    for bom, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(bom):
            return name, bom
    declared = _ENCODING.match(data[:200])
    return (declared[1].decode("ascii").lower() if declared else "utf-8"), b""


class _Parser:
    """Builds the tree of one file from the events of expat."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.root: Element | None = None
        self.open: list[Element] = []
        self.text: Leaf | None = None
        """Text that further events may continue."""
        self.in_cdata = False
        self.parser = expat.ParserCreate("utf-8", namespace_separator="}")
        self.parser.ordered_attributes = False
        self.parser.buffer_text = False
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartCdataSectionHandler = self.start_cdata
        self.parser.EndCdataSectionHandler = self.end_cdata
        self.parser.CommentHandler = lambda text: self.leaf(LeafKind.COMMENT, b"-->", text)
        self.parser.ProcessingInstructionHandler = lambda name, text: self.leaf(LeafKind.INSTRUCTION, b"?>", text)
        self.parser.SkippedEntityHandler = self.entity
        self.parser.EntityDeclHandler = self.refuse_entities

    def parse(self) -> Element:
        try:
            self.parser.Parse(self.data, True)
        except expat.ExpatError as error:
            raise DataError(f"damaged XML: {expat.ErrorString(error.code)}, line {error.lineno}") from error
        assert self.root is not None
        return self.root

    @property
    def position(self) -> int:
        return self.parser.CurrentByteIndex

    def finish_text(self) -> None:
        if self.text is not None and not self.in_cdata:
            self.text.end = self.position
            self.text = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.finish_text()
        if len(self.open) >= DEEPEST:
            raise DataError(f"the XML is nested more than {DEEPEST} deep")
        tag = _TAG.match(self.data, self.position)
        assert tag is not None, "expat accepts well-formed tags only"
        named = {_qualified(key): value for key, value in attributes.items()}
        parent = self.open[-1] if self.open else None
        element = Element(_qualified(name), named, self.position, tag.end(), parent)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self.open.append(element)

    def end(self, name: str) -> None:
        self.finish_text()
        element = self.open.pop()
        if self.data[element.content_start - 2 : element.content_start] == b"/>":
            element.content_end = element.end = element.content_start
        else:
            element.content_end = self.position
            element.end = self.data.index(b">", self.position) + 1

    def characters(self, text: str) -> None:
        if self.text is None:
            if not self.open:
                return
            kind = LeafKind.CDATA if self.in_cdata else LeafKind.TEXT
            self.text = Leaf(kind, self.position, self.position, "")
            self.open[-1].children.append(self.text)
        self.text.text += text

    def start_cdata(self) -> None:
        self.finish_text()
        self.in_cdata = True
        self.text = Leaf(LeafKind.CDATA, self.position, 0, "")
        self.open[-1].children.append(self.text)

    def end_cdata(self) -> None:
        assert self.text is not None
        self.text.end = self.data.index(b"]]>", max(self.position - 3, self.text.start)) + 3
        self.text, self.in_cdata = None, False

    def leaf(self, kind: LeafKind, closing: bytes, text: str) -> None:
        self.finish_text()
        if self.open:
            end = self.data.index(closing, self.position) + len(closing)
            self.open[-1].children.append(Leaf(kind, self.position, end, text))

    def entity(self, name: str, is_parameter: bool) -> None:
        if is_parameter or not self.open:
            return
        self.finish_text()
        end = self.position + len(name.encode("utf-8")) + 2
        self.open[-1].children.append(Leaf(LeafKind.ENTITY, self.position, end, html.unescape(f"&{name};")))

    def refuse_entities(self, *_: object) -> None:
        raise DataError("the XML defines entities of its own, which could expand without limit: it is refused")


def _qualified(name: str) -> str:
    """`{namespace}local` from expat's `namespace}local`."""
    return f"{{{name}" if "}" in name else name
