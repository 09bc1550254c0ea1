"""BART, mBART, Marian, Pegasus and M2M100: encoder-decoders whose weights have the same names."""

import dataclasses
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
from headwise.models.published.rules import Computed, Copy, Names, Reshaped, linear, rule
from headwise.nn.positions import Sinusoidal
from headwise.recipe import model_config

LEARNED_OFFSET = 2
"""BART's learned positions begin at the third row of their table: fairseq reserves two for padding."""


KEYS: tuple[Key, ...] = (
    ("d_model", "width"),
    ("encoder_layers", "encoder.layers"),
    ("decoder_layers", "layers"),
    ("encoder_attention_heads", "encoder.heads"),
    ("decoder_attention_heads", "attention.heads"),
    ("encoder_ffn_dim", "encoder.hidden"),
    ("decoder_ffn_dim", "feed_forward.hidden"),
    ("max_position_embeddings", "positions.max_positions", 1024),
    ("dropout", "dropout", 0.1),
    ("attention_dropout", "attention.dropout", 0.0),
    ("activation_dropout", "feed_forward.dropout", 0.0),
)


def _shape_in(published: Published, activation: str = "gelu", scale: bool = False) -> dict[str, Any]:
    """The fields that all these families share; `activation` and `scale` are the family's defaults."""
    return {
        "family": "encoder_decoder",
        **keys_in(published, KEYS),
        "feed_forward.activation": published.choose("activation_function", ACTIVATIONS, activation),
        "embedding.scale": published.get("scale_embedding", scale),
        "output.bias": published.has("final_logits_bias"),
        "init": "normal",
    }


def _shape_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **keys_out(config, KEYS),
        "activation_function": THEIR_ACTIVATIONS[config.feed_forward.activation],
        "scale_embedding": config.embedding.scale,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
    }


def marian_in(published: Published, head: Head) -> ModelConfig:
    for key in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        published.refuse_unless(key, False)
    published.refuse_unless("static_position_embeddings", True)
    published.refuse_unless("decoder_vocab_size", published.get("vocab_size", None))
    tie = "all"
    if not published.get("share_encoder_decoder_embeddings", True):
        tie = "decoder" if published.get("tie_word_embeddings", True) else "none"
    else:  # versions of the reference differ in whether the shared matrix is then used
        published.refuse_unless("tie_word_embeddings", True)
    return model_config(
        {**_shape_in(published), "positions.kind": "sinusoidal_halves", "norm.order": "post", "tie": tie},
    )


def marian_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **_shape_out(config),
        "tie_word_embeddings": config.tie != "none",
        "share_encoder_decoder_embeddings": config.tie == "all",
        "static_position_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
    }


def pegasus_in(published: Published, head: Head) -> ModelConfig:
    """Marian with the norms before the sublayers, as small translators are trained here."""
    published.refuse_unless("tie_word_embeddings", True)
    published.refuse_unless("static_position_embeddings", True)
    return model_config(
        {**_shape_in(published), "positions.kind": "sinusoidal_halves", "norm.order": "pre", "tie": "all"}
    )


def _learned_in(published: Published, order: str) -> ModelConfig:
    """BART and mBART: learned positions and a norm after the embeddings, which only older configs mention."""
    published.refuse_unless("normalize_before", order == "pre")
    published.refuse_unless("add_final_layer_norm", order == "pre")
    published.refuse_unless("normalize_embedding", True)
    published.refuse_unless("static_position_embeddings", False)
    published.refuse_unless("tie_word_embeddings", True)
    return model_config(
        {
            **_shape_in(published),
            "positions.kind": "learned",
            "positions.offset": LEARNED_OFFSET,
            "embedding.norm": True,
            "norm.order": order,
            "tie": "all",
        }
    )


def bart_in(published: Published, head: Head) -> ModelConfig:
    return _learned_in(published, "post")


def mbart_in(published: Published, head: Head) -> ModelConfig:
    return _learned_in(published, "pre")


def m2m100_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("tie_word_embeddings", True)
    return model_config(
        {
            **_shape_in(published, activation="relu", scale=True),
            "positions.kind": "sinusoidal_fairseq",
            "positions.offset": published.get("pad_token_id", 1) + 1,
            "norm.order": "pre",
            "tie": "all",
        }
    )


def m2m100_out(config: ModelConfig) -> dict[str, Any]:
    return {**_shape_out(config), "pad_token_id": config.positions.offset - 1}


def names(config: ModelConfig) -> Names:
    """The rules for all weights of the model that the config describes."""
    if config.tie == "all":
        yield rule("model.shared.weight", "source_embedding.weight")
        yield Copy("model.encoder.embed_tokens.weight", "model.shared.weight")
        yield Copy("model.decoder.embed_tokens.weight", "model.shared.weight")
        yield Copy("lm_head.weight", "model.shared.weight")
    else:
        yield rule("model.encoder.embed_tokens.weight", "source_embedding.weight")
        yield rule("model.decoder.embed_tokens.weight", "target_embedding.weight")
        if config.tie == "none":
            yield rule("lm_head.weight", "output_projection.weight")
        else:
            yield Copy("lm_head.weight", "model.decoder.embed_tokens.weight")
    if config.output.bias:
        yield rule("final_logits_bias", "output_projection.bias", Reshaped((1, -1), (-1,)))
    sides = (("encoder", "source", config.encoder_side.layers), ("decoder", "target", config.layers))
    for stack, text, layers in sides:
        if config.positions.kind == "learned":
            yield rule(f"model.{stack}.embed_positions.weight", f"{text}_positions.weight")
        else:
            yield _position_table(f"model.{stack}.embed_positions", config)
        if config.embedding.norm:
            yield from linear(f"model.{stack}.layernorm_embedding", f"{text}_norm")
        for i in range(layers):
            yield from _layer(f"model.{stack}.layers.{i}", f"{stack}.layers.{i}", stack == "decoder")
        if config.norm.order == "pre":
            yield from linear(f"model.{stack}.layer_norm", f"{stack}.final_norm")


def _layer(theirs: str, ours: str, is_decoder: bool) -> Names:
    attentions = [("self_attn", "self")]
    if is_decoder:
        attentions.append(("encoder_attn", "cross"))
    for their_name, our_name in attentions:
        for their_part, our_part in (("q", "query"), ("k", "key"), ("v", "value"), ("out", "output")):
            yield from linear(f"{theirs}.{their_name}.{their_part}_proj", f"{ours}.{our_name}_attention.{our_part}")
        yield from linear(f"{theirs}.{their_name}_layer_norm", f"{ours}.{our_name}_norm.norm")
    yield from linear(f"{theirs}.fc1", f"{ours}.feed_forward.expand")
    yield from linear(f"{theirs}.fc2", f"{ours}.feed_forward.contract")
    yield from linear(f"{theirs}.final_layer_norm", f"{ours}.feed_forward_norm.norm")


def _position_table(theirs: str, config: ModelConfig) -> Computed:
    rows, offset = config.positions.max_positions, config.positions.offset
    if config.positions.kind != "sinusoidal_fairseq":
        return Computed(f"{theirs}.weight", Sinusoidal(config.width, "halves"), rows)
    return Computed(f"{theirs}.weights", Sinusoidal(config.width, "fairseq"), rows + offset, padding=offset - 1)


MARIAN = Family(
    model_type="marian",
    architectures={"MarianMTModel": "language"},
    config_in=marian_in,
    config_out=marian_out,
    names=names,
    is_translator=True,
    aligns_words=True,
)

PEGASUS = dataclasses.replace(
    MARIAN,
    model_type="pegasus",
    aligns_words=False,
    architectures={"PegasusForConditionalGeneration": "language"},
    config_in=pegasus_in,
    config_out=_shape_out,
)

BART = Family(
    model_type="bart",
    architectures={"BartForConditionalGeneration": "language", "BartModel": "language"},
    config_in=bart_in,
    config_out=_shape_out,
    names=names,
    prefix="model.",
    ignored=(r"coder\.version$",),
    is_translator=True,
)

MBART = dataclasses.replace(
    BART,
    model_type="mbart",
    architectures={"MBartForConditionalGeneration": "language", "MBartModel": "language"},
    config_in=mbart_in,
)

M2M100 = dataclasses.replace(
    BART,
    model_type="m2m_100",
    architectures={"M2M100ForConditionalGeneration": "language", "M2M100Model": "language"},
    config_in=m2m100_in,
    config_out=m2m100_out,
)
