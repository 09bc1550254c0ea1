"""Config fields and heads that published decoders share."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.family import Head, Key, Published
from headwise.models.published.rules import Copy, Names, rule


def decoder_in(published: Published, head: Head) -> dict[str, Any]:
    """The fields of a ModelConfig that all decoders share and no config.json names."""
    return {
        "family": "causal_lm",
        "embedding.scale": False,
        "output.language_head": head != "classifier",
        "classes": published.classes if head == "classifier" else None,
        "pooling.kind": "last",
        "init": "normal",
    }


def grouped_heads(published: Published) -> dict[str, Any]:
    """Width and heads of a model with optional grouped-query attention and an optional head width."""
    width, heads = published.need("hidden_size"), published.need("num_attention_heads")
    key_value_heads = published.get("num_key_value_heads", heads)
    head_width = published.get("head_dim", width // heads)
    return {
        "width": width,
        "attention.heads": heads,
        "attention.key_value_heads": key_value_heads if key_value_heads != heads else None,
        "attention.head_width": head_width if head_width * heads != width else None,
    }


GROUPED_HEADS: tuple[Key, ...] = (
    ("hidden_size", "width"),
    ("num_attention_heads", "attention.heads"),
    ("num_key_value_heads", "attention.key_value_heads"),
    ("head_dim", "attention.head_width"),
)
"""The keys that `grouped_heads` reads, for `keys_out`."""


def decoder_head(config: ModelConfig, embedding: str, head: str = "lm_head") -> Names:
    """The names of a classifier's head, or of the output projection, which is a copy of the embedding if tied."""
    if config.classes:
        yield rule("score.weight", "output.weight")
        return
    if config.output.bias:
        yield rule(f"{head}.bias", "output_projection.bias")
    if config.tie == "none":
        yield rule(f"{head}.weight", "output_projection.weight")
    else:
        yield Copy(f"{head}.weight", embedding)
