"""GPT (post-norm) and GPT-2 (pre-norm): query, key and value are fused, and matrices are stored as [in, out]."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.family import (
    ACTIVATIONS,
    THEIR_ACTIVATIONS,
    Family,
    Head,
    Key,
    Published,
    body_of,
    keys_in,
    keys_out,
)
from headwise.models.published.heads import decoder_head, decoder_in
from headwise.models.published.rules import TRANSPOSED, Names, Stacked, linear, rule, stacked
from headwise.recipe import model_config

GPT_ACTIVATIONS: dict[Any, str] = {"gelu": "gelu_tanh", "relu": "relu", "silu": "silu", "swish": "silu"}
"""GPT's own names: its "gelu" is the tanh approximation, and it does not have the exact one."""


KEYS: tuple[Key, ...] = (
    ("n_embd", "width"),
    ("n_layer", "layers"),
    ("n_head", "attention.heads"),
    ("layer_norm_epsilon", "norm.epsilon", 1e-5),
    ("n_positions", "positions.max_positions"),
    ("tie_word_embeddings", "tie", True),
    ("resid_pdrop", "dropout", 0.1),
    ("attn_pdrop", "attention.dropout", 0.1),
)


def _shape_in(published: Published, head: Head) -> dict[str, Any]:
    return {**decoder_in(published, head), **keys_in(published, KEYS), "positions.kind": "learned"}


def _shape_out(config: ModelConfig) -> dict[str, Any]:
    return {**keys_out(config, KEYS), "embd_pdrop": config.dropout}


def gpt_in(published: Published, head: Head) -> ModelConfig:
    shape = _shape_in(published, head)
    activation = published.choose("afn", GPT_ACTIVATIONS, "gelu")
    return model_config(
        {
            **shape,
            "feed_forward.hidden": 4 * shape["width"],
            "feed_forward.activation": activation,
            "norm.order": "post",
        }
    )


def gpt_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **_shape_out(config),
        "afn": {"gelu_tanh": "gelu"}.get(config.feed_forward.activation, config.feed_forward.activation),
    }


def gpt2_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("scale_attn_by_inverse_layer_idx", False)
    published.refuse_unless("add_cross_attention", False)
    shape = _shape_in(published, head)
    return model_config(
        {
            **shape,
            "feed_forward.hidden": published.get("n_inner", 4 * shape["width"]),
            "feed_forward.activation": published.choose("activation_function", ACTIVATIONS, "gelu_new"),
            "attention.scale": None if published.get("scale_attn_weights", True) else 1.0,
            "norm.order": "pre",
        }
    )


def gpt2_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **_shape_out(config),
        "n_inner": config.feed_forward.hidden,
        "activation_function": THEIR_ACTIVATIONS[config.feed_forward.activation],
        "scale_attn_weights": config.attention.scale != 1,
    }


def gpt_names(config: ModelConfig) -> Names:
    return _names(config, tokens="tokens_embed", positions="positions_embed")


def gpt2_names(config: ModelConfig) -> Names:
    return _names(config, tokens="wte", positions="wpe")


def _names(config: ModelConfig, tokens: str, positions: str) -> Names:
    body = body_of(config)
    yield rule(f"transformer.{tokens}.weight", f"{body}embedding.weight")
    yield rule(f"transformer.{positions}.weight", f"{body}positions.weight")
    for i in range(config.layers):
        theirs, ours = f"transformer.h.{i}", f"{body}decoder.layers.{i}"
        together = [f"{ours}.self_attention.{part}" for part in ("query", "key", "value")]
        yield from stacked(f"{theirs}.attn.c_attn", together, Stacked((config.width,) * 3, transposed=True))
        yield from linear(f"{theirs}.attn.c_proj", f"{ours}.self_attention.output", change=TRANSPOSED)
        yield from linear(f"{theirs}.ln_1", f"{ours}.self_norm.norm")
        yield from linear(f"{theirs}.mlp.c_fc", f"{ours}.feed_forward.expand", change=TRANSPOSED)
        yield from linear(f"{theirs}.mlp.c_proj", f"{ours}.feed_forward.contract", change=TRANSPOSED)
        yield from linear(f"{theirs}.ln_2", f"{ours}.feed_forward_norm.norm")
    if config.norm.order == "pre":
        yield from linear("transformer.ln_f", f"{body}decoder.final_norm")
    yield from decoder_head(config, f"transformer.{tokens}.weight")


GPT = Family(
    model_type="openai-gpt",
    architectures={
        "OpenAIGPTLMHeadModel": "language",
        "OpenAIGPTModel": "language",  # its embedding is the output projection too, so it lacks nothing
        "OpenAIGPTForSequenceClassification": "classifier",
    },
    config_in=gpt_in,
    config_out=gpt_out,
    names=gpt_names,
    prefix="transformer.",
    ignored=(r"\.attn\.bias$", r"position_ids$"),
)

GPT2 = Family(
    model_type="gpt2",
    architectures={
        "GPT2LMHeadModel": "language",
        "GPT2Model": "language",
        "GPT2ForSequenceClassification": "classifier",
    },
    config_in=gpt2_in,
    config_out=gpt2_out,
    names=gpt2_names,
    prefix="transformer.",
    ignored=(r"\.attn\.(masked_)?bias$",),
)
