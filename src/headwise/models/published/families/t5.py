"""T5, T5 1.1, Flan-T5 and mT5: relative positions, unscaled attention scores, no biases.

Version 1.0 ties the output projection to the embeddings and scales the hidden states before it; 1.1 does neither. In a
published config `tie_word_embeddings` stands for both; newer versions of the reference library write `true` for every
model, put the scaling into `scale_decoder_outputs`, and leave a tied `lm_head` out of the file.
"""

import dataclasses
from functools import partial
from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.family import (
    ACTIVATIONS,
    THEIR_ACTIVATIONS,
    Family,
    Head,
    Key,
    Published,
    keys_in,
    keys_out,
)
from headwise.models.published.rules import Copy, Names, rule
from headwise.recipe import model_config

FEED_FORWARDS: dict[Any, str] = {
    **ACTIVATIONS,
    **{f"gated-{theirs}": f"gated-{ours}" for theirs, ours in ACTIVATIONS.items()},
    "gated-gelu": "gated-gelu_tanh",
}
"""`feed_forward_proj` -> our activation, with `gated-` kept; gated-gelu is the tanh approximation."""


KEYS: tuple[Key, ...] = (
    ("d_model", "width"),
    ("num_layers", "encoder.layers"),
    ("num_heads", "attention.heads"),
    ("d_ff", "feed_forward.hidden"),
    ("layer_norm_epsilon", "norm.epsilon", 1e-6),
    ("n_positions", "positions.max_positions", 512),
    ("relative_attention_num_buckets", "positions.buckets", 32),
    ("relative_attention_max_distance", "positions.distance", 128),
    ("dropout_rate", "dropout", 0.1),
)


def _config_in(published: Published, head: Head, may_scale: bool) -> ModelConfig:
    fields, head_width = keys_in(published, KEYS), published.need("d_kv")
    width = fields["width"]
    feed_forward = published.choose("feed_forward_proj", FEED_FORWARDS, "relu")
    gated = feed_forward.startswith("gated-")
    published.refuse_unless("is_gated_act", gated)
    activation = feed_forward.removeprefix("gated-")
    if "dense_act_fn" in published.values:  # takes precedence in the reference
        activation = published.choose("dense_act_fn", ACTIVATIONS, None)
    tied = published.get("tie_word_embeddings", True)
    scaled = may_scale and published.get("scale_decoder_outputs", tied)
    if "scale_decoder_outputs" in published.values or not may_scale:
        tied = tied and not published.has("lm_head.weight")
    return model_config(
        {
            "family": "encoder_decoder",
            **fields,
            "layers": published.get("num_decoder_layers", fields["encoder.layers"]),
            "attention.head_width": head_width if head_width * fields["attention.heads"] != width else None,
            "attention.scale": 1.0,
            "feed_forward.activation": activation,
            "feed_forward.kind": "gated" if gated else "plain",
            "norm.kind": "rms",
            "norm.order": "pre",
            "positions.kind": "relative",
            "embedding.scale": False,
            "tie": "all" if tied else "embeddings",
            "bias": False,
            "output.scale": width**-0.5 if scaled else 1.0,
            "attention.dropout": fields["dropout"],
            "feed_forward.dropout": fields["dropout"],
            "init": "normal",
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    feed_forward = THEIR_ACTIVATIONS[config.feed_forward.activation]
    if config.feed_forward.kind == "gated":
        feed_forward = "gated-gelu" if config.feed_forward.activation == "gelu_tanh" else f"gated-{feed_forward}"
    return {
        **keys_out(config, (*KEYS, ("num_decoder_layers", "layers"), ("d_kv", "attention.head_width"))),
        "feed_forward_proj": feed_forward,
        "tie_word_embeddings": config.tie == "all",
        "scale_decoder_outputs": config.output.scale != 1,
        "is_encoder_decoder": True,
    }


def names(config: ModelConfig) -> Names:
    yield rule("shared.weight", "source_embedding.weight")
    yield Copy("encoder.embed_tokens.weight", "shared.weight")
    yield Copy("decoder.embed_tokens.weight", "shared.weight")
    if config.tie == "all":
        yield Copy("lm_head.weight", "shared.weight")
    else:
        yield rule("lm_head.weight", "output_projection.weight")
    for stack, text, layers in (
        ("encoder", "source", config.encoder_side.layers),
        ("decoder", "target", config.layers),
    ):
        first = f"{stack}.block.0.layer.0.SelfAttention"
        yield rule(f"{first}.relative_attention_bias.weight", f"{text}_positions.weight")
        for i in range(layers):
            yield from _layer(f"{stack}.block.{i}.layer", f"{stack}.layers.{i}", stack, config.feed_forward.kind)
        yield rule(f"{stack}.final_layer_norm.weight", f"{stack}.final_norm.weight")


def _layer(theirs: str, ours: str, stack: str, feed_forward: str) -> Names:
    sublayers = [("SelfAttention", "self")]
    if stack == "decoder":
        sublayers.append(("EncDecAttention", "cross"))
    for number, (their_name, our_name) in enumerate(sublayers):
        for their_part, our_part in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "output")):
            part = f"{ours}.{our_name}_attention.{our_part}.weight"
            yield rule(f"{theirs}.{number}.{their_name}.{their_part}.weight", part)
        yield rule(f"{theirs}.{number}.layer_norm.weight", f"{ours}.{our_name}_norm.norm.weight")
    last = f"{theirs}.{len(sublayers)}"
    if feed_forward == "gated":
        yield rule(f"{last}.DenseReluDense.wi_0.weight", f"{ours}.feed_forward.gate.weight")
        yield rule(f"{last}.DenseReluDense.wi_1.weight", f"{ours}.feed_forward.expand.weight")
    else:
        yield rule(f"{last}.DenseReluDense.wi.weight", f"{ours}.feed_forward.expand.weight")
    yield rule(f"{last}.DenseReluDense.wo.weight", f"{ours}.feed_forward.contract.weight")
    yield rule(f"{last}.layer_norm.weight", f"{ours}.feed_forward_norm.norm.weight")


UNUSED = (r"EncDecAttention\.relative_attention_bias\.weight$",)
"""The first T5 files hold position biases of the cross-attention, which are not used."""

T5 = Family(
    model_type="t5",
    architectures={"T5ForConditionalGeneration": "language", "T5Model": "language"},
    config_in=partial(_config_in, may_scale=True),
    config_out=config_out,
    names=names,
    ignored=UNUSED,
    is_translator=True,
)

MT5 = dataclasses.replace(
    T5,
    model_type="mt5",
    architectures={f"M{name}": head for name, head in T5.architectures.items()},
    config_in=partial(_config_in, may_scale=False),
)
