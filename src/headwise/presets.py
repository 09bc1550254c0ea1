"""Named model shapes: plain values that lie under what a recipe says.

`base` and `big` are the rows of Table 3 in "Attention Is All You Need"; the others are sized for less data
and smaller machines. Pre-norm there, since it trains without a long warm-up.
"""

from typing import Any

from headwise.config import ModelConfig, Recipe, from_tables
from headwise.errors import ConfigError

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {
        "width": 128,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "heads": 4,
        "hidden": 256,
        "dropout": 0.1,
        "norm_order": "pre",
    },
    "small": {
        "width": 256,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "heads": 4,
        "hidden": 1024,
        "dropout": 0.1,
        "norm_order": "pre",
    },
    "base": {
        "width": 512,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "heads": 8,
        "hidden": 2048,
        "dropout": 0.1,
        "norm_order": "post",
    },
    "big": {
        "width": 1024,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "heads": 16,
        "hidden": 4096,
        "dropout": 0.3,
        "norm_order": "post",
    },
    # Most of the time of a translation is spent in the decoder, one token after the other; a deep encoder
    # and a decoder of two layers translate about as well as 6+6 and much faster.
    "deep": {
        "width": 512,
        "encoder_layers": 12,
        "decoder_layers": 2,
        "heads": 8,
        "hidden": 2048,
        "dropout": 0.1,
        "norm_order": "pre",
    },
}

DEFAULTS = {"translation": "small", "causal_lm": "gpt", "masked_lm": "bert", "classify": "bert", "images": "vit"}
"""By task, the preset of a recipe that names none."""
DEFAULT = DEFAULTS["translation"]


def preset_config(name: str) -> ModelConfig:
    """The model of a preset, as it stands."""
    return from_tables(ModelConfig, _model_tables({"preset": name}, ""), "model.")


def resolve(tables: dict[str, Any]) -> Recipe:
    """The whole recipe: what the tables say, over the preset, over the defaults.

    With `init` the shape is that of the model there, which train/start.py reads: no preset lies under it.
    """
    model = tables.get("model", {})
    if not isinstance(model, dict):
        raise ConfigError("model must be a table")
    if not tables.get("init"):
        model = _model_tables(model, str(tables.get("task", "translation")))
    return from_tables(Recipe, {**tables, "model": model})


def _model_tables(model: dict[str, Any], task: str) -> dict[str, Any]:
    name = model.get("preset", DEFAULTS.get(task, DEFAULT))
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(f"unknown preset {name!r}; there are: {', '.join(PRESETS)}")
    return {"preset": name, **PRESETS[name], **model}
