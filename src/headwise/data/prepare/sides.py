"""The two sides of a file's pairs: a note where they look exchanged, or where one has hardly any words.

Training would go on without an error: the pairs of a table without a header are its first two columns, whatever they
hold.
"""

from collections.abc import Iterable, Iterator, Sequence

from headwise.data.read.pairs import Note, Pair
from headwise.text.language.codes import Direction, short_code
from headwise.text.language.detect import detect, is_detectable

FIRST = 200
"""Pairs of a file that are looked at."""


def checked(pairs: Iterable[Pair], direction: Direction, note: Note) -> Iterator[Pair]:
    """Pass pairs through; `note` receives a remark on each file whose sides look wrong."""
    file, first = "", list[Pair]()
    for pair in pairs:
        if pair.file != file:
            _remark(file, first, direction, note)
            file, first = pair.file, []
        if len(first) < FIRST:
            first.append(pair)
        yield pair
    _remark(file, first, direction, note)


def _remark(file: str, pairs: Sequence[Pair], direction: Direction, note: Note) -> None:
    sides = [[text for text in side if text.strip()] for side in zip(*(pair[:2] for pair in pairs), strict=True)]
    for name, side in zip(("source", "target"), sides, strict=False):
        without = sum(not any(map(str.isalpha, text)) for text in side)
        if without > len(side) / 2:
            note(
                f"note: {file}: most texts of the {name} side have no letters: if another column is meant, name the "
                "columns in a first line (such as id, en, de)"
            )
            return
    source, target = direction
    known = is_detectable(source) and is_detectable(target) and short_code(source) != short_code(target)
    if sides and known:
        found = tuple(str(detect(" ".join(side), languages=direction)) for side in sides)
        if found == (target, source):
            note(
                f"note: {file}: the source side looks like {target}, and the target side like {source}: exchange the "
                f"two, or name the columns in a first line ({target}, {source})"
            )
