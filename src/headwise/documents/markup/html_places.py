"""Places of HTML that are translated: paragraphs with their inline elements, and attributes that people read."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from headwise.documents.marked_text import MarkedText
from headwise.documents.markup.element_roles import ElementRoles
from headwise.documents.markup.html_elements import HIDDEN, VOID, is_kept, is_protected, is_translated
from headwise.documents.markup.html_tokens import Attribute, HtmlToken, TokenKind, html_tokens
from headwise.documents.markup.passage import PassageItem, PassageKind, passage
from headwise.documents.spliced import MarkSpan, Place, Source

_SPACES = re.compile(r"[ \t\n\r\f]+")


def html_places(
    text: str,
    start: int = 0,
    end: int | None = None,
    *,
    is_xml: bool = False,
    roles: ElementRoles = ElementRoles(),  # noqa: B008  # a frozen value
) -> list[Place]:
    """All places of a page, or of a part of a text, that are translated."""
    tokens = list(html_tokens(text, start, end, is_xml=is_xml))
    return list(_Places(text, tokens, is_xml, roles).found())


def inline_source(translation: MarkedText, source: Source, nonbreaking_space: str = "\u00a0") -> str:
    """A text with marks as HTML."""
    pieces = []
    for part in translation.parts:
        if isinstance(part, str):
            pieces.append(html.escape(part, quote=False).replace("\u00a0", nonbreaking_space))
        elif isinstance(part.markup, MarkSpan):
            pieces.append(part.markup.written(source))
        else:
            pieces.append(html.escape(getattr(part, "text", ""), quote=False))
    return "".join(pieces)


class _Places:
    """One walk over the tokens of a page."""

    def __init__(self, text: str, tokens: Sequence[HtmlToken], is_xml: bool, roles: ElementRoles) -> None:
        self.text, self.tokens, self.is_xml, self.roles = text, tokens, is_xml, roles
        self.ends = _ends(tokens)
        self.items: list[PassageItem] = []
        """The paragraph so far."""
        self.nonbreaking_space = "&nbsp;" if "&nbsp;" in text else "\u00a0"

    def found(self) -> Iterator[Place]:
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.kind is TokenKind.START and not is_protected(token):
                yield from attribute_places(self.text, token)
            if self.roles.is_block(token.name):
                yield from self.paragraph()
                last = self.ends.get(index, index) if self.is_kept(token) else index
            else:
                last = self.inline(index)
            index = last + 1
        yield from self.paragraph()

    def is_kept(self, token: HtmlToken) -> bool:
        return is_kept(token) or token.name in self.roles.kept

    def paragraph(self) -> Iterator[Place]:
        """The paragraph that ends here; two line breaks in a row end one as well."""
        items, self.items = self.items, []
        for part in _split_at_empty_lines(items):
            found = passage(self.text, part)
            if found is not None:
                yield Place(found.start, found.end, found.text, self.write)

    def write(self, translation: MarkedText, source: Source) -> str:
        return inline_source(translation, source, self.nonbreaking_space)

    def inline(self, index: int) -> int:
        """Add a token to the paragraph; returns the index of the last token of what was added."""
        token = self.tokens[index]
        if token.kind is TokenKind.START and self.is_kept(token) and index in self.ends:
            last = self.ends[index]
            self.add_kept(token, index, last)
            return last
        self.items.append(self.item(token))
        return index

    def add_kept(self, token: HtmlToken, index: int, last: int) -> None:
        within = (each for each in self.tokens[index:last] if each.kind is TokenKind.TEXT)
        seen = "".join(html.unescape(self.text[each.start : each.end]) for each in within)
        kind = PassageKind.KEPT if seen.strip() and token.name not in HIDDEN else PassageKind.SINGLE
        self.items.append(PassageItem(kind, token.start, self.tokens[last].end, _SPACES.sub(" ", seen).strip()))

    def item(self, token: HtmlToken) -> PassageItem:
        if token.kind is TokenKind.TEXT:
            return PassageItem(
                PassageKind.TEXT, token.start, token.end, html.unescape(self.text[token.start : token.end])
            )
        kind = PassageKind.SINGLE
        if token.name == "br":
            kind = PassageKind.BREAK
        elif token.kind is TokenKind.END:
            kind = PassageKind.CLOSE
        elif token.kind is TokenKind.START and token.name not in VOID and not (self.is_xml and token.is_closed):
            kind = PassageKind.OPEN
        return PassageItem(kind, token.start, token.end, token.name)


def attribute_places(text: str, token: HtmlToken) -> Iterator[Place]:
    """The places of a start tag's attributes that people read."""
    for attribute in token.attributes:
        value = MarkedText([_SPACES.sub(" ", attribute.value).strip()])
        if value.has_letters and is_translated(token, attribute.name):
            yield _attribute_place(text, attribute, value)


def _attribute_place(text: str, attribute: Attribute, value: MarkedText) -> Place:
    quote = text[attribute.start]
    if quote not in "\"'":
        quote = '"'

    def write(translation: MarkedText, source: Source) -> str:
        escaped = html.escape(translation.text, quote=False)
        return quote + escaped.replace(quote, "&quot;" if quote == '"' else "&#39;") + quote

    return Place(attribute.start, attribute.end, value, write)


def _ends(tokens: Sequence[HtmlToken]) -> dict[int, int]:
    """The index of each start tag -> that of its end tag, where it has one."""
    ends: dict[int, int] = {}
    waiting: dict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(tokens):
        if token.kind is TokenKind.START:
            waiting[token.name].append(index)
        elif token.kind is TokenKind.END and waiting[token.name]:
            ends[waiting[token.name].pop()] = index
    return ends


def _split_at_empty_lines(items: Sequence[PassageItem]) -> Iterator[Sequence[PassageItem]]:
    """The items between places with two or more line breaks."""
    first, breaks = 0, 0
    for index, item in enumerate(items):
        if item.kind is PassageKind.BREAK:
            breaks += 1
        elif item.kind is not PassageKind.TEXT or item.text.strip():
            if breaks > 1:
                yield items[first:index]
                first = index
            breaks = 0
    yield items[first:]
