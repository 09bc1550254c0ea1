"""Fields of Word: an instruction and the text that it gave, between markers that may lie in different paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headwise.documents.office.inline import Item, ItemKind, is_balanced

TRANSLATED = frozenset({"HYPERLINK", "REF", "TOC", "INDEX", "QUOTE", "FORMTEXT"})
"""Fields whose result is translated. That of all others is kept: numbers, dates, citations, names of files."""


@dataclass(frozen=True, slots=True)
class FieldItem(Item):
    """A marker of a field, or a part of its instruction; `role` is begin, code, separate or end."""

    role: str = ""


@dataclass
class _Field:
    start: int | None
    """The place of its first item; None if it began in an earlier paragraph."""
    separate: int | None = None
    code: str = ""
    has_result: bool = False

    @property
    def is_translated(self) -> bool:
        return self.has_result and is_translated(self.code)


def is_translated(code: str) -> bool:
    """Whether the result of a field with this instruction is text to translate."""
    return (code.split() or [""])[0].upper() in TRANSLATED


class Fields:
    """The fields that are open while the paragraphs of a part are read in order."""

    def __init__(self) -> None:
        self._open: list[_Field] = []

    def resolve(self, items: Iterable[Item]) -> list[Item]:
        """The items of the next paragraph, with a pair of tags or a kept item in the place of each whole field."""
        result: list[Item] = []
        fixed_to = 0
        for item in items:
            if not isinstance(item, FieldItem):
                result.append(item)
            elif item.role == "begin":
                self._open.append(_Field(len(result)))
                result.append(item)
            elif item.role == "end" and self._open:
                field = self._open.pop()
                result.append(item)
                if field.start is not None:
                    result[field.start :] = _complete(field, result[field.start :])
                elif not field.is_translated:
                    result[fixed_to:] = map(_fixed, result[fixed_to:])
                    fixed_to = len(result)
            else:
                self._advance(item, len(result))
                result.append(item)
        for field in self._open:
            if not field.is_translated:
                start = field.start or 0
                result[start:] = map(_fixed, result[start:])
            field.start = None
        return [replace(item, kind=ItemKind.BARRIER) if isinstance(item, FieldItem) else item for item in result]

    def _advance(self, item: FieldItem, place: int) -> None:
        if not self._open:
            return
        field = self._open[-1]
        if item.role == "separate":
            field.separate, field.has_result = place, True
        elif not field.has_result:
            field.code += item.text


def _fixed(item: Item) -> Item:
    return replace(item, kind=ItemKind.BARRIER) if item.kind is ItemKind.TEXT else item


def _complete(field: _Field, items: Sequence[Item]) -> list[Item]:
    """A field that lies in one paragraph; `items` are all of it."""
    head_end = field.separate + 1 - (field.start or 0) if field.separate is not None else len(items) - 1
    head, body = items[:head_end], items[head_end:-1]
    if not (is_balanced(head) and is_balanced(body)):
        return [item if field.is_translated else _fixed(item) for item in items]
    text = "".join(item.text for item in body)
    whole = tuple(replace(item, kind=ItemKind.SINGLE) for item in items)
    if field.is_translated and any(map(str.isalpha, text)):
        opening = Item(ItemKind.OPEN, inner=whole[:head_end])
        return [opening, *body, Item(ItemKind.CLOSE, inner=whole[-1:])]
    if text.strip():
        return [Item(ItemKind.KEPT, text, inner=whole)]
    return [Item(ItemKind.SINGLE, inner=whole)]
