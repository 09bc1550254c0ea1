from collections.abc import Sequence

import pytest

from headwise.data.prepare.sides import checked
from headwise.data.read.pairs import Pair
from headwise.text.language.codes import Direction

ENGLISH = ["The house is old.", "Where is the station?", "I do not know.", "7", "She has read the book."]
GERMAN = ["Das Haus ist alt.", "Wo ist der Bahnhof?", "Ich weiß es nicht.", "7", "Sie hat das Buch gelesen."]


def notes(*files: tuple[Sequence[str], Sequence[str]], direction: Direction = ("en", "de")) -> list[str]:
    pairs = [
        Pair(source, target, f"{name}.tsv", line)
        for name, file in enumerate(files)
        for line, (source, target) in enumerate(zip(*file, strict=True), 1)
    ]
    found: list[str] = []
    assert list(checked(pairs, direction, found.append)) == pairs
    return found


def test_a_file_with_exchanged_sides_is_reported() -> None:
    (note,) = notes((ENGLISH, GERMAN), (GERMAN, ENGLISH), (ENGLISH, GERMAN))
    assert note.startswith("note: 1.tsv: the source side looks like de, and the target side like en: exchange")


@pytest.mark.parametrize("direction", [("", ""), ("en", "xx"), ("en", "de"), ("en-GB", "de-AT"), ("en", "en-US")])
def test_sides_in_their_place_or_in_unknown_languages_are_not_reported(direction: Direction) -> None:
    assert notes((ENGLISH, GERMAN), direction=direction) == []


def test_a_side_that_is_partly_in_the_other_language_is_not_reported() -> None:
    assert notes((ENGLISH, ENGLISH), (GERMAN, GERMAN), (["", " "], ["", ""])) == []
    assert notes() == []


def test_a_column_of_numbers_is_reported() -> None:
    (note,) = notes((["1", "2", "3", "four", "5"], ENGLISH))
    assert note.startswith("note: 0.tsv: most texts of the source side have no letters: if another column is meant")
