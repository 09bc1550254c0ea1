"""Llama 1, 2, 3 and Mistral, which has the same names and a sliding window."""

import dataclasses
from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.family import Family, Head, Key, Published, body_of, keys_in, keys_out
from headwise.models.published.heads import GROUPED_HEADS, decoder_head, decoder_in, grouped_heads
from headwise.models.published.rotary_rules import rotary_in, rotary_out
from headwise.models.published.rules import Names, linear, rule
from headwise.recipe import model_config, replaced

KEYS: tuple[Key, ...] = (
    ("num_hidden_layers", "layers"),
    ("intermediate_size", "feed_forward.hidden"),
    ("hidden_act", "feed_forward.activation", "silu"),
    ("rms_norm_eps", "norm.epsilon", 1e-6),
    ("max_position_embeddings", "positions.max_positions", 2048),
    ("tie_word_embeddings", "tie", False),
    ("mlp_bias", "bias", False),
    ("attention_bias", "attention.bias", False),
    ("attention_dropout", "attention.dropout", 0.0),
)


def llama_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("sliding_window", None)  # the reference applies it with a cache, not without
    return config_in(published, head)


def config_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("pretraining_tp", 1)
    heads = grouped_heads(published)
    head_width = heads["attention.head_width"] or heads["width"] // heads["attention.heads"]
    return model_config(
        {
            **decoder_in(published, head),
            **heads,
            **keys_in(published, KEYS),
            "feed_forward.kind": "gated",
            "norm.kind": "rms",
            "norm.order": "pre",
            "positions.kind": "rotary",
            **rotary_in(published, head_width, partial=False),
            "dropout": 0.0,
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {**keys_out(config, (*GROUPED_HEADS, *KEYS)), **rotary_out(config)}


def mistral_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("attention_bias", False)
    published.refuse_unless("mlp_bias", False)
    window = published.values.get("sliding_window", 4096)  # null: no window; absent: that of the first Mistral
    return replaced(config_in(published, head), {"attention.window": window or None})


def mistral_out(config: ModelConfig) -> dict[str, Any]:
    return {**config_out(config), "sliding_window": config.attention.window or None}


def names(config: ModelConfig) -> Names:
    body = body_of(config)
    yield rule("model.embed_tokens.weight", f"{body}embedding.weight")
    for i in range(config.layers):
        theirs, ours = f"model.layers.{i}", f"{body}decoder.layers.{i}"
        yield rule(f"{theirs}.input_layernorm.weight", f"{ours}.self_norm.norm.weight")
        yield rule(f"{theirs}.post_attention_layernorm.weight", f"{ours}.feed_forward_norm.norm.weight")
        for their_name, our_name in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "output")):
            bias = bool(config.attention.bias)
            yield from linear(f"{theirs}.self_attn.{their_name}_proj", f"{ours}.self_attention.{our_name}", bias)
        for their_name, our_name in (("gate", "gate"), ("up", "expand"), ("down", "contract")):
            yield from linear(f"{theirs}.mlp.{their_name}_proj", f"{ours}.feed_forward.{our_name}", config.bias)
    yield rule("model.norm.weight", f"{body}decoder.final_norm.weight")
    yield from decoder_head(config, "model.embed_tokens.weight")


LLAMA = Family(
    model_type="llama",
    architectures={"LlamaForCausalLM": "language", "LlamaForSequenceClassification": "classifier"},
    config_in=llama_in,
    config_out=config_out,
    names=names,
    ignored=(r"rotary_emb\.inv_freq$",),
)

MISTRAL = dataclasses.replace(
    LLAMA,
    model_type="mistral",
    architectures={"MistralForCausalLM": "language", "MistralForSequenceClassification": "classifier"},
    config_in=mistral_in,
    config_out=mistral_out,
)
