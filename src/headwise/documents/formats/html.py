"""HTML and XHTML pages: paragraphs and read attributes are translated, every other byte stays as it is."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from headwise.documents.document import ReadOptions
from headwise.documents.encoded_text import EncodedText, decode_text
from headwise.documents.markup.element_roles import ElementRoles
from headwise.documents.markup.html_places import html_places
from headwise.documents.markup.html_tokens import HtmlToken, TokenKind, html_tokens
from headwise.documents.spliced import Change, SplicedDocument

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]+)""")
_XHTML = re.compile(r"\s*(?:<\?xml|<!DOCTYPE[^>]*XHTML)", re.IGNORECASE)


def read_html(data: bytes, options: ReadOptions, *, is_xml: bool = False) -> SplicedDocument:
    """Read a page in the encoding that it names. XHTML is known by its first line, or by `is_xml`."""
    declared = _XML_ENCODING.match(data[:1024]) or _CHARSET.search(data[:4096])
    file = decode_text(data, declared[1].decode("ascii") if declared else "")
    is_xml = is_xml or _XHTML.match(file.text) is not None
    places = html_places(file.text, is_xml=is_xml)
    changes = list(_language(file.text, options.target, is_xml)) if options.target else []
    return SplicedDocument(file, places, changes=changes, references=True)


def read_fragment(text: str, *, is_xml: bool = False, roles: ElementRoles = ElementRoles()) -> SplicedDocument:  # noqa: B008
    """A piece of HTML or XML, such as a field of a database; it names no encoding that would count."""
    return SplicedDocument(EncodedText(text), html_places(text, is_xml=is_xml, roles=roles), references=True)


def _language(text: str, target: str, is_xml: bool) -> Iterator[Change]:
    """The changes that name the language of the page, in its `html` element and in its head."""
    starts = [token for token in html_tokens(text, is_xml=is_xml) if token.kind is TokenKind.START]
    page = next((token for token in starts if token.name == "html"), None)
    value = f'"{html.escape(target)}"'
    named = [attribute for attribute in (page.attributes if page else ()) if attribute.name in ("lang", "xml:lang")]
    if page and not named:
        yield _inserted(page, f" lang={value}")
    for token in starts:
        if token.name == "meta" and (token.attribute("http-equiv") or "").lower() == "content-language":
            named += [attribute for attribute in token.attributes if attribute.name == "content"]
    for attribute in named:
        missing = "" if attribute.start < attribute.end else "="
        yield Change(attribute.start, attribute.end, lambda source, missing=missing: missing + value)  # type: ignore[misc]


def _inserted(page: HtmlToken, attribute: str) -> Change:
    at = page.start + len("<html")
    return Change(at, at, lambda source: attribute)
