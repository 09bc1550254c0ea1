"""Roles of elements that a caller gives them, beside those that HTML has for the elements it knows."""

from __future__ import annotations

from dataclasses import dataclass

from headwise.documents.markup.html_elements import BLOCK


@dataclass(frozen=True)
class ElementRoles:
    """Names of elements, in lower case."""

    kept: frozenset[str] = frozenset()
    """Elements whose content is not translated."""
    splitting: frozenset[str] = frozenset()
    """Elements that end a paragraph."""
    joining: frozenset[str] = frozenset()
    """Elements that do not, although they do in HTML."""

    def is_block(self, name: str) -> bool:
        """Whether an element ends a paragraph where it begins and where it ends."""
        return name in self.splitting or (name in BLOCK and name not in self.joining)
