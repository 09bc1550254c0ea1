"""Texts as the ids that a translation model reads, with the special tokens of a direction around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from headwise.decode.text_parts import TextPart, split_pieces
from headwise.errors import DataError
from headwise.models.folder.description import Task
from headwise.text.language.codes import Direction
from headwise.text.readable import ReadableForm
from headwise.text.sentences import DIVIDER, LINE_BREAK
from headwise.text.tokenizer import Tokenizer

LONGEST_WHOLE = 4096
"""Tokens of the longest text that is scored or inspected; a text that is translated is split instead."""


@dataclass(frozen=True)
class DirectionFrame:
    """The special tokens of one direction."""

    before: list[int]  # the source: a language tag, if the model has them
    after: list[int]  # the source: <eos>
    sos: int
    start: list[int]  # every translation begins with these
    direction: Direction

    def around(self, ids: Sequence[int]) -> list[int]:
        """Encoder input for the ids of a text."""
        return [*self.before, *ids, *self.after]


@dataclass
class Framer:
    """Turns texts into the input of one model."""

    tokenizer: Tokenizer
    task: Task
    positions: int
    """Largest number of positions that the model has."""

    def frame(self, source: str | None, target: str | None) -> DirectionFrame:
        """The frame of a direction; one that the model does not have is an error."""
        direction = self.task.direction(source, target)
        languages = direction if self.task.tags else ("", "")
        before, after = self.tokenizer.source_frame(*languages)
        start = self.tokenizer.target_start(languages[1])
        return DirectionFrame(before, after, self.tokenizer.decoder_start(languages[1]), start, direction)

    def source_ids(self, text: str, frame: DirectionFrame) -> list[int]:
        """Encoder input for a text."""
        return frame.around(self.tokenizer.encode(self.readable.of(text)))

    @cached_property
    def readable(self) -> ReadableForm:
        """The form of texts that the model can read."""
        return ReadableForm(self.tokenizer)

    def parts(self, text: str, ids: list[int], frame: DirectionFrame) -> list[TextPart]:
        """The sentences of a readable text, given with its ids, that are translated one by one."""
        if not text.strip():
            return []
        room = self.positions - max(2, len(frame.before) + len(frame.after))  # special tokens have positions too
        limit = min(self.task.usual_tokens, room)
        if len(ids) <= limit and not LINE_BREAK.search(text) and not DIVIDER.search(text):
            return [TextPart(text, "", frame.around(ids))]
        longest = max(limit, min(self.task.max_tokens, room))
        pieces = split_pieces(text, lambda piece: len(self.tokenizer.encode(piece)), longest)
        return [TextPart(piece, separator, self.source_ids(piece, frame)) for piece, separator in pieces]

    def check_length(self, ids: Sequence[int]) -> None:
        """Refuse a text that cannot be taken whole: attention is quadratic, and learned positions are limited."""
        if len(ids) > self.positions:
            raise DataError(f"a text of {len(ids)} tokens is too long: this model has {self.positions} positions")
        if len(ids) > LONGEST_WHOLE:
            raise DataError(f"a text of {len(ids):,} tokens is too long to be taken whole (at most {LONGEST_WHOLE:,})")
