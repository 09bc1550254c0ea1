"""SRT and WebVTT subtitles: sentences are translated whole, and shared out to their cues; timing and markup stay."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from headwise.documents.document import ReadOptions
from headwise.documents.encoded_text import decode_plain_text
from headwise.documents.formats.subtitles.cue_lines import Word, broken, units, width_of
from headwise.documents.formats.subtitles.cues import TAG, TIMING, Turn, turns
from headwise.documents.formats.subtitles.joined_cues import cue_parts, sentences
from headwise.documents.formats.subtitles.sharing import shared
from headwise.documents.marked_text import Mark, MarkedText, MarkKind, Part
from headwise.documents.markup.passage import PassageItem, PassageKind, marked_text
from headwise.documents.spliced import MarkSpan, Place, Source, SplicedDocument
from headwise.errors import DataError

_HEADER = re.compile(r"WEBVTT(?:[ \t\r\n]|\Z)")
_NAME = re.compile(r"</?([A-Za-z]+)")
_VISIBLE = re.compile(rf"{TAG.pattern}|<[^<>]*>")


def read_subtitles(data: bytes, options: ReadOptions) -> SplicedDocument:
    """Read an SRT or WebVTT file."""
    file = decode_plain_text(data)
    is_web = _HEADER.match(file.text) is not None
    if not is_web and file.text.strip() and not TIMING.search(file.text):
        raise DataError("the file has no cues: it is neither SRT nor WebVTT, or cut off")
    groups = sentences(file.text, turns(file.text, is_web=is_web))
    found = (_Sentence(file.text, group, is_web) for group in groups)
    return SplicedDocument(file, [each.place for each in found if each.text.has_letters])


class _Sentence:
    """Turns that are translated as one text."""

    def __init__(self, text: str, group: Sequence[Turn], is_web: bool) -> None:
        self.source, self.group, self.is_web = text, group, is_web
        self.boundaries = {turn.end for turn in group[:-1]}
        self.cue_parts = cue_parts(text, group)
        self.line_end = "\r\n" if "\r\n" in text else "\n" if "\n" in text else "\r"
        self.text = self.separated(marked_text(list(self.items())))

    @property
    def place(self) -> Place:
        return Place(self.group[0].start, self.group[-1].end, self.text, self.write)

    def items(self) -> Iterator[PassageItem]:
        for number, turn in enumerate(self.group):
            position = turn.start
            for tag in TAG.finditer(self.source, turn.start, turn.end):
                yield from self.string(position, tag.start())
                yield self.tag(tag)
                position = tag.end()
            yield from self.string(position, turn.end)
            if number + 1 < len(self.group):
                yield PassageItem(PassageKind.BREAK, turn.end, self.group[number + 1].start, "cue")

    def string(self, start: int, end: int) -> Iterator[PassageItem]:
        if start < end:
            text = self.source[start:end].replace("\u200b", "")
            yield PassageItem(PassageKind.TEXT, start, end, html.unescape(text) if self.is_web else text)

    def tag(self, tag: re.Match[str]) -> PassageItem:
        name = _NAME.match(tag[0])
        kind = PassageKind.SINGLE
        if name:
            kind = PassageKind.CLOSE if tag[0].startswith("</") else PassageKind.OPEN
        return PassageItem(kind, tag.start(), tag.end(), name[1].lower() if name else tag[0])

    def separated(self, text: MarkedText) -> MarkedText:
        """The text with boundaries of cues as marks that separate words, and no space beside them."""
        parts: list[Part] = []
        after = False
        for part in text.parts:
            if self.is_boundary(part) and isinstance(part, Mark):
                if parts and isinstance(last := parts[-1], str):
                    parts[-1] = last.rstrip(" ")
                parts.append(replace(part, separates=True))
                after = True
            elif isinstance(part, str):
                parts.append(part.lstrip(" ") if after else part)
                after = after and not parts[-1]
            else:
                parts.append(part)
        return MarkedText(parts)

    def is_boundary(self, part: Part) -> bool:
        return (
            isinstance(part, Mark)
            and isinstance(part.markup, MarkSpan)
            and part.kind is MarkKind.SINGLE
            and part.markup.start in self.boundaries
        )

    def write(self, translation: MarkedText, source: Source) -> str:
        """The turns with the translation, and between them what was there."""
        words, ends = self.words(translation, source)
        if not words:
            return source(self.group[0].start, self.group[-1].end)
        pieces = []
        for number, piece in enumerate(shared(words, ends, self.cue_parts)):
            turn = self.group[number]
            beside = self.beside(turn, source)
            first = replace(piece[0], width=piece[0].width + beside)
            pieces.append(self.line_end.join(broken([first, *piece[1:]])))
            if number + 1 < len(self.group):
                pieces.append(source(turn.end, self.group[number + 1].start))
        return "".join(pieces)

    def beside(self, turn: Turn, source: Source) -> int:
        """The columns before a turn in its line: a dash, a name, the translation of a sound."""
        line = max(self.source.rfind("\n", 0, turn.start), self.source.rfind("\r", 0, turn.start)) + 1
        return width_of(_VISIBLE.sub("", source(line, turn.start)))

    def words(self, translation: MarkedText, source: Source) -> tuple[list[Word], list[int]]:
        """The words of a translation with their markup, and the numbers of words before boundaries of cues."""
        words: list[Word] = []
        ends: list[int] = []
        written, width, spaced, depth, opened = "", 0, True, 0, 0
        """The word so far, and the number of pairs that are open, and were where it begins."""

        def finish(next_spaced: bool) -> None:
            nonlocal written, width, spaced, opened
            if written:
                words.append(Word(written, width, spaced, opened == 0))
                written, width, opened = "", 0, depth
            spaced = next_spaced

        for part in translation.parts:
            if self.is_boundary(part):
                finish(True)
                ends.append(len(words))
            elif isinstance(part, Mark) and isinstance(part.markup, MarkSpan):
                if part.kind is MarkKind.OPEN and not written:
                    opened = depth
                depth += (part.kind is MarkKind.OPEN) - (part.kind is MarkKind.CLOSE)
                written += part.markup.written(source)
            else:
                text = part if isinstance(part, str) else getattr(part, "text", "")
                for number, token in enumerate(re.split(r"\s+", text)):
                    if number:
                        finish(True)
                    for place, unit in enumerate(units(token)):
                        if place:
                            finish(False)
                        written += html.escape(unit, quote=False) if self.is_web else unit
                        width += width_of(unit)
        finish(True)
        while words and not words[-1].width and len(words) > 1:  # markup alone goes with the last word
            last = words.pop()
            words[-1] = replace(words[-1], source=words[-1].source + last.source)
        return words, [min(end, len(words)) for end in ends]
