"""Small corpora and recipes for whole runs."""

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
            "encoder_layers": 2,
            "decoder_layers": 2,
            "hidden": 128,
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
