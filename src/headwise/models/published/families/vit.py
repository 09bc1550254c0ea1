"""ViT: an encoder of image patches, with or without a pooler, or with a classifier."""

from typing import Any

from headwise.config import ModelConfig
from headwise.errors import CheckpointError
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
from headwise.models.published.rules import Names, Reshaped, linear, rule
from headwise.nn.pooling import POOLERS
from headwise.recipe import model_config

THEIR_POOLERS = {"tanh": "tanh", **THEIR_ACTIVATIONS}
POOLERS_IN = {"tanh": "tanh", **{theirs: ours for theirs, ours in ACTIVATIONS.items() if ours in POOLERS}}


KEYS: tuple[Key, ...] = (
    ("hidden_size", "width"),
    ("num_hidden_layers", "layers"),
    ("num_attention_heads", "attention.heads"),
    ("qkv_bias", "attention.bias", True),
    ("intermediate_size", "feed_forward.hidden"),
    ("hidden_act", "feed_forward.activation", "gelu"),
    ("layer_norm_eps", "norm.epsilon", 1e-12),
    ("num_channels", "patches.channels", 3),
    ("hidden_dropout_prob", "dropout", 0.0),
    ("attention_probs_dropout_prob", "attention.dropout", 0.0),
)


def config_in(published: Published, head: Head) -> ModelConfig:
    fields = keys_in(published, KEYS)
    image, patch = _side(published, "image_size", 224), _side(published, "patch_size", 16)
    if image % patch:
        raise CheckpointError(
            f"{published.where}: image_size {image} is not a multiple of patch_size {patch}, which is not supported"
        )
    pooler = None
    if published.has("pooler.dense.weight"):
        published.refuse_unless("pooler_output_size", fields["width"])
        pooler = published.choose("pooler_act", POOLERS_IN, "tanh")
    return model_config(
        {
            **fields,
            "family": "vision",
            "norm.order": "pre",
            "positions.kind": "learned",
            "attention.output_bias": True,
            "pooling.pooler": pooler,
            "classes": published.classes if head == "classifier" else None,
            "patches.image_size": image,
            "patches.patch_size": patch,
            "init": "normal",
        }
    )


def _side(published: Published, key: str, default: int) -> int:
    """The side of a square; older configs give two sides."""
    value = published.get(key, default)
    sides = value if isinstance(value, list | tuple) else [value]
    if len(set(sides)) != 1:
        raise CheckpointError(f"{published.where}: {key} = {value!r} is not supported, only squares")
    return int(sides[0])


def config_out(config: ModelConfig) -> dict[str, Any]:
    patches, pooler = config.image_patches, config.pooling.pooler
    return {
        **keys_out(config, KEYS),
        "image_size": patches.image_size,
        "patch_size": patches.patch_size,
        "encoder_stride": patches.patch_size,
        **({"pooler_act": THEIR_POOLERS[pooler]} if pooler else {}),
    }


def names(config: ModelConfig) -> Names:
    body = body_of(config)
    patches, width, bias = config.image_patches, config.width, config.attention_bias
    patch = (patches.channels, patches.patch_size, patches.patch_size)
    projection = "vit.embeddings.patch_embeddings.projection"
    flattened = Reshaped((width, *patch), (width, patches.channels * patches.patch_size**2))
    yield rule("vit.embeddings.cls_token", f"{body}embedding.first", Reshaped((1, 1, width), (1, width)))
    yield rule(f"{projection}.weight", f"{body}embedding.projection.weight", flattened)
    yield rule(f"{projection}.bias", f"{body}embedding.projection.bias")
    yield rule("vit.embeddings.position_embeddings", f"{body}positions.weight", Reshaped((1, -1, width), (-1, width)))
    for i in range(config.layers):
        theirs, ours = f"vit.encoder.layer.{i}", f"{body}encoder.layers.{i}"
        for part in ("query", "key", "value"):
            yield from linear(f"{theirs}.attention.attention.{part}", f"{ours}.self_attention.{part}", bias)
        yield from linear(f"{theirs}.attention.output.dense", f"{ours}.self_attention.output")
        yield from linear(f"{theirs}.layernorm_before", f"{ours}.self_norm.norm")
        yield from linear(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.expand")
        yield from linear(f"{theirs}.output.dense", f"{ours}.feed_forward.contract")
        yield from linear(f"{theirs}.layernorm_after", f"{ours}.feed_forward_norm.norm")
    yield from linear("vit.layernorm", f"{body}encoder.final_norm")
    if config.pooling.pooler:
        yield from linear("vit.pooler.dense", f"{body}pooler.dense")
    if config.classes:
        yield from linear("classifier", "output")


VIT = Family(
    model_type="vit",
    architectures={"ViTModel": "base", "ViTForImageClassification": "classifier"},
    config_in=config_in,
    config_out=config_out,
    names=names,
    prefix="vit.",
    is_image=True,
)
