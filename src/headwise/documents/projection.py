"""Projection of inline markup onto a translation, by word alignment.

A pair of marks goes around the words that are linked to the words it enclosed; a single mark goes where it separates
the linked words as it did in the source. Pairs stay whole and nested: each is placed within the pair around it, and
siblings share out the words of their parent. So no mark is ever lost, doubled or crossed.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwise.documents.flat_text import FlatText
from headwise.documents.marked_text import MarkedText
from headwise.documents.marks.linked_words import LinkedWords, Links
from headwise.documents.marks.mark_tree import MarkNode, mark_tree, render
from headwise.documents.marks.pair_places import PairPlaces
from headwise.documents.marks.single_places import SinglePlaces
from headwise.documents.marks.word_cores import covered, is_kept
from headwise.documents.marks.word_parts import WordParts


def project(source: FlatText, target: FlatText, links: Links, languages: tuple[str, str] = ("", "")) -> MarkedText:
    """The target with the marks of the source; `target` has the kept parts and no marks yet.

    `languages` are the codes of the source and the target: the particles of some are known.
    """
    root = mark_tree(source)
    root.first, root.last = 0, len(target.text)
    if root.children:
        _place_children(root, LinkedWords(source, target, _with_kept(source, target, links), languages))
    return MarkedText(render(root, target))


def _with_kept(source: FlatText, target: FlatText, links: Links) -> list[tuple[int, int]]:
    """The links, with those of words that are kept parts replaced: where these went is known."""
    before = {id(span.kept): covered(source.words, span.start, span.end) for span in source.spans}
    after = {id(span.kept): covered(target.words, span.start, span.end) for span in target.spans}
    sure = [(s, t) for kept in before if kept in after for s in before[kept] for t in after[kept]]
    targets = {t for _, t in sure}
    sources = {s for s, _ in sure if is_kept(source, source.words[s])}
    return sorted({*sure, *((s, t) for s, t in links if t not in targets and s not in sources)})


def _place_children(node: MarkNode, words: LinkedWords) -> None:
    """Place the children of a node that is placed itself, then theirs."""
    free = [index for index, (start, end) in enumerate(words.target_cores) if start >= node.first and end <= node.last]
    pairs = [child for child in node.children if not child.is_single]
    parts = _place_parts_of_words(pairs, words, free)
    places = PairPlaces(words)
    for child in sorted(pairs, key=lambda child: child.start - child.end):  # long ones first
        if child in parts:
            continue
        if not free and not words.has_letters(node.start, child.start) and not words.has_letters(child.end, node.end):
            child.first, child.last = node.first, node.last  # both are around a part of a word
            continue
        child.first, child.last = places.characters(child, places.best_run(child, node, free), node)
        free = [
            index
            for index in free
            if words.target_cores[index][1] <= child.first or words.target_cores[index][0] >= child.last
        ]
    placed = [child for child in pairs if child.last > child.first]
    for child in node.children:
        if child not in placed and child not in parts:
            child.first = child.last = SinglePlaces(words).single(child, node, placed)
    order = {id(child): place for place, child in enumerate(node.children)}
    node.children.sort(key=lambda child: (child.first, child.last, order[id(child)]))
    for child in node.children:
        _place_children(child, words)


def _place_parts_of_words(pairs: Sequence[MarkNode], words: LinkedWords, free: list[int]) -> list[MarkNode]:
    """Place the pairs around parts of words that the translation has, too; their words are no longer free."""
    placed: list[MarkNode] = []
    taken: set[int] = set()
    for child in pairs:
        found = WordParts(words).place(child, free)
        if found is None or any(found[1] < other.last and other.first < found[2] for other in placed):
            continue
        index, first, last = found
        if words.around_kept(first, last) != (first, last) or (placed and first < placed[-1].last):
            continue
        child.first, child.last = first, last
        placed.append(child)
        taken.add(index)
    free[:] = [index for index in free if index not in taken]
    return placed
