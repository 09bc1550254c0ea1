"""Searches within a shortlist: which one a translator uses, and how a request is divided."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwise.decode.engines.engine import Restricting
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchRequest
from headwise.decode.shortlist.shortlists import Allowed, Shortlists, find_shortlists
from headwise.errors import ConfigError
from headwise.text.tokenizer import Tokenizer


def choose_shortlists(
    wanted: Shortlists | bool | None, engine: Any, folder: Path | None, tokenizer: Tokenizer
) -> Shortlists | None:
    """The shortlists that a translator uses. `wanted` None: the folder's, if it has any and the engine is int8; True:
    the folder's in any case; False: none."""
    if wanted is False:
        return None
    can = isinstance(engine, Restricting)
    if wanted is None and not can:
        return None
    if not can:
        raise ConfigError(f"the engine {engine.name} does not support shortlists: use int8, or leave the shortlist out")
    if isinstance(wanted, Shortlists):
        if wanted.tokenizer != tokenizer:
            raise ConfigError("this shortlist is for a model with another tokenizer")
        return wanted
    found = None if folder is None else find_shortlists(folder, tokenizer)
    if found is None and wanted:
        raise ConfigError(f"{folder or 'this model'}: has no shortlist: make one with `headwise shortlist`")
    return found


def search_restricted(engine: Any, request: SearchRequest, allowed: Sequence[Allowed | None]) -> list[list[Hypothesis]]:
    """Search within the allowed tokens of each sentence; sentences with the whole vocabulary are searched apart."""
    found: dict[int, list[Hypothesis]] = {}
    for whole in (False, True):
        numbers = [number for number, one in enumerate(allowed) if (one is None) == whole]
        if not numbers:
            continue
        part, listed = request.select(numbers), [allowed[number] for number in numbers]
        made = engine.search(part) if whole else engine.search_within(part, listed)
        found.update(zip(numbers, made, strict=True))
    return [found[number] for number in range(len(request.sources))]
