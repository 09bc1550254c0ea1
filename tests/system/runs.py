"""Small corpora and recipes for whole runs."""

import json
import random
from pathlib import Path
from typing import Any

from headwise.config import Recipe
from headwise.presets import resolve

SYMBOLS = [*"abcdefghijkl"]
Sequence = tuple[str, ...]


def sequences(count: int, seed: int, longest: int = 8) -> list[Sequence]:
    """Different random strings of 2 to `longest` symbols, in random order."""
    rng = random.Random(seed)
    found: dict[Sequence, None] = {}
    while len(found) < count:
        found[tuple(rng.choices(SYMBOLS, k=rng.randint(2, longest)))] = None
    return list(found)


def write_tsv(path: Path, pairs: list[tuple[Sequence, Sequence]]) -> None:
    path.write_text("".join(f"{' '.join(source)}\t{' '.join(target)}\n" for source, target in pairs))


def recipe_tables(folder: Path, **train: Any) -> dict[str, Any]:
    """A model of two layers and width 64 on `train.tsv` and `valid.tsv` of the folder, without chance."""
    return {
        "out": str(folder / "run"),
        "model": {
            "preset": "tiny",
            "width": 64,
            "layers": 2,
            "feed_forward.hidden": 128,
            "dropout": 0.0,
        },
        "text": {"kind": "words"},
        "data": {
            "source_language": "xx",
            "target_language": "yy",
            "train": [{"pairs": [str(folder / "train.tsv")]}],
            "valid": [{"pairs": [str(folder / "valid.tsv")]}],
            "clean": {"copies": False},
        },
        "train": {"device": "cpu", "label_smoothing": 0.0, "validate_bleu": False, **train},
    }


def recipe(folder: Path, **train: Any) -> Recipe:
    return resolve(recipe_tables(folder, **train))


# --- short runs that are disturbed ------

OFTEN = {"checkpoint_every": 2, "validate_every": 5, "log_every": 1, "keep": 2, "warmup": 5, "batch_tokens": 128}
"""Few steps between two checkpoints, and few checkpoints kept: many faults fall into writing and removing them."""
STEPS = 20


def small_translation(folder: Path, **train: Any) -> dict[str, Any]:
    found = sequences(400, seed=2)
    if not (folder / "train.tsv").exists():
        write_tsv(folder / "train.tsv", [(each, each[::-1]) for each in found[20:]])
        write_tsv(folder / "valid.tsv", [(each, each[::-1]) for each in found[:20]])
    tables = recipe_tables(folder, **{"steps": STEPS, **OFTEN, **train})
    return {**tables, "model": {**tables["model"], "width": 32, "feed_forward.hidden": 32, "dropout": 0.1}}


def best_of_validations(folder: Path) -> dict[str, Any]:
    """A translator, the best by validation, with words for tokens."""
    return small_translation(folder)


def mean_of_checkpoints(folder: Path) -> dict[str, Any]:
    """Everything that has a state: a moving average, a mean of checkpoints, accumulation, sampled segmentations."""
    tables = small_translation(folder, average=3, ema=0.9, accumulate=2)
    return {**tables, "text": {"kind": "unigram", "vocabulary": 280, "sampling": 0.1}}


def language_model(folder: Path) -> dict[str, Any]:
    path = folder / "text.txt"
    if not path.exists():
        path.write_text("\n".join(" ".join(each) for each in sequences(300, seed=3)) + "\n")
    tables = small_translation(folder)
    shape = {
        "preset": "tiny",
        "family": "causal_lm",
        "width": 32,
        "attention.heads": 2,
        "feed_forward.hidden": 32,
        "layers": 2,
    }
    train = {"steps": STEPS, **OFTEN, "batch_tokens": 64, "learning_rate": 0.003, "device": "cpu"}
    return {
        "task": "causal_lm",
        "out": tables["out"],
        "model": {**shape, "norm.order": "pre", "dropout": 0.1},
        "text": {"kind": "characters", "lossless": True},
        "data": {"train": [{"text": [str(path)]}]},
        "language": {"block": 16},
        "train": train,
    }


VARIANTS = {each.__name__: each for each in (best_of_validations, mean_of_checkpoints, language_model)}


def write_recipe(folder: Path, tables: dict[str, Any], name: str = "run", out: Path | None = None) -> Path:
    """A recipe `NAME.toml` whose output is the folder NAME beside it, unless `out` is given."""
    path = folder / f"{name}.toml"
    path.write_text(toml({**tables, "out": str(out or folder / name)}))
    return path


def toml(recipe: dict[str, Any]) -> str:
    """JSON values are TOML values, but for tables; those become dotted keys and inline tables."""

    def value(each: Any) -> str:
        if isinstance(each, dict):
            return "{" + ", ".join(f"{key} = {value(item)}" for key, item in each.items()) + "}"
        if isinstance(each, list):
            return "[" + ", ".join(map(value, each)) + "]"
        return json.dumps(each)

    return "\n".join(f"{key} = {value(each)}" for key, each in recipe.items())
