"""Blocks of Markdown with the positions of their text: paragraphs, headings, cells of tables, and blocks of HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_block.state_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType

from headwise.documents.markup.markdown_inline import TrackedInline

_CONTAINER = re.compile(r"\[\^[^\]\s]+\]:[ \t]*|:[ \t]+(?=\S)|(?:!!!|\?\?\?\+?)[ \t].*")
"""Markers of blocks with an indented body: footnotes, definitions, admonitions."""
_KEPT_LINE = re.compile(r"(?::::.*|\{%.*%\}|\{\{[<%]?.*\}\}|\[TOC\]|\[\[_?TOC_?\]\])\s*", re.IGNORECASE)
"""Lines that are for a program: fences of directives, instructions of templates."""
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?:.*\r?\n)*?\1[ \t]*(?:\r?\n|\Z)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class BlockKind(Enum):
    """The kind of a block with text."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    CELL = "cell"
    HTML = "html"


@dataclass(frozen=True)
class MarkdownBlock:
    """A block: its text as the inline parser reads it, and where each character of that lies in the file."""

    kind: BlockKind
    text: str
    begins: Sequence[int]
    ends: Sequence[int]
    prefix: str = ""
    """What precedes the second line in the file: indentation and the marks of quotes."""
    width: int = 0
    """The longest line of a block of several; 0 if it has one."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The positions in the file of a part of the text."""
        if start < end:
            return self.begins[start], self.ends[end - 1]
        at = self.begins[start] if start < len(self.begins) else self.ends[-1]
        return at, at


def markdown_parser() -> MarkdownIt:
    """A parser of CommonMark with tables, strikethrough, footnotes, definitions and admonitions, for blocks only."""
    parser = MarkdownIt()
    parser.inline = TrackedInline()
    parser.configure("commonmark")
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.enable("other_markup")
    interrupts = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", "container", _container, interrupts)  # type: ignore[arg-type]
    parser.block.ruler.before("fence", "kept_line", _kept_line, interrupts)  # type: ignore[arg-type]
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _marker(state: StateBlock, line: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The match of a pattern at the beginning of a line that is not indented as code is."""
    if state.is_code_block(line):
        return None
    return pattern.match(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])


def _container(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """The rule for blocks whose body follows a marker and is indented by four."""
    found = _marker(state, start_line, _CONTAINER)
    if found is None:
        return False
    if silent:
        return True
    kept = state.bMarks[start_line], state.tShift[start_line], state.sCount[start_line], state.blkIndent
    state.push("container_open", "", 1).info = found[0]
    state.blkIndent += 4
    state.bMarks[start_line], state.tShift[start_line], state.sCount[start_line] = found.end(), 0, state.blkIndent
    state.md.block.tokenize(state, start_line, end_line)
    state.push("container_close", "", -1)
    state.bMarks[start_line], state.tShift[start_line], state.sCount[start_line], state.blkIndent = kept
    state.line = max(state.line, start_line + 1)
    return True


def _kept_line(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """The rule for lines that are for a program."""
    found = _marker(state, start_line, _KEPT_LINE)
    if found is None or found.end() < state.eMarks[start_line]:
        return False
    if not silent:
        state.push("kept_line", "", 0).content = found[0]
        state.line = start_line + 1
    return True


def markdown_blocks(text: str, parser: MarkdownIt, env: EnvType) -> Iterator[MarkdownBlock]:
    """All blocks of a file that hold text, in order; `env` receives the definitions of links."""
    front = _FRONT_MATTER.match(text)
    offset = front.end() if front else 0
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text, offset)]
    quotes, cells = 0, 0
    kind = BlockKind.PARAGRAPH
    for token in parser.parse(text[offset:], env):
        if token.type.startswith("blockquote"):
            quotes += token.nesting
        elif token.type in ("paragraph_open", "heading_open"):
            kind = BlockKind.PARAGRAPH if token.type == "paragraph_open" or token.markup in "=-" else BlockKind.HEADING
        elif token.type == "tr_open":
            cells = 0
        elif token.type in ("th_open", "td_open"):
            kind, cells = BlockKind.CELL, cells + 1
        if token.map is None or token.type not in ("inline", "html_block"):
            continue
        first, last = token.map
        if token.type == "html_block":
            if not quotes:  # in a quote, its marks would be read as text
                span = range(lines[first][0], lines[last - 1][1] if last > first else lines[first][1])
                yield MarkdownBlock(BlockKind.HTML, "", span, [])
        elif kind is BlockKind.CELL:
            yield from _cell(text, lines[first], cells - 1, token)
        else:
            yield from _lines(text, lines[first:last], kind, token)


def _lines(text: str, lines: Sequence[tuple[int, int]], kind: BlockKind, token: Token) -> Iterator[MarkdownBlock]:
    """The block of a token whose text is made of the ends of lines; none if the text is not found in them."""
    begins: list[int] = []
    ends: list[int] = []
    prefix, width = "", 0
    contents = token.content.split("\n")
    if len(contents) > len(lines):
        return
    for number, (content, (start, end)) in enumerate(zip(contents, lines, strict=False)):
        line = text[start:end].rstrip("\r\n")
        inner = content.strip()
        at = line.rfind(inner) if inner else len(line)
        if at < 0:
            return
        lead = len(content) - len(content.lstrip()) if inner else len(content)
        tail = len(content) - lead - len(inner)
        begins += [start + at] * lead + [*range(start + at, start + at + len(inner) + tail)]
        ends += [start + at] * lead + [*range(start + at + 1, start + at + len(inner) + tail + 1)]
        if number == 1:
            prefix = line[:at]
        width = max(width, len(line))
        if number + 1 < len(contents):
            begins.append(begins[-1] + 1 if inner else start + at)
            ends.append(end)
    if token.content.strip():
        yield MarkdownBlock(kind, token.content, begins, ends, prefix, width if len(contents) > 1 else 0)


def _cell(text: str, line: tuple[int, int], number: int, token: Token) -> Iterator[MarkdownBlock]:
    """The block of a cell of a table, in which `|` is escaped."""
    spans = _cells(text, *line)
    if number >= len(spans) or not token.content:
        return
    begins, ends, content = [], [], ""
    position, end = spans[number]
    while position < end:
        width = 2 if text.startswith("\\|", position) else 1
        begins.append(position)
        content += text[position + width - 1]
        position += width
        ends.append(position)
    if content == token.content:
        yield MarkdownBlock(BlockKind.CELL, content, begins, ends)


def _cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The positions of the cells in a row, without the white space around them."""
    bars = [match.end() - 1 for match in re.finditer(r"(?<!\\)\|", text[start:end])]
    edges = [start - 1, *(start + bar for bar in bars), end]
    spans = []
    for left, right in pairwise(edges):
        inside = text[left + 1 : right]
        lead = len(inside) - len(inside.lstrip())
        spans.append((left + 1 + lead, left + 1 + max(lead, len(inside.rstrip()))))
    if spans and not re.sub(r"[\s>]", "", text[start : edges[1]]):  # before the first bar is a prefix at most
        spans = spans[1:]
    return spans
