"""Translations as Markdown: characters that would become markup are escaped, and the result is read again to be sure.

Whether `*` or `_` is markup depends on its neighbours, so spellings are tried from the plainest to the surest, and the
first that a parser reads as the text that was meant is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.utils import EnvType

from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part
from headwise.documents.markup.markdown_blocks import BlockKind, MarkdownBlock
from headwise.documents.markup.markdown_inline import EMPHASIS, inline_items
from headwise.documents.markup.passage import PassageItem, PassageKind, tightened
from headwise.documents.spliced import MarkSpan, Source
from headwise.documents.wrapping import SPACE, wrapped

_URL = re.compile(r"(?:https?://|www\.)[^\s<>]+")
_MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|\Z)|(?<!\s)\*|\*(?!\s)|(?<!\w)_|_(?!\w)|`|~(?=~)|\](?=[\[(:])|<(?=[A-Za-z/!?])"
    r"|&(?=#?\w+;)|\$(?=[^$\s][^$]*\$)|!(?=\[)"
)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_BLOCK_START = re.compile(
    r"(?:#{1,6}|[-+*]|>|:|\d{1,9}[.)])(?=\s|\Z)|[=>|]|[-*_]{3}|```|~~~|:::|!!!|\?\?\?|\[\^|\{[%{]"
)
"""What a line of a paragraph may not begin with."""
_NUMBER = re.compile(r"\d{1,9}(?=[.)](?:\s|\Z))")
_TAGS = {name: (f"<{name}>", f"</{name}>") for name in EMPHASIS}


@dataclass(frozen=True)
class _Spelling:
    """How the parts of a translation are spelled."""

    escapes_all: bool = False
    stars: bool = False
    """Emphasis with `*` even where the source has `_`, which does not work within words."""
    tags: bool = False
    """Emphasis as HTML."""
    wraps: bool = True


_SPELLINGS = (
    _Spelling(),
    _Spelling(wraps=False),
    _Spelling(escapes_all=True, wraps=False),
    _Spelling(stars=True, wraps=False),
    _Spelling(escapes_all=True, stars=True, wraps=False),
    _Spelling(tags=True, wraps=False),
    _Spelling(escapes_all=True, tags=True, wraps=False),
)


class MarkdownWriter:
    """Writes translations of one block, from position `start` to before `end` of the file."""

    def __init__(
        self,
        block: MarkdownBlock,
        items: Sequence[PassageItem],
        span: tuple[int, int],
        parser: MarkdownIt,
        env: EnvType,
    ) -> None:
        self.block, self.parser, self.env = block, parser, env
        self.start, self.end = span
        self.before = [item for item in items if item.end <= self.start]
        self.after = [item for item in items if item.start >= self.end]
        self.by_start = {item.start: item for item in items if item.kind is not PassageKind.TEXT}

    @property
    def reaches(self) -> int:
        """Where the source ends that a translation replaces: links behind it may have to be written in full."""
        return max([self.end, *(item.end for item in self.after if item.instead)])

    def write(self, translation: MarkedText, source: Source) -> str:
        """The Markdown of a translation."""
        text = _without_empty(tightened(translation), self.by_start)
        meant = _signature([*self.before, *self.items(text), *self.after])
        before = source(self.block.begins[0], self.start)
        behind = self.behind(source)
        rest = source(self.reaches, self.block.ends[-1])
        written = ""
        for spelling in _SPELLINGS:
            written = self.spelled(text, source, spelling, is_first=not before.strip()) + behind
            if self.reads(before + written + rest) == meant:
                break
        return written

    def behind(self, source: Source) -> str:
        """The source between the translation and where it reaches, with links in full."""
        pieces, position = [], self.end
        for item in self.after:
            if item.instead:
                pieces += [source(position, item.start), item.instead]
                position = item.end
        return "".join(pieces)

    def items(self, text: MarkedText) -> Iterator[PassageItem]:
        """The parts of a text as items that are read again."""
        for part in text.parts:
            if isinstance(part, str):
                yield PassageItem(PassageKind.TEXT, 0, 0, part)
            elif isinstance(part.markup, MarkSpan):
                yield self.by_start[part.markup.start]
            else:
                yield PassageItem(PassageKind.TEXT, 0, 0, getattr(part, "text", ""))

    def spelled(self, text: MarkedText, source: Source, spelling: _Spelling, *, is_first: bool) -> str:
        pieces: list[str] = []
        parted = False
        """Whether a space must follow."""
        for part in text.parts:
            if isinstance(part, str) or not isinstance(part.markup, MarkSpan):
                string = part if isinstance(part, str) else getattr(part, "text", "")
                escaped = _escaped(string, spelling)
                if is_first and not "".join(pieces).strip() and self.block.kind is BlockKind.PARAGRAPH:
                    escaped = _as_first(escaped)
                if self.block.kind is BlockKind.CELL:
                    escaped = re.sub(r"(?<!\\)\|", r"\\|", escaped)
                elif self.block.kind is BlockKind.HEADING and part is text.parts[-1]:
                    escaped = re.sub(r"(?<=\s)(#+)\Z|\A(#+)\Z", r"\\\g<0>", escaped)
                apart = parted and escaped[:1].isalnum()
                pieces.append(SPACE * apart + escaped.replace(" ", SPACE))
                parted = False
            else:
                apart, parted = self.spaces(part.markup, source)
                if apart and pieces and pieces[-1][-1:].isalnum():
                    pieces.append(SPACE)
                pieces.append(self.mark(part, part.markup, source, spelling))
        joined = _without_double_breaks("".join(pieces))
        if not (spelling.wraps and self.block.width):
            return joined.replace(SPACE, " ")
        first = len(self.block.prefix) if self.start > self.block.begins[0] else 0
        return wrapped(joined, self.block.width, self.block.prefix, first=first, never=_BLOCK_START)

    def spaces(self, span: MarkSpan, source: Source) -> tuple[bool, bool]:
        """Whether a picture has space before and after it in the source. The text has one for both at most."""
        if self.by_start[span.start].text not in ("image", "single"):
            return False, False
        before = source(max(span.start - 1, self.block.begins[0]), span.start)
        after = source(span.end, min(span.end + 1, self.block.ends[-1]))
        return before.isspace(), after.isspace()

    def mark(self, part: Mark | Kept, span: MarkSpan, source: Source, spelling: _Spelling) -> str:
        item = self.by_start[span.start]
        if item.text in EMPHASIS and isinstance(part, Mark):
            written = source(span.start, span.end)
            if spelling.tags:
                return _TAGS[item.text][item.kind is PassageKind.CLOSE]
            return written.replace("_", "*") if spelling.stars else written
        return span.written(source)

    def reads(self, written: str) -> list[tuple[str, str]]:
        """The signature of what a parser reads in the source of the block."""
        text = re.sub(r"\r\n?", "\n", written).replace(f"\n{self.block.prefix}", "\n")
        env: EnvType = {"references": {**self.env.get("references", {})}}
        if self.block.kind is BlockKind.CELL:
            if re.search(r"(?<!\\)\||\n", text):
                return [("row", "broken")]
            return _signature(inline_items(text.replace("\\|", "|").strip(), self.parser, env))
        opening = "# " if self.block.kind is BlockKind.HEADING else ""
        tokens = self.parser.parse(opening + text, env)
        if [token.type for token in tokens[1:]] != ["inline", tokens[-1].type] or len(tokens) != 3:
            return [("blocks", str(len(tokens)))]
        wanted = "heading_open" if opening else "paragraph_open"
        if tokens[0].type != wanted:
            return [("block", tokens[0].type)]
        return _signature(inline_items(tokens[1].content, self.parser, env))


def _signature(items: Sequence[PassageItem]) -> list[tuple[str, str]]:
    """What is compared of two texts: markup in order, and what is between it, without white space around markup."""
    found: list[tuple[str, str]] = []
    for item in items:
        if item.kind is PassageKind.TEXT and found and found[-1][0] == "text":
            found[-1] = ("text", found[-1][1] + item.text)
        else:
            found.append((item.kind.value, item.text))
    normal = [(kind, " ".join(text.split())) for kind, text in found]
    return [each for each in normal if each != ("text", "")]


def _escaped(text: str, spelling: _Spelling) -> str:
    pieces, position = [], 0
    for url in _URL.finditer(text):
        pieces += [_escaped_prose(text[position : url.start()], spelling), url[0]]
        position = url.end()
    return "".join([*pieces, _escaped_prose(text[position:], spelling)])


def _escaped_prose(text: str, spelling: _Spelling) -> str:
    pattern = _PUNCTUATION if spelling.escapes_all else _MARKUP
    return pattern.sub(r"\\\g<0>", text.replace("\n", " ").replace("\x00", ""))


def _as_first(text: str) -> str:
    """A text at the beginning of a paragraph, which must not begin another kind of block."""
    text = text.lstrip(" \t")
    if number := _NUMBER.match(text):
        return f"{number[0]}\\{text[number.end() :]}"
    return f"\\{text}" if _BLOCK_START.match(text) else text


def _without_double_breaks(text: str) -> str:
    """Markdown without hard line breaks at its ends or next to each other: an empty line would end the paragraph."""
    text = re.sub(r"(?:(?:\\| {2,})\n[ \t>]*)+\Z", "", text)
    return re.sub(
        rf"((?:\\|[ {SPACE}]{{2,}})\r?\n[ \t>]*)(?:{SPACE}|(?:\\|[ {SPACE}]{{2,}})\r?\n[ \t>]*)+", r"\1", text
    )


def _without_empty(text: MarkedText, items: dict[int, PassageItem]) -> MarkedText:
    """The text without emphasis of nothing, which Markdown cannot express."""
    parts: list[Part] = []
    for part in text.parts:
        last = parts[-1] if parts else None
        if (
            isinstance(part, Mark)
            and isinstance(last, Mark)
            and (last.kind, part.kind) == (MarkKind.OPEN, MarkKind.CLOSE)
            and isinstance(part.markup, MarkSpan)
            and items[part.markup.start].text in EMPHASIS
        ):
            parts.pop()
        else:
            parts.append(part)
    return MarkedText(parts)
