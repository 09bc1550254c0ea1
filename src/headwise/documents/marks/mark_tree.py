"""The marks of a text as a tree of pairs and single marks, and a translation with such a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headwise.documents.flat_text import FlatText
from headwise.documents.marked_text import Mark, MarkKind, Part


@dataclass(eq=False)
class MarkNode:
    """A pair or a single mark with its source positions and, once placed, its positions in the translation."""

    opening: Mark | None
    closing: Mark | None
    start: int
    end: int
    children: list[MarkNode] = field(default_factory=list)
    first: int = 0
    last: int = 0
    """Target characters from `first` to before `last`."""

    @property
    def is_single(self) -> bool:
        return self.closing is None

    @property
    def separates(self) -> bool:
        return self.opening is not None and self.opening.separates


def mark_tree(source: FlatText) -> MarkNode:
    root = MarkNode(None, None, 0, len(source.text))
    stack = [root]
    for offset, mark in source.marks:
        if mark.kind is MarkKind.CLOSE:
            node = stack.pop()
            node.closing, node.end = mark, offset
            continue
        node = MarkNode(mark, None, offset, offset)
        stack[-1].children.append(node)
        if mark.kind is MarkKind.OPEN:
            stack.append(node)
    return root


def render(node: MarkNode, target: FlatText) -> Iterator[Part]:
    """The parts of a placed node, marks of its own included."""
    if node.opening is not None:
        yield node.opening
    position = node.first
    for child in node.children:
        yield from _strings(target, position, child.first)
        yield from render(child, target)
        position = child.last
    yield from _strings(target, position, node.last)
    if node.closing is not None:
        yield node.closing


def _strings(target: FlatText, start: int, end: int) -> Iterator[Part]:
    """The target between two places, with its kept parts as such."""
    for span in target.spans:
        if start <= span.start and span.end <= end:
            yield target.text[start : span.start]
            yield span.kept
            start = span.end
    yield target.text[start:end]
