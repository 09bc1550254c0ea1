"""Cases of `tags.tsv`: sentences with inline tags and placeholders, and the words that each tag must be on.

Columns, separated by tabs: direction, kind, source, tags, kept. In a source, `\\n` is a line break and `\\t` a tab.

`tags` has a field per tag of the source, in order, separated by ` ; `. For a pair it is a pattern of the words that it
must enclose in the translation, as in `accepted` of cases.py, in which `~` stands for an article or none; `^` and a
pattern, for a single tag, of the words right before it. `?`: the translation has no words for those in the tag, or any
place will do, so it is not graded.

`kept` has all placeholders of the source, separated by ` ¦ `. Each must be in the translation as often as there.

Sources: the documentation of Rust, Node.js and npm and READMEs of Python packages; messages of Debian's programs and of
Django, Wagtail, Weblate, Plone, CKAN, pgAdmin and others; sentences of tatoeba.org (CC-BY 2.0 FR) and of newstest2014
with tags put in, as runs of an office document have them. Markdown is written as the HTML that it stands for.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sheet.cases import FOLDER, expression, normalise

from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part

COLUMNS = ["direction", "kind", "source", "tags", "kept"]
PROGRAM_STRINGS = frozenset(("printf", "python", "brace", "icu", "message"))
"""Kinds that are given as plain strings, whose tags are found by rules, as they are in files with messages."""

_TAG = re.compile(r"<(/?)(?!(?:code|kbd|var|samp)\b)([a-z]\w*)((?:\s[^<>]*?)?)(/?)>")
_ARTICLES = {"en": "(the |a |an |)", "fr": "(le |la |les |l'|un |une |des |du |au |aux |)"}
_SINGLE = frozenset(("br", "img", "fn"))


@dataclass(frozen=True)
class TagCase:
    """A sentence with markup, and what counts as right."""

    direction: str
    kind: str
    source: str
    tags: tuple[str, ...]
    kept: tuple[str, ...]
    place: str
    """File and line, for messages."""

    @property
    def text(self) -> MarkedText:
        """What the translator is given."""
        return MarkedText([self.source]) if self.kind in PROGRAM_STRINGS else read_tags(self.source)

    def lost(self, translation: str) -> list[str]:
        """The placeholders that are not in the translation as often as in the source."""
        return [
            kept for kept in dict.fromkeys(self.kept) if _count(kept, translation) != _count(kept, self.source)
        ]  # fmt: skip

    def fault(self, translation: MarkedText) -> str:
        """What is wrong with the marks of a translation; empty if it is well-formed and has each mark once."""
        if Counter(map(_name, translation.marks)) != Counter(map(_name, read_tags(self.source).marks)):
            return "other marks than the source"
        return translation.fault()

    def misplaced(self, translation: MarkedText) -> list[tuple[str, str]]:
        """The wanted words of each tag that is on others, and these."""
        numbers = [mark.number for mark in read_tags(self.source).marks if mark.kind is not MarkKind.CLOSE]
        enclosed = dict(enclosed_words(translation))
        found = [(wanted, enclosed.get(number)) for number, wanted in zip(numbers, self.tags, strict=True)]
        return [(wanted, str(got)) for wanted, got in found if wanted != "?" and not _is_right(wanted, got)]

    @property
    def graded(self) -> int:
        """The number of tags with a reference."""
        return sum(wanted != "?" for wanted in self.tags)


def read_tags(text: str) -> MarkedText:
    """A text with the tags in a string as marks; elements of code stay in it."""
    parts: list[Part] = []
    waiting: list[int] = []
    count = end = 0
    for tag in _TAG.finditer(text):
        parts.append(text[end : tag.start()])
        end = tag.end()
        if tag[1]:
            parts.append(Mark(MarkKind.CLOSE, waiting.pop() if waiting else count, tag[0]))
        elif tag[4] or tag[2] in _SINGLE:
            parts.append(Mark(MarkKind.SINGLE, count, tag[0], separates=tag[2] == "br"))
        else:
            waiting.append(count)
            parts.append(Mark(MarkKind.OPEN, count, tag[0]))
        count += not tag[1]
    return MarkedText([*parts, text[end:]])


def enclosed_words(text: MarkedText) -> Iterator[tuple[int, str]]:
    """The numbers of all marks, with the text in a pair, or all text before a single mark."""
    before, starts = "", dict[int, int]()
    for part in text.parts:
        if isinstance(part, str):
            before += part
        elif isinstance(part, Kept):
            before += part.text
        elif part.kind is MarkKind.OPEN:
            starts[part.number] = len(before)
        else:
            yield part.number, before[starts.get(part.number, 0) :]


def read_tag_cases(path: Path = FOLDER / "tags.tsv") -> list[TagCase]:
    """All cases, in the order of the file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if next(rows) != COLUMNS:
            raise ValueError(f"{path}: the columns must be {', '.join(COLUMNS)}")
        return [_case(row, f"{path.name}:{line}") for line, row in enumerate(rows, 2)]


def _case(row: list[str], place: str) -> TagCase:
    direction, kind, source, tags, kept = row
    article = _ARTICLES[direction.partition("-")[2]]
    wanted = tuple(each.strip().replace("~", article) for each in tags.split(" ; ") if each.strip())
    found = sum(mark.kind is not MarkKind.CLOSE for mark in read_tags(source).marks)
    if found != len(wanted):
        raise ValueError(f"{place}: {found} tags, but words for {len(wanted)}")
    listed = tuple(_unescaped(each) for each in kept.split(" ¦ ") if each)
    return TagCase(direction, kind, _unescaped(source), wanted, listed, place)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([nt])(?![a-z])", lambda match: "\n" if match[1] == "n" else "\t", text)


def _name(mark: Mark) -> tuple[MarkKind, object]:
    return mark.kind, mark.markup


def _count(kept: str, text: str) -> int:
    """How often a placeholder is in a text, and not only as a part of a longer one or of a word."""
    before = r"(?<!\w)" if kept[0].isalnum() else ""
    after = r"(?!\w)" if kept[-1].isalnum() and kept[0] != "%" else ""
    return len(re.findall(before + re.escape(kept) + after, text))


def _is_right(wanted: str, got: str | None) -> bool:
    if got is None:
        return False
    pattern = expression(wanted.removeprefix("^"))
    if wanted.startswith("^"):
        return bool(re.search(rf"(?:{pattern.pattern})\Z", normalise(got)))
    return bool(pattern.fullmatch(normalise(got)))
