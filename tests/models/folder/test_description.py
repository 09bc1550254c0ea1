"""The directions of a translator: how they are asked for, and how they are told."""

from itertools import permutations

import pytest

from headwise.errors import ConfigError
from headwise.models.folder.description import Task


def test_languages_by_name() -> None:
    """Or by a long code; a region or a script that the model does not have is not ignored."""
    told = Task((("eng_Latn", "zho_Hans"), ("eng_Latn", "zho_Hant"), ("eng_Latn", "de-AT")), tags=True)
    for name in ("German", "deu", "de", "de_AT"):
        assert told.direction("English", name) == ("eng_Latn", "de-AT")
    with pytest.raises(ConfigError, match=r"name one with --to \(zho_Hans, zho_Hant\)"):
        told.direction(None, "Chinese")
    for unknown in ("de-CH", "zh-TW", "Chinese_Hans", "Klingon"):
        with pytest.raises(ConfigError, match=f"does not translate to {unknown}"):
            told.direction(None, unknown)


def test_directions_in_words() -> None:
    assert Task((("en", "de"), ("de", "en"))).known_directions == "en-de, de-en"
    five = ("en", "de", "fr", "it", "hi")
    assert Task(tuple(permutations(five, 2))).known_directions == "from any to any of en, de, fr, it, hi"
    assert Task(tuple(permutations(five, 2))[1:]).known_directions.startswith("en-fr, en-it, ")
