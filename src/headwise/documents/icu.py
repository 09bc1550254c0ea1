"""ICU messages: each branch of a plural or select is a text of its own, and the structure stays as it is.

In the text around a plural or select the block is a kept part, which the model sees as its last branch (`other`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headwise.documents.marked_text import Kept, MarkedText, Part

DEEPEST = 20
"""Nesting at which a message is taken as plain text."""

_BLOCK = re.compile(r"\{\s*[\w.\-]+\s*,\s*(plural|select|selectordinal)\s*,\s*(?:offset\s*:\s*\d+\s*)?")
_SELECTOR = re.compile(r"\s*(?:=\d+|[\w.\-]+)\s*\{")
_ARGUMENT = re.compile(r"\{\s*[\w.\-]+\s*(?:,[^{}]*)?\}")
_QUOTED = re.compile(r"'(?=[{}#|])((?:[^']|'')*)(?:'|\Z)")


@dataclass(frozen=True, eq=False)
class Run:
    """Text with arguments and blocks, in a branch or around all of them."""

    nodes: tuple[tuple[str, str | Block | None], ...]
    """Source of each piece, with the text it stands for, the block it is, or None for an argument."""
    in_plural: bool

    @property
    def segment(self) -> MarkedText:
        """The run as a text, with the white space around it."""
        return MarkedText(_part(source, value) for source, value in self.nodes)


@dataclass(frozen=True, eq=False)
class Block:
    """A plural or select: fixed source and a run for each branch, in turn."""

    pieces: tuple[str | Run, ...]

    @property
    def shown(self) -> str:
        """What the model sees of the block in the sentence around it."""
        return next(piece for piece in reversed(self.pieces) if isinstance(piece, Run)).segment.text


@dataclass(frozen=True)
class IcuMessage:
    """A message with a plural or select."""

    run: Run

    @property
    def segments(self) -> list[MarkedText]:
        """The texts to translate: that around the blocks first, then the branches in order."""
        return [_trimmed(run.segment) for run in self._runs()]

    def filled(self, translations: Sequence[MarkedText]) -> str:
        """The message with a translation in the place of each segment."""
        return _source(self.run, {id(run): text for run, text in zip(self._runs(), translations, strict=True)})

    def _runs(self) -> Iterator[Run]:
        return (run for run in _all_runs(self.run) if _trimmed(run.segment).has_letters)


def icu_message(text: str) -> IcuMessage | None:
    """A message that has a plural or select; None for any other text, and for one that is not well-formed."""
    if not _BLOCK.search(text):
        return None
    try:
        run, end = _run(text, 0, False, 0)
    except ValueError:
        return None
    if end != len(text) or not any(isinstance(value, Block) for _, value in run.nodes):
        return None
    return IcuMessage(run)


def _run(text: str, start: int, in_plural: bool, depth: int) -> tuple[Run, int]:
    """The run that begins at a position, and where it ends: at the brace of its branch or the end of the text."""
    if depth > DEEPEST:
        raise ValueError("nested too deep")
    nodes: list[tuple[str, str | Block | None]] = []
    place = start
    while place < len(text) and text[place] != "}":
        if text[place] == "{":
            if found := _BLOCK.match(text, place):
                block, end = _block(text, found, in_plural, depth)
                nodes.append((text[place:end], block))
            elif found := _ARGUMENT.match(text, place):
                end = found.end()
                nodes.append((found[0], None))
            else:
                raise ValueError("a brace that begins nothing")
        elif text[place] == "#" and in_plural:
            end = place + 1
            nodes.append(("#", None))
        elif text.startswith("''", place):
            end = place + 2
            nodes.append(("''", "'"))
        elif text[place] == "'" and (found := _QUOTED.match(text, place)):
            end = found.end()
            nodes.append((found[0], found[1].replace("''", "'")))
        else:
            end = place + 1
            nodes.append((text[place], text[place]))
        place = end
    return Run(tuple(nodes), in_plural), place


def _block(text: str, head: re.Match[str], in_plural: bool, depth: int) -> tuple[Block, int]:
    pieces: list[str | Run] = [head[0]]
    place = head.end()
    while found := _SELECTOR.match(text, place):
        run, end = _run(text, found.end(), in_plural or head[1] != "select", depth + 1)
        if not text.startswith("}", end):
            raise ValueError("a branch does not end")
        pieces += [found[0], run, "}"]
        place = end + 1
    closing = re.compile(r"\s*\}").match(text, place)
    if closing is None or len(pieces) == 1:
        raise ValueError("a block does not end, or has no branch")
    return Block((*pieces, closing[0])), closing.end()


def _part(source: str, value: str | Block | None) -> Part:
    if isinstance(value, str):
        return value
    return Kept(value.shown if value else source, value or source)


def _all_runs(run: Run) -> Iterator[Run]:
    yield run
    for _, value in run.nodes:
        if isinstance(value, Block):
            for piece in value.pieces:
                if isinstance(piece, Run):
                    yield from _all_runs(piece)


def _edges(text: MarkedText) -> tuple[str, str]:
    first, last = (text.parts[0], text.parts[-1]) if text.parts else ("", "")
    before = first[: len(first) - len(first.lstrip())] if isinstance(first, str) else ""
    after = last[len(last.rstrip()) :] if isinstance(last, str) else ""
    return before, after


def _trimmed(text: MarkedText) -> MarkedText:
    """A text without white space at its ends."""
    parts = list(text.parts)
    if parts and isinstance(parts[0], str):
        parts[0] = parts[0].lstrip()
    if parts and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip()
    return MarkedText(parts)


def _source(run: Run, translations: dict[int, MarkedText]) -> str:
    """The source of a run, with the translations of it and of the runs in its blocks."""
    original = run.segment
    translation = translations.get(id(run))
    if translation is None or translation == _trimmed(original):
        return "".join(
            _block_source(value, translations) if isinstance(value, Block) else source for source, value in run.nodes
        )
    before, after = _edges(original)
    doubled = any(source == "''" for source, _ in run.nodes)
    written = [
        _quoted(part, run.in_plural, doubled)
        if isinstance(part, str)
        else _block_source(part.markup, translations)
        if isinstance(part.markup, Block)
        else str(part.markup)
        if part.markup is not None
        else part.text
        if isinstance(part, Kept)
        else ""
        for part in translation.parts
    ]
    return before + "".join(written) + after


def _block_source(block: Block, translations: dict[int, MarkedText]) -> str:
    return "".join(piece if isinstance(piece, str) else _source(piece, translations) for piece in block.pieces)


def _quoted(text: str, in_plural: bool, doubled: bool) -> str:
    """Text as ICU source. An apostrophe is doubled where it could begin a quotation, or where the message does so."""
    text = re.sub("'" if doubled else r"'(?=[{}#|']|\Z)", "''", text)
    return re.sub(r"[{}#]" if in_plural else r"[{}]", lambda found: f"'{found[0]}'", text)
