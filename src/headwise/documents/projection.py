"""Projection of inline markup onto a translation, by word alignment.

A pair of marks goes around the words that are linked to the words it enclosed; a single mark goes where it separates
the linked words as it did in the source. Pairs stay whole and nested: each is placed within the pair around it, and
siblings share out the words of their parent. So no mark is ever lost, doubled or crossed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headwise.documents.flat_text import FlatText
from headwise.documents.marked_text import Mark, MarkedText, MarkKind, Part

Links = Sequence[tuple[int, int]]
"""Pairs of a source word and a target word, both counted from 0 between spaces."""

_ELISION = re.compile(
    r"(?:[ldjnsmtcv]|qu|lorsqu|puisqu|jusqu|quoiqu|dell|all|nell|sull|dall|un|quest|quell|gl)['’](?=\w)", re.I
)
"""Articles and particles that French and Italian write as one word with the next."""


_QUOTES = "\"'“”„‟‘’‚«»‹›「」『』"


@dataclass(eq=False)
class _Node:
    """A pair or a single mark with its source positions and, once placed, its positions in the translation."""

    opening: Mark | None
    closing: Mark | None
    start: int
    end: int
    children: list[_Node] = field(default_factory=list)
    first: int = 0
    last: int = 0
    """Target characters from `first` to before `last`."""

    @property
    def is_single(self) -> bool:
        return self.closing is None


def project(source: FlatText, target: FlatText, links: Links) -> MarkedText:
    """The target with the marks of the source; `target` has the kept parts and no marks yet."""
    root = _tree(source)
    root.first, root.last = 0, len(target.text)
    if root.children:
        _Places(source, target, _with_kept(source, target, links)).place_children(root)
    return MarkedText(_render(root, target))


def _with_kept(source: FlatText, target: FlatText, links: Links) -> list[tuple[int, int]]:
    """The links, with those of words in kept parts replaced: where these went is known."""
    before = {id(span.kept): _covered(source.words, span.start, span.end) for span in source.spans}
    after = {id(span.kept): _covered(target.words, span.start, span.end) for span in target.spans}
    sure = [(s, t) for kept in before if kept in after for s in before[kept] for t in after[kept]]
    targets = {t for _, t in sure}
    return sorted({*sure, *((s, t) for s, t in links if t not in targets)})


def _covered(words: Sequence[tuple[int, int]], start: int, end: int) -> range:
    """The words that have a character between two places."""
    first = bisect_right(words, start, key=lambda word: word[1])
    return range(first, max(first, bisect_left(words, end, key=lambda word: word[0])))


def _tree(source: FlatText) -> _Node:
    root = _Node(None, None, 0, len(source.text))
    stack = [root]
    for offset, mark in source.marks:
        if mark.kind is MarkKind.CLOSE:
            node = stack.pop()
            node.closing, node.end = mark, offset
            continue
        node = _Node(mark, None, offset, offset)
        stack[-1].children.append(node)
        if mark.kind is MarkKind.OPEN:
            stack.append(node)
    return root


def _render(node: _Node, target: FlatText) -> Iterator[Part]:
    """The parts of a placed node, marks of its own included."""
    if node.opening is not None:
        yield node.opening
    position = node.first
    for child in node.children:
        yield from _strings(target, position, child.first)
        yield from _render(child, target)
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


class _Places:
    """Finds the places of marks in a translation."""

    def __init__(self, source: FlatText, target: FlatText, links: Links) -> None:
        self.source, self.target = source, target
        self.source_words, self.target_words = source.words, target.words
        self.source_cores = [_core(source, word) for word in self.source_words]
        self.target_cores = [_core(target, word) for word in self.target_words]
        self.origins: list[set[int]] = [set() for _ in self.target_words]
        for s, t in links:
            if s < len(self.source_words) and t < len(self.target_words):
                self.origins[t].add(s)

    def place_children(self, node: _Node) -> None:
        """Place the children of a node that is placed itself, then theirs."""
        free = [
            index for index, (start, end) in enumerate(self.target_cores) if start >= node.first and end <= node.last
        ]
        pairs = [child for child in node.children if not child.is_single]
        for child in sorted(pairs, key=lambda child: child.start - child.end):  # long ones first
            run = self.best_run(child, free)
            child.first, child.last = self.characters(child, run, node)
            free = [
                index
                for index in free
                if self.target_cores[index][1] <= child.first or self.target_cores[index][0] >= child.last
            ]
        placed = [child for child in pairs if child.last > child.first]
        for child in node.children:
            if child not in placed:
                child.first = child.last = self.single(child, node, placed)
        order = {id(child): place for place, child in enumerate(node.children)}
        node.children.sort(key=lambda child: (child.first, child.last, order[id(child)]))
        for child in node.children:
            self.place_children(child)

    # --- pairs ---------------------------------------------------------------------------------------------

    def covered(self, node: _Node) -> range:
        """The source words whose letters a node encloses, at least in part."""
        return _covered(self.source_cores, node.start, node.end)

    def best_run(self, node: _Node, free: Sequence[int]) -> range:
        """Neighbouring free target words that belong to a pair: as many as possible that are linked to its words, and
        as few as possible that are linked to others."""
        words = self.covered(node)
        if not words or not free:
            return range(0)
        best, value = range(0), 0.0
        for run in _runs(free):
            found, worth = self.best_part(run, words)
            if worth > value:
                best, value = found, worth
        return best if best else self.nearest(words, free)

    def best_part(self, run: range, words: range) -> tuple[range, float]:
        """The part of a run with the highest sum of the words' values."""
        best, best_sum, start, total = range(0), 0.0, run.start, 0.0
        for index in run:
            origins = self.origins[index]
            inside = any(origin in words for origin in origins)
            total += 1.0 if inside else -0.6 if origins else -0.01
            if total > best_sum:
                best, best_sum = range(start, index + 1), total
            if total <= 0:
                start, total = index + 1, 0.0
        return best, best_sum

    def nearest(self, words: range, free: Sequence[int]) -> range:
        """The free target word to stand for words without a link: an unlinked one in their place, else a neighbour."""
        gap = self.boundary(words.start, words.stop)
        unlinked = [index for index in free if not self.origins[index] and self.target_cores[index][1] > 0]
        near = min(unlinked or free, key=lambda index: abs(index + 0.5 - gap))
        return range(near, near + 1)

    def characters(self, node: _Node, run: range, parent: _Node) -> tuple[int, int]:
        """The target characters of a run: with the punctuation marks around it that the source has inside the pair."""
        if not run:
            return 0, 0
        words = self.covered(node)
        first, last = run.start, run.stop - 1
        while first < last and self.is_punctuation(first):
            first += 1
        while last > first and self.is_punctuation(last):
            last -= 1
        start, end = self.target_cores[first][0], self.target_cores[last][1]
        elision = _ELISION.match(self.target.text, start, end)
        if elision and elision.end() < end and words.start in self.origins[first]:
            start = elision.end()
        else:
            before = self.source.text[node.start : self.source_cores[words.start][0]]
            start -= _reach(self.target.text[parent.first : start][::-1], before)
        after = self.source.text[self.source_cores[words.stop - 1][1] : node.end]
        end += _reach(self.target.text[end : parent.last], after)
        return max(start, parent.first), min(end, parent.last)

    def is_punctuation(self, index: int) -> bool:
        start, end = self.target_cores[index]
        return not any(character.isalnum() for character in self.target.text[start:end]) and not any(
            span.start < end and start < span.end for span in self.target.spans
        )

    # --- single marks --------------------------------------------------------------------------------------

    def single(self, node: _Node, parent: _Node, placed: Sequence[_Node]) -> int:
        """The place of a single mark, or of a pair around nothing, outside of the pairs that are placed."""
        place = self.beside_word(node)
        if place is None:
            before = bisect_right(self.source_words, node.start, key=lambda word: word[1])
            place = self.between_words(self.boundary(before, before), node)
        for pair in placed:
            if pair.first < place < pair.last:
                place = pair.first if node.start <= pair.start else pair.last
        return min(max(place, parent.first), parent.last)

    def beside_word(self, node: _Node) -> int | None:
        """The place at the same side of the translation of the word that a mark touches; None if it touches none.

        What separates words belongs to neither of them.
        """
        text, at = self.source.text, node.start
        touches_before = at > 0 and not text[at - 1].isspace()
        touches_after = at < len(text) and not text[at].isspace()
        if not text[:at].strip():
            return 0
        if not text[at:].strip():
            return len(self.target.text.rstrip())
        if touches_before == touches_after or (node.opening is not None and node.opening.separates):
            return None
        index = (
            bisect_left(self.source_words, at, key=lambda word: word[1])
            if touches_before
            else bisect_right(self.source_words, at, key=lambda word: word[0]) - 1
        )
        linked = [t for t, origins in enumerate(self.origins) if index in origins]
        if not linked:
            return None
        target = linked[-1] if touches_before else linked[0]
        word, core = self.target_words[target], self.target_cores[target]
        if touches_before:
            return word[1] if at >= self.source_words[index][1] > self.source_cores[index][1] else core[1]
        return word[0] if at <= self.source_words[index][0] < self.source_cores[index][0] else core[0]

    def boundary(self, before: int, after: int) -> int:
        """The number of target words that precede the place between source words, so that the fewest links cross it.

        `before` source words precede it, and those from `after` on follow. Of equals, the one in proportion is taken.
        """
        crossing = sum(1 for origins in self.origins for origin in origins if origin < before)
        expected = len(self.target_words) * (before + after) / 2 / max(1, len(self.source_words))
        best = (crossing, abs(expected), 0)
        for index, origins in enumerate(self.origins):
            crossing += sum(origin >= after for origin in origins) - sum(origin < before for origin in origins)
            best = min(best, (crossing, abs(index + 1 - expected), index + 1))
        return best[2]

    def between_words(self, boundary: int, node: _Node) -> int:
        """The character offset after this many target words, on the same side of the space as in the source."""
        text, at = self.source.text, node.start
        after_space = at > 0 and text[at - 1].isspace()
        if boundary >= len(self.target_words):
            return len(self.target.text.rstrip())
        if after_space or boundary == 0:
            return self.target_words[boundary][0]
        return self.target_words[boundary - 1][1]


def _core(flat: FlatText, word: tuple[int, int]) -> tuple[int, int]:
    """A word without the punctuation marks around it; all of it if there is nothing else. Kept parts are whole."""
    start, end = word
    kept = [span for span in flat.spans if span.start < end and start < span.end]
    inside = [index for index in range(start, end) if flat.text[index].isalnum()]
    inside += [index for span in kept for index in (max(span.start, start), min(span.end, end) - 1)]
    return (min(inside), max(inside) + 1) if inside else word


def _reach(beside: str, inside: str) -> int:
    """The number of characters beside a word that belong to its pair: the source has their like inside the pair.

    A space counts if such a mark follows: French puts one before `!`.
    """
    wanted = [_alike(character) for character in inside if not character.isspace()]
    reach = 0
    for place, character in enumerate(beside):
        if character.isspace() and place == reach:
            continue
        if _alike(character) not in wanted:
            break
        wanted.remove(_alike(character))
        reach = place + 1
    return reach


def _alike(character: str) -> str:
    """One character for all that mean the same: quotes of all languages, full stops."""
    return '"' if character in _QUOTES else "." if character in "।。…" else character


def _runs(indices: Sequence[int]) -> Iterator[range]:
    """The longest runs of neighbouring indices."""
    start = 0
    for place in range(1, len(indices) + 1):
        if place == len(indices) or indices[place] != indices[place - 1] + 1:
            yield range(indices[start], indices[place - 1] + 1)
            start = place
