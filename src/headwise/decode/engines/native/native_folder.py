"""Opens an int8 folder straight into the native engine: no model is built, and PyTorch is not loaded."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from headwise.decode.engines.native.native_engine import NativeEngine, native_engine, native_runs
from headwise.models.folder.arrays import StoredArrays
from headwise.models.folder.config_file import WEIGHTS, int8_version, is_int8, load_description
from headwise.models.folder.description import Description


class StoredEngine(NamedTuple):
    """The native engine of an int8 folder: its weights are nowhere else in memory."""

    description: Description
    engine: NativeEngine
    digest: str
    """Content digest of the weights."""


def open_stored(folder: Path) -> StoredEngine | None:
    """The engine of an int8 folder, or of the int8 version in a folder; None where the model must be built: its weights
    are not int8, or the native engine does not know all of its parts or cannot run here."""
    folder = int8_version(folder)
    if not is_int8(folder) or not (folder / WEIGHTS).is_file():
        return None
    description = load_description(folder)
    if description.tokenizer is None or not native_runs(description.config):
        return None
    weights = StoredArrays(folder / WEIGHTS)
    engine = native_engine(description, weights)
    return None if engine is None else StoredEngine(description, engine, weights.digest)
