"""The model that a translator's training starts from if the user names none: the bundled one, or a new one.

A few thousand pairs teach a trained model the words and the style of their subject within minutes; a new model learns
next to nothing from them. This is for commands without a recipe: what a recipe leaves open stays as it always was.
"""

from collections.abc import Callable, Mapping
from typing import Any

from headwise.bundled.find import BUNDLED, bundled_folder, find_model
from headwise.config import DataConfig
from headwise.data.prepare.parallel_text import directions
from headwise.errors import CheckpointError, ConfigError
from headwise.models.folder.config_file import load_description
from headwise.models.folder.description import Task
from headwise.models.published.read_folder import is_foreign
from headwise.recipe import NONE, dotted, from_tables, nested, overlaid, override
from headwise.train.start import FREE
from headwise.train.tuning import CHOSEN, SMALL, Amount, amount_of, tuning_settings

Say = Callable[[str], None]

UNNAMED = "?"
"""Stands for a language that the recipe does not name."""

TEXT = ("sampling", "candidates")
"""Keys of the text table that a model with a tokenizer of its own leaves open."""


def with_start(tables: Mapping[str, Any], stored: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """The tables of a run with the model that it starts from, and with settings that fit the amount of its data.

    What the tables say counts. `stored`: the recipe of the run that exists in the output folder, whose start and
    settings are kept; empty if there is none. `say` receives a line about what is chosen, and why.
    """
    tables = nested(tables)
    if tables.get("task", "translation") != "translation" or tables.get("init") == NONE:
        return tables
    if stored:
        return _as_stored(tables, stored)
    if tables.get("init"):
        init = str(tables["init"])
        tables = _in_codes_of(init, tables)
        amount = amount_of(_data(tables))
        return tables if amount.pairs > SMALL else override(tables, tuning_settings(amount, dotted(tables)))
    if _has_own_shape(tables):
        return tables
    try:
        task = load_description(bundled_folder()).task
    except CheckpointError:  # an installation without it
        return tables
    why_not, amount = "", Amount(0, 0)
    missing = missing_directions(_data(tables), task)
    if any(UNNAMED in direction for direction in missing):
        why_not = "the bundled one needs the names of the languages, --from and --to"
    else:
        amount = amount_of(_data(tables))
        if missing:
            why_not = f"the bundled one does not translate {', '.join(missing)}"
            if amount.pairs <= SMALL:
                why_not += f"; {_few(amount)} too few to learn that well, so give another with --init if you can"
        elif amount.pairs > SMALL:
            why_not = f"there are more than {SMALL:,} pairs (--init {BUNDLED} starts from the bundled one)"
    if why_not:
        say(f"training a new model: {why_not}")
        return tables
    say(f"starting from the bundled model, since {_few(amount)} too few for a new one; --init none trains a new one")
    tables = _in_codes_of(BUNDLED, {**tables, "init": BUNDLED})
    return override(tables, tuning_settings(amount, dotted(tables)))


def _few(amount: Amount) -> str:
    return f"{amount.pairs:,} pairs are" if amount.pairs != 1 else "one pair is"


def missing_directions(data: DataConfig, task: Task) -> list[str]:
    """The directions of the data that a model does not translate."""
    return [
        f"{source or UNNAMED}-{target or UNNAMED}"
        for source, target in directions(data)
        if not _fits(source, target, task)
    ]


def _fits(source: str, target: str, task: Task) -> bool:
    try:
        return bool(source and target and task.direction(source, target))
    except ConfigError:
        return False


def _has_own_shape(tables: Mapping[str, Any]) -> bool:
    """Whether the tables describe a model or tokenizer of their own."""
    model, text = (dotted(table) if isinstance(table := tables.get(name), dict) else {} for name in ("model", "text"))
    return any(key not in FREE for key in model) or any(key not in TEXT for key in text)


def _as_stored(tables: dict[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """The tables with the start and the chosen settings of the run that exists: they do not change while it lasts."""
    before, given = dotted(nested(stored)), dotted(tables)
    init = given.get("init") or before.get("init")
    if not init:
        return tables
    kept = {key: before[key] for key in CHOSEN if key in before and key not in given}
    return _in_codes_of(str(init), override({**tables, "init": init}, kept))


def _in_codes_of(init: str, tables: dict[str, Any]) -> dict[str, Any]:
    """The tables with the language codes of a model that has language tags: `de` for `de-AT`, if it knows no variants.

    The files still may have their own codes: see data/read/languages.py.
    """
    folder = find_model(init)
    task = None if is_foreign(folder) else load_description(folder).task
    data = _data(tables)
    if task is None or not task.tags:
        return tables
    codes: dict[str, str] = {}
    for source, target in directions(data):
        if _fits(source, target, task):
            codes |= zip((source, target), task.direction(source, target), strict=True)

    def renamed(table: Mapping[str, Any]) -> dict[str, Any]:
        own = {
            key: codes.get(table[key], table[key]) for key in ("source_language", "target_language") if table.get(key)
        }
        return overlaid(table, own)

    data_table = renamed(tables["data"])
    for role in ("train", "valid", "test"):
        if role in data_table:
            data_table[role] = [renamed(corpus) for corpus in data_table[role]]
    return {**tables, "data": data_table}


def _data(tables: Mapping[str, Any]) -> DataConfig:
    return from_tables(DataConfig, tables.get("data", {}), "data.")
