"""Presets: named model shapes, and defaults by task, that a recipe's own values override.

`base` and `big` are the rows of Table 3 in "Attention Is All You Need"; the other translators are sized for less
data and smaller machines, with pre-norm, which trains without a long warm-up. Names that end in `_base`, and `gpt2`,
are the sizes of the papers; `bert`, `gpt`, `llama`, `vit` are the same architectures for one GPU, `bert_tiny` and
`gpt_tiny` for a CPU.
"""

from collections.abc import Mapping
from typing import Any

from headwise.config import ModelConfig, Recipe
from headwise.errors import ConfigError
from headwise.recipe import check_keys, from_tables, nested, overlaid

# What the presets of one architecture have in common.
_BERT: dict[str, Any] = {
    "family": "masked_lm",
    "feed_forward.activation": "gelu",
    "norm.order": "post",
    "norm.epsilon": 1e-12,
    "positions.kind": "learned",
    "positions.max_positions": 512,
    "embedding.scale": False,
    "embedding.norm": True,
    "embedding.segments": 2,
    "output.bias": True,
    "pooling.pooler": "tanh",
    "attention.dropout": 0.1,
    "init": "normal",
}
_GPT: dict[str, Any] = {
    "family": "causal_lm",
    "feed_forward.activation": "gelu_tanh",
    "norm.order": "pre",
    "positions.kind": "learned",
    "embedding.scale": False,
    "pooling.kind": "last",
    "attention.dropout": 0.1,
    "init": "normal",
}
_LLAMA: dict[str, Any] = {
    "feed_forward.activation": "silu",
    "feed_forward.kind": "gated",
    "norm.kind": "rms",
    "norm.order": "pre",
    "positions.kind": "rotary",
    "bias": False,
}
_LSTM: dict[str, Any] = {"stack": "lstm", "positions.kind": "none", "layers": 2, "attention.heads": 1}
_VIT: dict[str, Any] = {
    "family": "vision",
    "feed_forward.activation": "gelu",
    "norm.order": "pre",
    "norm.epsilon": 1e-12,
    "positions.kind": "learned",
    "init": "normal",
}


def _size(width: int, layers: int, heads: int, hidden: int) -> dict[str, Any]:
    return {"width": width, "layers": layers, "attention.heads": heads, "feed_forward.hidden": hidden}


_TINY, _SMALL, _BASE = _size(128, 4, 4, 256), _size(256, 4, 4, 1024), _size(768, 12, 12, 3072)

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {**_TINY, "norm.order": "pre"},
    "small": {**_SMALL, "norm.order": "pre"},
    "base": _size(512, 6, 8, 2048),
    "big": {**_size(1024, 6, 16, 4096), "dropout": 0.3},
    # Most of the time of a translation is spent in the decoder, one token after the other; a deep encoder
    # and a decoder of two layers translate about as well as 6+6 and much faster.
    "deep": {**_size(512, 2, 8, 2048), "encoder.layers": 12, "norm.order": "pre"},
    # A translator with the parts of today's language models; half the key/value heads make its cache half as large.
    "modern": {**_LLAMA, **_size(256, 4, 4, 704), "attention.key_value_heads": 2},
    "bert_tiny": {**_BERT, **_size(128, 2, 2, 512), "positions.max_positions": 256},
    "bert": {**_BERT, **_SMALL},
    "bert_base": {**_BERT, **_BASE},
    "roformer": {**_BERT, **_SMALL, "positions.kind": "rotary"},
    "gpt_tiny": {**_GPT, **_size(128, 4, 4, 512), "positions.max_positions": 256},
    "gpt": {**_GPT, **_size(384, 6, 6, 1536)},
    "gpt2": {**_GPT, **_BASE},
    "llama": {
        **_LLAMA,
        **_size(384, 6, 6, 1024),
        "family": "causal_lm",
        "embedding.scale": False,
        "pooling.kind": "last",
        "init": "normal",
        "attention.key_value_heads": 2,
        "dropout": 0.0,
    },
    # The architecture before the Transformer, as baselines: without positions, since an LSTM reads in order.
    "lstm": {**_LSTM, "width": 512, "dropout": 0.3},
    "lstm_lm": {**_LSTM, "family": "causal_lm", "width": 512, "pooling.kind": "last", "dropout": 0.4},
    "vit": {**_VIT, **_size(256, 6, 4, 1024), "patches.image_size": 32, "patches.patch_size": 4},
    "vit_base": {**_VIT, **_BASE, "patches.image_size": 224, "patches.patch_size": 16},
}
"""Dotted keys of the model table; `dropout` is 0.1 unless given."""

DEFAULTS = {"translation": "small", "causal_lm": "gpt", "masked_lm": "bert", "classify": "bert", "images": "vit"}
"""The preset of a recipe that names none, by task."""
DEFAULT = DEFAULTS["translation"]

_LANGUAGE = {"label_smoothing": 0.0, "schedule": "cosine", "weight_decay": 0.1, "epsilon": 1e-8}
TRAINING: dict[str, dict[str, Any]] = {
    "causal_lm": {**_LANGUAGE, "beta2": 0.95},
    "masked_lm": _LANGUAGE,
    "images": {"batch_tokens": 128},
}
"""Defaults of the train table, by task, where they differ from a translator's."""

TEXTS: dict[str, dict[str, Any]] = {
    "causal_lm": {"kind": "byte_bpe"},
    "masked_lm": {"kind": "wordpiece"},
    "classify": {"kind": "wordpiece"},
}
"""Defaults of the text table, by task: the tokenizers that such models are published with."""


def preset_config(name: str) -> ModelConfig:
    """The model of a preset, unchanged."""
    return from_tables(ModelConfig, _model_tables({"preset": name}, ""), "model.")


def resolve(tables: Mapping[str, Any]) -> Recipe:
    """The whole recipe: the given tables, over the preset and the task's defaults, over those of config.py.

    Keys may be dotted: {"model": {"attention.heads": 4}}. With `init` the shape is that of the model there, which
    train/start.py reads: no preset is used.
    """
    tables = nested(tables)
    check_keys(Recipe, tables)
    task = str(tables.get("task", "translation"))
    model, text, train = (tables.get(name, {}) for name in ("model", "text", "train"))
    for name, table in (("model", model), ("text", text), ("train", train)):
        if not isinstance(table, dict):
            raise ConfigError(f"{name} must be a table")
    if not tables.get("init"):
        model = _model_tables(model, task)
    text, train = {**TEXTS.get(task, {}), **text}, {**TRAINING.get(task, {}), **train}
    return from_tables(Recipe, {**tables, "model": model, "text": text, "train": train})


def _model_tables(model: dict[str, Any], task: str) -> dict[str, Any]:
    name = model.get("preset", DEFAULTS.get(task, DEFAULT))
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(f"unknown preset {name!r}; there are: {', '.join(PRESETS)}")
    return overlaid({"preset": name, **nested(PRESETS[name])}, model)
