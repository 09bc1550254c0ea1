"""HTML as tokens with positions, found as the HTML standard says; nothing is repaired and no character is lost.

`html.parser` of the standard library reads comments, scripts and unfinished tags differently from one version of Python
to the next, and takes quadratic time for some damaged files, so that it serves the tests only.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum


class TokenKind(Enum):
    """The kind of a token."""

    TEXT = "text"
    START = "start"
    END = "end"
    OTHER = "other"
    """What is not shown: a comment, a document type, a processing instruction, the content of a script."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute; its value lies from `start` to before `end`, quotes included."""

    name: str
    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class HtmlToken:
    """A piece of HTML, from `start` to before `end`."""

    kind: TokenKind
    start: int
    end: int
    name: str = ""
    """The name of a tag, in lower case."""
    attributes: tuple[Attribute, ...] = field(default=())
    is_closed: bool = False
    """Whether a start tag ends with a slash."""

    def attribute(self, name: str) -> str | None:
        """The value of an attribute, or None."""
        return next((attribute.value for attribute in self.attributes if attribute.name == name), None)


RAW = {"script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title"}
"""Elements whose content holds no tags."""

_NAME = re.compile(r"[A-Za-z][^\s/>]*")
_BETWEEN = re.compile(r"[\s/]*")
_ATTRIBUTE = re.compile(r"([^\s/>][^\s/>=]*)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|(?![\"'])[^\s>]*))?")
_UNFINISHED = re.compile(r"\s*=\s*[\"']")
_REFERENCE = re.compile(r"&#?\w+;|&#?\w+(?![\w=;])")


def html_tokens(text: str, start: int = 0, end: int | None = None, *, is_xml: bool = False) -> Iterator[HtmlToken]:
    """The tokens of a text, or of a part of it; together they cover it."""
    return _Tokenizer(text, start, len(text) if end is None else end, is_xml).tokens()


class _Tokenizer:
    def __init__(self, text: str, start: int, end: int, is_xml: bool) -> None:
        self.text, self.start, self.end, self.is_xml = text, start, end, is_xml

    def tokens(self) -> Iterator[HtmlToken]:
        position = self.start
        for_text = position
        while (position := self.text.find("<", position, self.end)) >= 0:
            token = self.markup(position)
            if token is None:
                position += 1
                continue
            if for_text < position:
                yield HtmlToken(TokenKind.TEXT, for_text, position)
            yield token
            for_text = position = token.end
            if token.kind is TokenKind.START and token.name in RAW and not (self.is_xml and token.is_closed):
                position = self.raw_end(token)
                if for_text < position:
                    kind = TokenKind.TEXT if token.name == "title" else TokenKind.OTHER
                    yield HtmlToken(kind, for_text, position)
                for_text = position
        if for_text < self.end:
            yield HtmlToken(TokenKind.TEXT, for_text, self.end)

    def markup(self, start: int) -> HtmlToken | None:
        """The token that begins with this `<`; None if it is a character of text."""
        following = self.text[start + 1 : start + 2]
        if following == "!" or following == "?":
            return self.other(start)
        if following == "/":
            return self.end_tag(start)
        if following.isascii() and following.isalpha():
            return self.start_tag(start)
        return None

    def other(self, start: int) -> HtmlToken:
        for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?php", "?>"), ("<?=", "?>")):
            if self.text.startswith(opening, start):
                short = start + 2 if opening == "<!--" else start + len(opening)  # <!--> and <!---> are comments, too
                return HtmlToken(TokenKind.OTHER, start, self.after(closing, short))
        return HtmlToken(TokenKind.OTHER, start, self.after(">", start))

    def after(self, closing: str, start: int) -> int:
        """The position behind a string; the end if it does not occur."""
        found = self.text.find(closing, start, self.end)
        return self.end if found < 0 else found + len(closing)

    def end_tag(self, start: int) -> HtmlToken | None:
        if start + 2 >= self.end:
            return None
        name = _NAME.match(self.text, start + 2, self.end)
        end = self.after(">", start + 2)
        if name is None:
            return HtmlToken(TokenKind.OTHER, start, end)
        return HtmlToken(TokenKind.END, start, end, name[0].lower())

    def start_tag(self, start: int) -> HtmlToken:
        name = _NAME.match(self.text, start + 1, self.end)
        assert name is not None
        position = name.end()
        attributes: list[Attribute] = []
        while True:
            position = _BETWEEN.match(self.text, position, self.end).end()  # type: ignore[union-attr]
            if position >= self.end:
                return HtmlToken(TokenKind.OTHER, start, self.end)
            if self.text[position] == ">":
                break
            found = _ATTRIBUTE.match(self.text, position, self.end)
            assert found is not None
            if found[2] is None and _UNFINISHED.match(self.text, found.end(), self.end):
                return HtmlToken(TokenKind.OTHER, start, self.end)
            attributes.append(_attribute(found))
            position = found.end()
        closed = self.text[position - 1] == "/"
        return HtmlToken(TokenKind.START, start, position + 1, name[0].lower(), tuple(attributes), closed)

    def raw_end(self, token: HtmlToken) -> int:
        """Where the content of an element without tags ends."""
        closing = re.compile(rf"</{re.escape(token.name)}(?=[\s/>])", re.IGNORECASE)
        found = closing.search(self.text, token.end, self.end)
        return self.end if found is None else found.start()


def _attribute(found: re.Match[str]) -> Attribute:
    value = found[2] or ""
    bare = value[1:-1] if value[:1] in ('"', "'") else value
    start, end = found.span(2) if found[2] is not None else (found.end(), found.end())
    return Attribute(found[1].lower(), _REFERENCE.sub(lambda match: html.unescape(match[0]), bare), start, end)
