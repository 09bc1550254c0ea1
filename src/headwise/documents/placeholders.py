"""Placeholders in strings: what programs, not readers, understand, found by rules and kept as it is.

A string of a program may hold `{name}`, `%1$s` or `<b>`; any text may hold URLs, addresses and paths. They become kept
parts and marks before translation, and plain text again afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part
from headwise.text.machine_words import ADDRESS, CODE, PATH, URL


@dataclass(frozen=True)
class Literal:
    """Markup of parts that were found in a string: its own characters."""

    text: str


_NAME = r"[A-Za-z_][\w.:-]*"
_EMOJI = (
    "(?:[\U0001f1e6-\U0001f1ff]{2}|[#*0-9]\ufe0f?\u20e3"
    "|[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u2190-\u21ff\u2300-\u23ff\u3030\u303d\u3297\u3299]\ufe0f?"
    "[\U0001f3fb-\U0001f3ff]?(?:\u200d[\U0001f000-\U0001faff\u2600-\u27bf]\ufe0f?[\U0001f3fb-\U0001f3ff]?)*)+"
)
"""Emoji and pictographs, with their modifiers and joiners: models know few of them."""
_KINDS = {
    "url": URL,
    "address": ADDRESS,
    "code": CODE,
    "template": r"\{\{[^{}\n]*\}\}|\{%[^{}\n]*%\}|[$#@%]\{[^{}\n]*\}|\$\([\w.]+\)|\$t\([^()\n]*\)"
    r"|%\{[^{}\n]*\}",
    "brace": r"\{(?=[\w}.:!\[-])",
    "format": r"%\([\w.-]+\)[#0+-]*\d*(?:\.\d+)?[a-zA-Z]"
    r"|%(?:\d+\$)?[-+#0']*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|L|q|j|z|t|I64)?[diouxXeEfFgGaAcCsSpn@](?![^\W\d_])"
    r"|%L?\d+\b|%%|%n\b",
    "element": r"<(?P<element_name>code|kbd|samp|var|tt|pre|script|style)\b[^<>]*>.*?</(?P=element_name)>",
    "tag": rf"</?{_NAME}(?:\s[^<>]*)?/?>|<!--.*?-->",
    "entity": r"&(?:[A-Za-z][\w]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});",
    "path": PATH,
    "file": r"(?<![\w.])[\w-]+\.(?:docx?|xlsx?|pptx?|od[tsp]|pdf|txt|md|html?|xml|json|ya?ml|toml|ini|conf|cfg|log|csv"
    r"|tsv|py|js|ts|cpp|hpp|java|rs|go|sh|exe|dll|so|zip|tar\.[gx]z|tar|gz|xz|png|jpe?g|gif|svg|webp|mp[34]|po|xlf)\b",
    "option": r"(?<![\w-])--[a-z][\w-]*(?:=[^\s,.;]+)?",
    "emoji": _EMOJI,
    "space": r"(?<=\S)(?:[ \u00a0]{2,}|[ \u00a0]*\t[ \t\u00a0]*)(?=\S)",
    "name": r"\b\w+\(\)|(?<!\w)\$[a-z_]\w*|\b[A-Za-z]\w*_\w+\b|\\[nrt](?![a-z])",
}
_PLACEHOLDER = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()), re.DOTALL)
_SIMPLE_BRACES = re.compile(r"\{[\w.:!\[\]+,<>^=%#-]*\}")
_ICU_BRACES = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal|number|date|time|choice)\b")
_TAG_NAME = re.compile(rf"</?({_NAME})")
_BREAK = re.compile(r"</?(?:br|hr)\b", re.IGNORECASE)
_NUMBER = re.compile(r"%(?:\d+\$)?l?[diu]|%\(\w+\)d|[%$]?\{+ ?(?:n|num|number|count|total|size|\w+_?[cC]ount) ?\}+")
"""Placeholders that surely stand for numbers."""
_HYPHENED = re.compile(r"\A-(?=[^\W\d_])")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)


def without_placeholders(text: MarkedText) -> MarkedText:
    """The text with its placeholders as kept parts, and tags, emoji and wide spaces in its strings as marks."""
    number = max((mark.number for mark in text.marks), default=-1) + 1
    parts: list[Part | _Tag] = []
    begins = True
    for part in text.parts:
        parts += _found(part, begins) if isinstance(part, str) else [part]
        begins = begins and (isinstance(part, Mark) or (isinstance(part, str) and not part.strip()))
    return MarkedText(_paired(parts, number))


def with_placeholders(text: MarkedText) -> MarkedText:
    """The text with everything that was found in its strings as parts of them again."""
    parts: list[Part] = []
    after_text = after_space = False
    for part in text.parts:
        if isinstance(part, str):
            parts.append(part.lstrip(" ") if after_space else part)
            after_text, after_space = True, False
            continue
        after_space = isinstance(part, Mark) and part.separates
        if after_space and after_text and isinstance(last := parts[-1], str):
            parts[-1] = last.rstrip(" ")
        parts.append(part.markup.text if isinstance(part.markup, Literal) else part)
        after_text = False
    return MarkedText(parts)


def with_number_spaces(text: MarkedText, source: MarkedText) -> MarkedText:
    """The text with a space behind placeholders of numbers that have one in the source: German models write %d-Dateien.

    Such a hyphen is right in compounds with names, and wrong after numbers.
    """
    apart = {id(part) for part, after in pairwise(source.parts) if isinstance(part, Kept) and _is_space(after)}
    parts: list[Part] = list(text.parts[:1])
    for before, part in pairwise(text.parts):
        is_number = isinstance(before, Kept) and id(before) in apart and _NUMBER.fullmatch(before.text)
        parts.append(_HYPHENED.sub(" ", part) if is_number and isinstance(part, str) else part)
    return MarkedText(parts)


def _is_space(part: Part) -> bool:
    return isinstance(part, str) and part.startswith((" ", "\u00a0"))


@dataclass(frozen=True)
class _Tag:
    """A tag, an emoji or white space that was found in a string, before it gets its number."""

    text: str
    separates: bool = False


Found = tuple[int, int, Part | _Tag]
"""Beginning and end in a string of what was found there, and what it becomes."""


def _found(text: str, begins: bool) -> Iterator[Part | _Tag]:
    """The parts of a string; `begins`: nothing that is read precedes it."""
    end = position = 0
    while found := _next(text, position, begins):
        start, position, part = found
        yield text[end:start]
        yield part
        end = position
    yield text[end:]


def _next(text: str, position: int, begins: bool) -> Found | None:
    """The first placeholder, tag, emoji or wide space from a position on."""
    while match := _PLACEHOLDER.search(text, position):
        if match.lastgroup == "tag":
            return _break(text, position, match) if _BREAK.match(match[0]) else (*match.span(), _Tag(match[0]))
        if match.lastgroup == "space":
            return match.start(), match.end(), _Tag(match[0], separates=True)
        if match.lastgroup == "emoji":
            return _with_space(text, position, match, begins)
        stop = _closing_brace(text, match.start()) if match.lastgroup == "brace" else match.end()
        if stop:
            kept = text[match.start() : stop]
            return match.start(), stop, Kept(kept, Literal(kept))
        position = match.end()
    return None


def _break(text: str, position: int, tag: re.Match[str]) -> Found:
    """A line break with the spaces around it: it stands for one in the sentence, and takes them along."""
    start, end = tag.span()
    while start > position and text[start - 1] == " ":
        start -= 1
    while end < len(text) and text[end] == " ":
        end += 1
    return start, end, _Tag(text[start:end], separates=True)


def _with_space(text: str, position: int, emoji: re.Match[str], begins: bool) -> Found:
    """An emoji with the spaces before it, or at the beginning those after it: without it they are too many."""
    start, end = emoji.span()
    while start > position and text[start - 1] == " ":
        start -= 1
    while begins and not text[:start].strip() and end < len(text) and text[end] == " ":
        end += 1
    return start, end, _Tag(text[start:end])


def _closing_brace(text: str, start: int) -> int:
    """The end of the argument in braces that begins here; 0 if it is prose in braces."""
    simple = _SIMPLE_BRACES.match(text, start)
    if simple:
        return simple.end()
    if not _ICU_BRACES.match(text, start):
        return 0
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place + 1
    return 0


def _paired(parts: list[Part | _Tag], number: int) -> Iterator[Part]:
    """The parts with tags as marks: a start and an end tag of one name, rightly nested, are a pair."""
    partners = _partners(parts)
    numbers: dict[int, int] = {}
    for place, part in enumerate(parts):
        if not isinstance(part, _Tag):
            yield part
            continue
        other = partners.get(place)
        first = place if other is None else min(place, other)
        numbers.setdefault(first, number + len(numbers))
        kind = MarkKind.SINGLE if other is None else MarkKind.OPEN if place < other else MarkKind.CLOSE
        yield Mark(kind, numbers[first], Literal(part.text), part.separates)


def _partners(parts: list[Part | _Tag]) -> dict[int, int]:
    """The places of start tags and their end tags, each by the other; format marks may not cross them."""
    partners: dict[int, int] = {}
    waiting: list[tuple[int, object]] = []
    closed = {part.text[2:-1].strip() for part in parts if isinstance(part, _Tag) and part.text.startswith("</")}
    for place, part in enumerate(parts):
        if isinstance(part, Mark):
            if part.kind is MarkKind.OPEN:
                waiting.append((place, part.number))
            elif part.kind is MarkKind.CLOSE:
                while waiting and waiting[-1][1] != part.number:
                    waiting.pop()
                waiting = waiting[:-1]
        elif isinstance(part, _Tag) and (name := _TAG_NAME.match(part.text)) and not part.text.endswith("/>"):
            if not part.text.startswith("</"):
                if name[1].lower() not in _VOID or name[1] in closed:
                    waiting.append((place, name[1]))
            elif name[1] in [key for _, key in _since_mark(waiting)]:
                while waiting[-1][1] != name[1]:
                    waiting.pop()
                start, _ = waiting.pop()
                partners |= {place: start, start: place}
    return partners


def _since_mark(waiting: list[tuple[int, object]]) -> list[tuple[int, object]]:
    """The tags that are open since the last mark of the format."""
    first = max((place for place, (_, key) in enumerate(waiting) if isinstance(key, int)), default=-1)
    return waiting[first + 1 :]
