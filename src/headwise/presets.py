"""Named model shapes: plain values that lie under what a recipe says.

`base` and `big` are the rows of Table 3 in "Attention Is All You Need"; the other translators are sized for less
data and smaller machines. Pre-norm there, since it trains without a long warm-up. The names that end in `_base`, and
`gpt2`, are the sizes of the papers; `bert`, `gpt`, `llama`, `vit` are the same architectures for one machine.
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

# Shapes that several of the families below share, one a line of descent.
_BERT: dict[str, Any] = {
    "family": "masked_lm",
    "activation": "gelu",
    "norm_order": "post",
    "norm_epsilon": 1e-12,
    "positions": "learned",
    "max_positions": 512,
    "embedding_scale": False,
    "embedding_norm": True,
    "segments": 2,
    "output_bias": True,
    "pooler": "tanh",
    "attention_dropout": 0.1,
    "init": "normal",
}
_GPT: dict[str, Any] = {
    "family": "causal_lm",
    "activation": "gelu_tanh",
    "norm_order": "pre",
    "positions": "learned",
    "embedding_scale": False,
    "pooling": "last",
    "attention_dropout": 0.1,
    "init": "normal",
}
_LLAMA: dict[str, Any] = {
    "activation": "silu",
    "feed_forward": "gated",
    "norm": "rms",
    "norm_order": "pre",
    "positions": "rotary",
    "bias": False,
}
_VIT: dict[str, Any] = {
    "family": "vision",
    "activation": "gelu",
    "norm_order": "pre",
    "norm_epsilon": 1e-12,
    "positions": "learned",
    "init": "normal",
}

PRESETS |= {
    # A translator with the parts of today's language models; half the key/value heads make its cache half as large.
    "modern": {
        **_LLAMA,
        "width": 256,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "heads": 4,
        "key_value_heads": 2,
        "hidden": 704,
        "dropout": 0.1,
    },
    "bert": {**_BERT, "width": 256, "encoder_layers": 4, "heads": 4, "hidden": 1024},
    "bert_base": {**_BERT, "width": 768, "encoder_layers": 12, "heads": 12, "hidden": 3072},
    "roformer": {**_BERT, "positions": "rotary", "width": 256, "encoder_layers": 4, "heads": 4, "hidden": 1024},
    "gpt": {**_GPT, "width": 384, "decoder_layers": 6, "heads": 6, "hidden": 1536},
    "gpt2": {**_GPT, "width": 768, "decoder_layers": 12, "heads": 12, "hidden": 3072},
    "llama": {
        **_LLAMA,
        "family": "causal_lm",
        "embedding_scale": False,
        "pooling": "last",
        "init": "normal",
        "width": 384,
        "decoder_layers": 6,
        "heads": 6,
        "key_value_heads": 2,
        "hidden": 1024,
        "dropout": 0.0,
    },
    # What the Transformer replaced, as baselines: no positions, since an LSTM reads in order.
    "lstm": {
        "stack": "lstm",
        "positions": "none",
        "width": 512,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "heads": 1,
        "dropout": 0.3,
    },
    "lstm_lm": {
        "family": "causal_lm",
        "stack": "lstm",
        "positions": "none",
        "width": 512,
        "decoder_layers": 2,
        "heads": 1,
        "pooling": "last",
        "dropout": 0.4,
    },
    "vit": {**_VIT, "image_size": 32, "patch_size": 4, "width": 256, "encoder_layers": 6, "heads": 4, "hidden": 1024},
    "vit_base": {**_VIT, "width": 768, "encoder_layers": 12, "heads": 12, "hidden": 3072},
}

DEFAULTS = {"translation": "small", "causal_lm": "gpt", "masked_lm": "bert", "classify": "bert", "images": "vit"}
"""By task, the preset of a recipe that names none."""
DEFAULT = DEFAULTS["translation"]

_LANGUAGE = {"label_smoothing": 0.0, "schedule": "cosine", "weight_decay": 0.1, "epsilon": 1e-8}
TRAINING: dict[str, dict[str, Any]] = {
    "causal_lm": {**_LANGUAGE, "beta2": 0.95},
    "masked_lm": _LANGUAGE,
    "images": {"batch_tokens": 128},
}
"""By task, values that lie under the train table of a recipe, where the translator's are not the usual ones."""


TEXTS: dict[str, dict[str, Any]] = {
    "causal_lm": {"kind": "byte_bpe"},
    "masked_lm": {"kind": "wordpiece"},
    "classify": {"kind": "wordpiece"},
}
"""By task, values that lie under the text table: the tokenizers that such models are published with."""


def preset_config(name: str) -> ModelConfig:
    """The model of a preset, as it stands."""
    return from_tables(ModelConfig, _model_tables({"preset": name}, ""), "model.")


def resolve(tables: dict[str, Any]) -> Recipe:
    """The whole recipe: what the tables say, over the preset, over the defaults.

    With `init` the shape is that of the model there, which train/start.py reads: no preset lies under it.
    """
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
    return {"preset": name, **PRESETS[name], **model}
