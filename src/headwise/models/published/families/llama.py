"""Llama 1, 2, 3 and Mistral, which has the same names and a sliding window."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.family import ACTIVATIONS, THEIR_ACTIVATIONS, Family, Head, Published, body_of
from headwise.models.published.heads import decoder_head, decoder_in, grouped_heads
from headwise.models.published.rotary_rules import rotary_in, rotary_out
from headwise.models.published.rules import Names, linear, rule
from headwise.recipe import model_config, replaced


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
            "layers": published.need("num_hidden_layers"),
            "feed_forward.hidden": published.need("intermediate_size"),
            "feed_forward.activation": published.choose("hidden_act", ACTIVATIONS, "silu"),
            "feed_forward.kind": "gated",
            "norm.kind": "rms",
            "norm.order": "pre",
            "norm.epsilon": published.get("rms_norm_eps", 1e-6),
            "positions.kind": "rotary",
            "positions.max_positions": published.get("max_position_embeddings", 2048),
            **rotary_in(published, head_width, partial=False),
            "bias": published.get("mlp_bias", False),
            "attention.bias": published.get("attention_bias", False),
            "dropout": 0.0,
            "attention.dropout": published.get("attention_dropout", 0.0),
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.attention.heads,
        "num_key_value_heads": config.attention.key_value_heads or config.attention.heads,
        "head_dim": config.attention.head_width or config.width // config.attention.heads,
        "intermediate_size": config.feed_forward.hidden,
        "hidden_act": THEIR_ACTIVATIONS[config.feed_forward.activation],
        "rms_norm_eps": config.norm.epsilon or 1e-6,
        "max_position_embeddings": config.positions.max_positions,
        **rotary_out(config),
        "tie_word_embeddings": config.tie != "none",
        "attention_dropout": config.attention.dropout,
        "mlp_bias": config.bias,
        "attention_bias": bool(config.attention.bias),
    }


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

MISTRAL = Family(
    model_type="mistral",
    architectures={"MistralForCausalLM": "language", "MistralForSequenceClassification": "classifier"},
    config_in=mistral_in,
    config_out=mistral_out,
    names=names,
    ignored=(r"rotary_emb\.inv_freq$",),
)
