"""A translator in int8 straight from its folder: no model is built, and PyTorch is not loaded."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from headwise.decode.engines import Engine, native_engine, native_runs
from headwise.models.folder.arrays import StoredArrays
from headwise.models.folder.config_file import WEIGHTS, is_rounded, load_description
from headwise.models.folder.description import Description


class Stored(NamedTuple):
    """What is known of a model whose weights are in an engine alone."""

    description: Description
    engine: Engine
    digest: str
    """Of the weights."""


def open_stored(folder: Path) -> Stored | None:
    """None where a model has to be built: its weights are not int8, or the native engine does not know all of its parts
    or cannot run here."""
    if not is_rounded(folder) or not (folder / WEIGHTS).is_file():
        return None
    description = load_description(folder)
    if description.tokenizer is None or not native_runs(description.config):
        return None
    weights = StoredArrays(folder / WEIGHTS)
    engine = native_engine(description, weights)
    return None if engine is None else Stored(description, engine, weights.digest)
