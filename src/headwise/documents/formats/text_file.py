"""Plain text as a document: hard-wrapped lines are one paragraph; blank lines, indents and list marks stay.

Lines that all end where a sentence ends are not wrapped: each stays a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headwise.documents.document import ReadOptions
from headwise.documents.encoded_text import decode_plain_text
from headwise.documents.marked_text import MarkedText
from headwise.documents.spliced import Place, Source, SplicedDocument
from headwise.documents.wrapping import SPACE, wrapped

NARROWEST_COLUMN = 55
"""Width that a text has at least: shorter lines end where their author ended them."""
FULL = 0.72
"""Share of the width that a line fills if it goes on in the next one."""

_LINE = re.compile(r"([^\r\n\f\v]*)(\r\n|[\r\n\f\v]|\Z)")
_LEAD = re.compile(
    r"[ \t\u00a0]*(?:>[ \t]?)*[ \t\u00a0]*"
    r"((?:[-*+•‣◦·–—o]|\(?\d{1,3}(?:\.\d{1,3})*[.)]|\(?[A-Za-z][.)]|\[[ xX\d]{1,3}\])[ \t\u00a0]+)?"
)
"""Indentation, marks of quotes, and the mark of an item of a list."""
_RULE = re.compile(r"[ \t]*([=\-~^\"'`#*+_.:])\1{2,}[ \t]*\Z")
_DRAWN = re.compile(r"\S(?: {3,}|\t+)\S|[|+][-=+]{3,}|[\u2500-\u259f]|(?:\s?\.){4,}|\A\s*\|.*\|\s*\Z")
"""Lines that are drawn: columns, tables, frames, leaders of a table of contents."""
_LEADERS = re.compile(r"(?:\s?\.){4,}\s*\S{0,8}\Z")
"""The dots between an entry of a table of contents and its page, in which models lose their way."""
_CODE = re.compile(
    r"\A[$#%>] |\A\.?/|\s--?[A-Za-z]|\w\(|[{};\\]\Z|\w[\\/]\w+[\\/.]\w|[<>=]=|\w=\S|\A\w+ = "
    r"|\A(?:def|class|import|return|sudo|cd|mkdir|pip|npm|git|make|python3?|apt-get|apt|cp|mv|rm|ls|cat|echo|export|int|void|#include)\b(?!,)"
)
"""What commands and programs have, and sentences rarely."""
_SENTENCE_END = re.compile(r"[.!?:;\u3002\uff01\uff1f…][\"'”’»)\]]*\Z")


@dataclass(frozen=True)
class _Line:
    """A line, whose text lies from `start` to before `end`."""

    lead: str
    """What precedes the text: indentation and marks."""
    text: str
    start: int
    end: int
    line_end: str
    is_item: bool
    is_drawn: bool
    """Whether it has columns, a frame or leaders: it is not part of a longer paragraph."""

    @property
    def length(self) -> int:
        return len(self.lead) + len(self.text)


def read_text(data: bytes, options: ReadOptions) -> SplicedDocument:
    """Read a text file as paragraphs."""
    file = decode_plain_text(data)
    lines = list(_lines(file.text))
    lengths = sorted(line.length for line in lines if line.text)
    width = max(lengths[len(lengths) * 9 // 10] if lengths else 0, NARROWEST_COLUMN)
    return SplicedDocument(file, _places(lines, width))


def _lines(text: str) -> Iterator[_Line]:
    for match in _LINE.finditer(text):
        content = _LEADERS.sub("", match[1].rstrip())
        lead = _LEAD.match(content)
        assert lead is not None
        yield _Line(
            lead[0],
            content[lead.end() :],
            match.start() + lead.end(),
            match.start() + len(content),
            match[2],
            bool(lead[1]),
            _DRAWN.search(match[1]) is not None,
        )


def _places(lines: Sequence[_Line], width: int) -> Iterator[Place]:
    index = apart = 0  # lines before `apart` are known not to be wrapped
    while index < len(lines):
        paragraph = [lines[index]]
        if index >= apart:
            while index + len(paragraph) < len(lines) and _goes_on(paragraph, lines[index + len(paragraph)], width):
                paragraph.append(lines[index + len(paragraph)])
            if all(_SENTENCE_END.search(line.text) for line in paragraph):
                apart, paragraph = index + len(paragraph), paragraph[:1]
        index += len(paragraph)
        text = MarkedText([" ".join(line.text for line in paragraph)])
        if not text.has_letters or all(_is_code(line) for line in paragraph):
            continue
        rule = lines[index] if index < len(lines) and len(paragraph) == 1 else None
        if rule is not None and _is_underline(paragraph[0], rule):
            yield _heading(paragraph[0], rule, text)
            index += 1
        else:
            yield _paragraph(paragraph, text)


def _goes_on(paragraph: Sequence[_Line], following: _Line, width: int) -> bool:
    """Whether a line belongs to the paragraph before it."""
    line = paragraph[-1]
    if not line.text or not following.text or following.is_item or line.line_end in ("\f", "\v"):
        return False
    whole, next_whole = line.lead + line.text, following.lead + following.text
    if line.is_drawn or following.is_drawn or _RULE.match(whole) or _RULE.match(next_whole):
        return False
    if _is_code(line) or _is_code(following) or not _fits_below(paragraph, following):
        return False
    if following.text[0].islower() and not _SENTENCE_END.search(line.text):
        return True
    word = following.text.split()[0]
    return line.length + 1 + len(word) > width * FULL and line.length <= width * 2


def _is_code(line: _Line) -> bool:
    """Whether a line is indented and looks like a command or a piece of a program."""
    return line.lead.replace("\t", "    ").startswith("    ") and not line.is_item and bool(_CODE.search(line.text))


def _fits_below(paragraph: Sequence[_Line], following: _Line) -> bool:
    """Whether the indentation of a line is that of a paragraph's further lines."""
    first = paragraph[0]
    if len(paragraph) > 1:
        return following.lead == paragraph[1].lead
    if ">" in first.lead or ">" in following.lead:
        return following.lead.strip() == first.lead.strip()
    if first.is_item:
        return following.lead.strip() == "" and len(following.lead) > 0
    return following.lead == first.lead or (len(first.lead) > len(following.lead) and not following.lead)


def _is_underline(line: _Line, rule: _Line) -> bool:
    found = _RULE.match(rule.lead + rule.text)
    return found is not None and 0.6 * line.length <= len(rule.lead + rule.text) <= 1.5 * line.length + 3


def _heading(line: _Line, rule: _Line, text: MarkedText) -> Place:
    """A heading with its underline, which is made as long as the translation."""
    whole = rule.lead + rule.text
    indent = whole[: len(whole) - len(whole.lstrip())]
    longer = len(whole) - line.length

    def write(translation: MarkedText, source: Source) -> str:
        new = _one_line(translation)
        length = max(len(line.lead) + len(new) + longer - len(indent), 3)
        return new + source(line.end, rule.end - len(whole)) + indent + whole.strip()[0] * length

    return Place(line.start, rule.end, text, write)


def _paragraph(lines: Sequence[_Line], text: MarkedText) -> Place:
    first = lines[0]
    width = max(line.length for line in lines)

    def write(translation: MarkedText, source: Source) -> str:
        if len(lines) == 1:
            return _one_line(translation)
        given = _one_line(translation).replace(" ", SPACE)
        new = wrapped(given, width, lines[1].lead, first=len(first.lead), never=_NEVER)
        return new.replace("\n", first.line_end)

    return Place(first.start, lines[-1].end, text, write)


_NEVER = re.compile(r"(?:[-*+•‣◦·–—o]|\(?\d{1,3}(?:\.\d{1,3})*[.)]|\(?[A-Za-z][.)]|\[[ xX\d]{1,3}\]) |>")


def _one_line(translation: MarkedText) -> str:
    return re.sub(r"[\r\n\f\v]+", " ", translation.text)
