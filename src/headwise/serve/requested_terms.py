"""Requested terms: the glossary of a request, checked before a worker sees it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from headwise.decode.glossary.glossary import Glossary
from headwise.errors import DataError
from headwise.serve.service_errors import InvalidRequestError

Terms = tuple[tuple[str, str], ...]


def checked_terms(terms: Iterable[tuple[str, str]], limit: int) -> Terms:
    """The terms of a glossary; contradictions, empty terms and more characters than `limit` are errors."""
    found: dict[str, str] = {}
    for source, target in terms:
        if found.setdefault(source, target) != target:
            raise InvalidRequestError(f"Invalid request: the glossary has two translations of {source[:80]!r}")
    listed = tuple(found.items())
    if not listed:
        raise InvalidRequestError("Invalid request: the glossary has no terms")
    size = sum(len(source) + len(target) for source, target in listed)
    if size > limit:
        raise InvalidRequestError(f"Invalid request: glossary ({size}) exceeds glossary limit ({limit})")
    _check(listed)
    return listed


@lru_cache(64)
def _check(terms: Terms) -> None:
    try:
        Glossary(dict(terms))
    except DataError as error:
        raise InvalidRequestError(f"Invalid request: {error}") from None
