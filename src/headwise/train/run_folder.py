"""The output folder of a run: it belongs to one recipe and one set of data."""

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
from headwise.files.lock import locked, remove_lock
from headwise.files.tables import read_table, write_table
from headwise.models.folder.config_file import CHECKPOINTS, WEIGHTS
from headwise.models.folder.run_layout import checkpoints
from headwise.recipe import dotted, from_tables, to_tables
from headwise.text.kinds import load_tokenizer
from headwise.text.tokenizer import Tokenizer
from headwise.train.job import Say
from headwise.train.step.blend import Blend

RECIPE = "recipe.json"
RESOLVED = "resolved"
"""The table in it of the values that were chosen for settings that the recipe leaves open."""
START = "init_digest"
"""The key in that table of the SHA-256 of the weights that a blend starts from."""
DATA = "data"
"""The folder of prepared data, unless `data.cache` names another."""
DATA_KEY = "data.json"
"""Holds the key of the prepared data that a run was started with, and the files it was made from."""
COST = "cost.json"
LOCK = ".lock"
"""Locked while a run trains: two processes in one folder would remove each other's checkpoints."""

BOUND = ("task", "seed", "init", "model", "text", "data", "language", "classify", "images", "tune")
"""Parts of a recipe that cannot change once a run has begun."""
FREE = ("train.", "data.cache", "data.test")
"""Prefixes of keys that can."""
FOLDER = "a folder"
"""Takes the place of a file's SHA-256 for a folder of images, which has none."""


def data_folder(recipe: Recipe, run: Path) -> Path:
    """Where the prepared data of a run is."""
    return Path(recipe.data.cache).expanduser() if recipe.data.cache else run / DATA


@contextlib.contextmanager
def claimed(run: Path, recipe: Recipe, say: Say) -> Iterator[None]:
    """Lock the output folder for this recipe, and remove unfinished files of a run that was killed."""
    make_folder(run)
    claim(run, recipe, say)
    with locked(run / LOCK, f"{run} is being trained by another process: choose another --out"):
        for folder in (run, run / DATA, run / CHECKPOINTS):
            remove_unfinished(folder)
        yield


def make_folder(run: Path) -> None:
    try:
        run.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ConfigError(f"{run}: cannot be the output folder: it is a file") from None
    except OSError as error:
        raise ConfigError(f"{run}: cannot be the output folder: {error.strerror}") from None
    if not os.access(run, os.W_OK):
        raise ConfigError(f"{run}: cannot be the output folder: no permission to write")


def remove_if_empty(run: Path) -> None:
    """Remove the folder of a run that was refused before it wrote anything of value."""
    small = {run / LOCK, run / DATA / CACHE}
    found = {path for path in run.rglob("*") if path != run / DATA}
    if found <= small:
        for path in found:
            remove_lock(path)
        with contextlib.suppress(OSError):
            if (run / DATA).is_dir():
                (run / DATA).rmdir()
            run.rmdir()


# --- the recipe ------------------------------------------------------------------------------------------------------


def stored_recipe(run: Path) -> dict[str, Any]:
    """The tables of the recipe that a run was started with."""
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
    before, now = ({part: tables[part] for part in (*BOUND, "train")} for tables in (before, to_tables(recipe)))
    changes = differences(before, now)
    refused = [change for key, change in changes if _is_bound(key)]
    if refused:
        raise ConfigError(
            f"{run} was started with another recipe: {'; '.join(refused[:3])}. To continue the run, leave the recipe "
            f"as it was; to train its model further with another one, start from it: --init {run} --out NEW_FOLDER"
        )
    for key, change in changes:
        if key.startswith("train."):
            say(f"changed since the last start: {change}")


def _is_bound(key: str) -> bool:
    """Whether a key cannot change once a run has begun. In the train table only the optimiser cannot: the states of
    optimisers are incompatible."""
    return key == "train.optimiser" or not key.startswith(FREE)


def differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """The keys whose values differ between two sets of tables, each with its change in words."""
    old, new = dotted(before, prefix), dotted(now, prefix)
    return [change for key in dict.fromkeys((*old, *new)) for change in _changes(key, old.get(key), new.get(key))]


def _changes(key: str, old: object, new: object) -> list[tuple[str, str]]:
    if old == new:
        return []
    if not isinstance(old, list) or not isinstance(new, list):
        return [(key, f"{key} was {_shown(old)}, is {_shown(new)}")]
    if len(old) == len(new) and all(isinstance(each, dict) for each in (*old, *new)):
        corpora = enumerate(zip(old, new, strict=True))
        return [change for i, (one, other) in corpora for change in differences(one, other, f"{key}[{i}].")]
    gone, added = ([each for each in one if each not in other] for one, other in ((old, new), (new, old)))
    words = [f"{verb} {_shown(part)}" for verb, part in (("no longer has", gone), ("now has", added)) if part]
    return [(key, f"{key} {' and '.join(words) or 'is in another order'}")]


def _shown(value: object) -> str:
    """A value of a recipe in words; a corpus is described by its files."""
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
    """Refuse data files that have changed since the run was started, before any of them is prepared again."""
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
    """Refuse data other than the run was started with: its position in them, and its tokenizer, would be meaningless.

    A new run's data are recorded.
    """
    if (run / DATA_KEY).exists() and read_data_key(run)[0] != key:
        raise _other_data(run, ["the prepared data is not the same"])
    listed = {file.path: file.sha256 for file in files if file.role != "test"}
    write_table(run / DATA_KEY, {"key": key, "files": listed})


def _other_data(run: Path, changed: Sequence[str]) -> ConfigError:
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return ConfigError(
        f"{run} was started with other data: {'; '.join(changed[:3])}{more}. To continue the run, restore the files "
        f"as they were; to train its model further on the data as now, start from it: --init {run} --out NEW_FOLDER"
    )


def read_data_key(run: Path) -> tuple[str, Mapping[str, str]]:
    """The key of the data that a run was started with, and the SHA-256 of its files by path."""
    path = run / DATA_KEY
    try:
        stored = read_table(path)
        return str(stored["key"]), {str(file): str(digest) for file, digest in stored["files"].items()}
    except (CheckpointError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{error}; remove {path} to continue with the data as it is now") from None


def check_same_start(run: Path, blend: Blend | None) -> None:
    """Refuse a model in `init` other than the one that the run was started from: the result is a blend with it."""
    if blend is None or not checkpoints(run):
        return
    before = read_table(run / RECIPE).get(RESOLVED, {}).get(START, blend.digest)
    if before != blend.digest:
        raise ConfigError(
            f"{run} was started from other weights than those that init names now: restore that model, or choose "
            "another --out"
        )


def check_same_tokenizer(run: Path, tokenizer: Tokenizer | None) -> None:
    """Refuse a tokenizer other than the run was started with: if lost data are prepared again, another version of a
    library may train a different tokenizer on the same text."""
    if tokenizer is None or not checkpoints(run):
        return
    try:
        before = load_tokenizer(run)
    except CheckpointError:  # damaged: it is written again
        return
    if before != tokenizer:
        raise ConfigError(
            f"{run} was started with another tokenizer than the one that was trained now: restore the prepared data "
            "(data.cache), or choose another --out"
        )
