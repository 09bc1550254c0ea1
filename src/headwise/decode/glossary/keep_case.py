"""The case of terms in titles: what must not be translated keeps its capitals when a title gets normal case."""

from __future__ import annotations

from headwise.decode.glossary.glossary import Glossary
from headwise.text.language.codes import Direction


def keep_case(normal: str, title: str, glossary: Glossary | None, direction: Direction) -> str:
    """A title in normal case, with the terms whose case matters as they are in the title."""
    if glossary is None or len(normal) != len(title):  # few letters have another number of them in the other case
        return normal
    for term in glossary.index(direction).find(title):
        if term.entry.keeps or term.entry.case_sensitive:
            normal = normal[: term.start] + term.text + normal[term.end :]
    return normal
