"""Markdown: paragraphs, headings, cells of tables and the text of HTML are translated; all markup stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.utils import EnvType

from headwise.documents.document import ReadOptions
from headwise.documents.encoded_text import decode_plain_text
from headwise.documents.marked_text import MarkedText
from headwise.documents.markup.html_places import attribute_places, html_places
from headwise.documents.markup.html_tokens import TokenKind, html_tokens
from headwise.documents.markup.markdown_blocks import BlockKind, MarkdownBlock, markdown_blocks, markdown_parser
from headwise.documents.markup.markdown_inline import inline_items
from headwise.documents.markup.markdown_writing import MarkdownWriter
from headwise.documents.markup.passage import PassageItem, PassageKind, passage
from headwise.documents.spliced import Place, Source, SplicedDocument

_IMAGE = re.compile(r"!\[((?:[^\[\]\\`]|\\.)*)\](?=[(\[])")
_TITLE = re.compile(r"""\]\([^\s()]*\s+"((?:[^"\\]|\\.)*)"\s*\)\Z""")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def read_markdown(data: bytes, options: ReadOptions) -> SplicedDocument:
    """Read a Markdown file: CommonMark with tables, footnotes, definitions, task lists and front matter."""
    file = decode_plain_text(data)
    parser = markdown_parser()
    env: EnvType = {}
    blocks = list(markdown_blocks(file.text, parser, env))
    places = [place for block in blocks for place in _places(file.text, block, parser, env)]
    return SplicedDocument(file, places)


def _places(text: str, block: MarkdownBlock, parser: MarkdownIt, env: EnvType) -> Iterator[Place]:
    if block.kind is BlockKind.HTML:
        yield from html_places(text, block.begins[0], block.begins[-1] + 1)
        return
    items = [_in_file(item, block) for item in inline_items(block.text, parser, env)]
    for item in items:
        yield from _within(text, item)
    found = passage(text, items)
    if found is not None:
        writer = MarkdownWriter(block, items, (found.start, found.end), parser, env)
        yield Place(found.start, writer.reaches, found.text, writer.write)


def _in_file(item: PassageItem, block: MarkdownBlock) -> PassageItem:
    start, end = block.span(item.start, item.end)
    return replace(item, start=start, end=end)


def _within(text: str, item: PassageItem) -> Iterator[Place]:
    """Texts within markup: the description of an image, the title of a link, attributes of HTML."""
    source = text[item.start : item.end]
    if source.startswith("<") and item.kind in (PassageKind.OPEN, PassageKind.SINGLE, PassageKind.BREAK):
        for token in html_tokens(text, item.start, item.end):
            if token.kind is TokenKind.START:
                yield from attribute_places(text, token)
        return
    found = _IMAGE.match(source) if item.text == "image" else None
    if found:
        yield from _plain(item.start + found.start(1), found[1], "[]\\`*_<&")
    title = _TITLE.search(source) if item.text in ("image", "link") else None
    if title:
        yield from _plain(item.start + title.start(1), title[1], '"\\&')


def _plain(start: int, source: str, special: str) -> Iterator[Place]:
    """The place of a text without markup, some characters of which are escaped."""
    text = MarkedText([" ".join(_ESCAPE.sub(r"\1", source).split())])
    lead = len(source) - len(source.lstrip())

    def write(translation: MarkedText, _: Source) -> str:
        return "".join(f"\\{each}" if each in special else each for each in translation.text)

    if text.has_letters:
        yield Place(start + lead, start + len(source.rstrip()), text, write)
