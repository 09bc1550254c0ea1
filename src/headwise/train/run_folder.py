"""The output folder of a run: which recipe and which data may use it."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headwise.config import Recipe
from headwise.data.prepare.fingerprint import CACHE, hash_files
from headwise.data.prepare.result import SourceFile
from headwise.errors import CheckpointError, ConfigError
from headwise.files.atomic import remove_unfinished
from headwise.files.lock import locked
from headwise.files.tables import read_table, write_table
from headwise.models.folder.config_file import WEIGHTS
from headwise.models.folder.run_layout import CHECKPOINTS, checkpoints
from headwise.recipe import from_tables, to_tables
from headwise.text.kinds import load_tokenizer
from headwise.text.tokenizer import Tokenizer
from headwise.train.job import Say

RECIPE = "recipe.json"
RESOLVED = "resolved"
"""In it, beside the settings: the values of those that were left open."""
DATA = "data"
"""The folder of prepared data, unless `data.cache` names another."""
DATA_KEY = "data.json"
"""Names the prepared data that a run was begun with, and the files it was made of."""
SCORES = "scores.json"
COST = "cost.json"
LOCK = ".lock"
"""Two processes in one output folder would remove each other's checkpoints."""

BOUND = ("task", "seed", "init", "model", "text", "data", "language", "classify", "images", "tune")
"""Parts of a recipe that cannot change once a run has begun."""
FREE = ("train.", "data.cache", "data.test")
"""Keys that can, by their beginnings."""
FOLDER = "a folder"
"""Instead of the SHA-256 of a file: a folder of images has none."""


def data_folder(recipe: Recipe, run: Path) -> Path:
    """Where the prepared data of a run is."""
    return Path(recipe.data.cache).expanduser() if recipe.data.cache else run / DATA


@contextlib.contextmanager
def claimed(run: Path, recipe: Recipe, say: Say) -> Iterator[None]:
    """Use the output folder for this recipe alone; what a killed run was writing is removed."""
    make_folder(run)
    claim(run, recipe, say)
    with locked(run / LOCK, f"{run} is being trained by another process: choose another --out"):
        for folder in (run, run / DATA, run / CHECKPOINTS):
            remove_unfinished(folder)
        yield


def make_folder(run: Path) -> None:
    try:
        run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{run}: cannot be the output folder: {error.strerror}") from None
    if not os.access(run, os.W_OK):
        raise ConfigError(f"{run}: cannot be the output folder: no permission to write")


def remove_if_empty(run: Path) -> None:
    """Remove the folder of a run that was refused before it wrote anything of worth."""
    small = {run / LOCK, run / DATA / CACHE}
    found = {path for path in run.rglob("*") if path != run / DATA}
    if found <= small:
        for path in found:
            path.unlink()
        with contextlib.suppress(OSError):
            if (run / DATA).is_dir():
                (run / DATA).rmdir()
            run.rmdir()


# --- the recipe ------------------------------------------------------------------------------------------------------


def stored_recipe(run: Path) -> dict[str, Any]:
    """The tables of the recipe that a run was begun with."""
    return {name: table for name, table in read_table(run / RECIPE).items() if name != RESOLVED}


def claim(run: Path, recipe: Recipe, say: Say) -> None:
    """Refuse an output folder that belongs to another recipe: continuing would silently mix two models."""
    if not (run / RECIPE).exists():
        if (run / WEIGHTS).exists() and not checkpoints(run):
            raise ConfigError(f"{run} holds a model that was not trained here: choose another --out")
        return
    try:
        stored = stored_recipe(run)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; remove it to continue with the recipe that is given") from None
    try:
        before = to_tables(from_tables(Recipe, stored))
    except (ConfigError, TypeError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{run / RECIPE}: damaged: {error}") from None
    now = to_tables(recipe)
    changes = [each for part in (*BOUND, "train") for each in differences(before[part], now[part], part)]
    refused = [change for key, change in changes if _is_bound(key)]
    if refused:
        raise ConfigError(
            f"{run} was begun with another recipe: {'; '.join(refused[:3])}. To continue the run, leave the recipe as "
            f"it was; to train its model further with another one, start from it: --init {run} --out NEW_FOLDER"
        )
    for key, change in changes:
        if key.startswith("train."):
            say(f"changed since the last start: {change}")


def _is_bound(key: str) -> bool:
    """Whether a key cannot change once a run has begun. In the train table that is the optimiser, whose state means
    nothing to another."""
    return key == "train.optimiser" or not key.startswith(FREE)


def differences(before: object, now: object, key: str) -> list[tuple[str, str]]:
    """The differences between two values of a recipe, in words, by key."""
    if before == now:
        return []
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            difference
            for name in sorted(before.keys() | now.keys())
            for difference in differences(before.get(name), now.get(name), f"{key}.{name}")
        ]
    if isinstance(before, list) and isinstance(now, list):
        if len(before) == len(now) and all(isinstance(each, dict) for each in (*before, *now)):
            pairs = enumerate(zip(before, now, strict=True))
            return [found for i, (old, new) in pairs for found in differences(old, new, f"{key}[{i}]")]
        gone, added = ([each for each in one if each not in other] for one, other in ((before, now), (now, before)))
        words = [f"no longer has {_shown(gone)}"] if gone else []
        words += [f"now has {_shown(added)}"] if added else []
        return [(key, f"{key} {' and '.join(words) or 'is in another order'}")]
    return [(key, f"{key} was {_shown(before)}, is {_shown(now)}")]


def _shown(value: object) -> str:
    """A value of a recipe in words; a corpus is named by its files."""
    if isinstance(value, dict):
        files = [str(each) for part in value.values() if isinstance(part, list) for each in part]
        return ", ".join(files) or "an empty table"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "empty"
    if isinstance(value, bool):
        return str(value).lower()
    return "not given" if value is None or value == "" else str(value)


# --- the data --------------------------------------------------------------------------------------------------------


def check_same_files(run: Path, recipe: Recipe, say: Say) -> None:
    """Refuse data files that have changed since the run was begun, before any of them is prepared anew."""
    if not (run / DATA_KEY).exists():
        return
    _, files = read_data_key(run)
    changed = [f"{path} is no longer there" for path in files if not Path(path).exists()]
    cache = data_folder(recipe, run)
    present = [Path(path) for path, digest in files.items() if digest != FOLDER and Path(path).is_file()]
    if present and cache.is_dir():
        now = hash_files(present, cache, say)
        changed += [f"{path} has changed" for path in present if now[path] != files[str(path)]]
    if changed:
        raise _other_data(run, changed)


def check_same_data(run: Path, key: str, files: Sequence[SourceFile]) -> None:
    """Refuse other data than the run was begun with: its position there, or its tokenizer, would mean nothing.

    The data of a fresh run is noted.
    """
    if (run / DATA_KEY).exists() and read_data_key(run)[0] != key:
        raise _other_data(run, ["the prepared data is not the same"])
    listed = {file.path: file.sha256 for file in files if file.role != "test"}
    write_table(run / DATA_KEY, {"key": key, "files": listed})


def _other_data(run: Path, changed: Sequence[str]) -> ConfigError:
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return ConfigError(
        f"{run} was begun with other data: {'; '.join(changed[:3])}{more}. To continue the run, put the files back as "
        f"they were; to train its model further on the data as it is now, start from it: --init {run} --out NEW_FOLDER"
    )


def read_data_key(run: Path) -> tuple[str, Mapping[str, str]]:
    """The name of the data that a run was begun with, and the SHA-256 of its files by path."""
    path = run / DATA_KEY
    try:
        stored = read_table(path)
        return str(stored["key"]), {str(file): str(digest) for file, digest in stored["files"].items()}
    except (CheckpointError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{error}; remove {path} to continue with the data as it is now") from None


def check_same_tokenizer(run: Path, tokenizer: Tokenizer | None) -> None:
    """Refuse another tokenizer than the run was begun with: prepared data that was lost is made again, and another
    version of a library may train another tokenizer on the same text."""
    if tokenizer is None or not checkpoints(run):
        return
    try:
        before = load_tokenizer(run)
    except CheckpointError:  # damaged: it is written again
        return
    if before != tokenizer:
        raise ConfigError(
            f"{run} was begun with another tokenizer than the one that was trained now: put the prepared data back "
            "(data.cache), or choose another --out"
        )
