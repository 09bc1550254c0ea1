"""Small texts and recipes of seconds for language models."""

from pathlib import Path
from typing import Any

from headwise.config import Recipe
from headwise.presets import resolve
from headwise.recipe import override

SHAPE = {"width": 32, "attention.heads": 2, "feed_forward.hidden": 64, "layers": 2, "norm.order": "pre"}
CAUSAL = {"preset": "tiny", "family": "causal_lm", **SHAPE}
MASKED = {"preset": "tiny", "family": "masked_lm", **SHAPE}


def text_recipe(task: str, text: Path, out: Path, settings: dict[str, Any] | None = None) -> Recipe:
    """A whole run of 12 steps."""
    tables = {
        "task": task,
        "seed": 5,
        "out": str(out),
        "model": {**(CAUSAL if task == "causal_lm" else MASKED), "dropout": 0.1},
        "text": {"kind": "characters", "lossless": task == "causal_lm"},
        "data": {"train": [{"text": [str(text)], "licence": "CC0-1.0"}]},
        "language": {"block": 16},
        "train": {
            "steps": 12,
            "batch_tokens": 64,
            "learning_rate": 0.003,
            "warmup": 5,
            "validate_every": 4,
            "checkpoint_every": 3,
            "log_every": 2,
            "device": "cpu",
        },
    }
    return resolve(override(tables, settings or {}))
