"""ALBERT: a narrow embedding with a projection, and layers that share weights."""

from typing import Any

from headwise.config import ModelConfig
from headwise.errors import CheckpointError
from headwise.models.published.families.bert import (
    BUFFERS,
    OLD_NAMES,
    embedding_names,
    heads_in,
    output_names,
    shape_in,
    shape_out,
)
from headwise.models.published.family import ACTIVATIONS, Family, Head, Published, body_of
from headwise.models.published.rules import Names, linear
from headwise.recipe import model_config


def config_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("inner_group_num", 1)
    layers, groups = published.need("num_hidden_layers"), published.get("num_hidden_groups", 1)
    if groups < 1 or layers % groups:
        raise CheckpointError(f"{published.where}: {layers} layers cannot be split into {groups} equal groups")
    shape = {
        **shape_in(published),
        "feed_forward.activation": published.choose("hidden_act", ACTIVATIONS, "gelu_new"),
        "dropout": published.get("hidden_dropout_prob", 0.0),
        "attention.dropout": published.get("attention_probs_dropout_prob", 0.0),
    }
    heads = heads_in(
        published,
        head,
        predicts="predictions.dense.weight",
        pools="albert.pooler.weight",
        next_sentence="sop_classifier.classifier.weight",
    )
    return model_config(
        {
            **shape,
            **heads,
            "shared_layers": groups,
            "embedding.width": published.get("embedding_size", 128),
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **shape_out(config),
        "embedding_size": config.embedding.width,
        "num_hidden_groups": config.shared_layers or config.layers,
        "inner_group_num": 1,
    }


def names(config: ModelConfig) -> Names:
    ours = body_of(config)
    yield from embedding_names("albert.embeddings", ours, config)
    yield from linear("albert.encoder.embedding_hidden_mapping_in", f"{ours}embedding_projection")
    for i in range(config.shared_layers or config.layers):
        yield from _layer(f"albert.encoder.albert_layer_groups.{i}.albert_layers.0", f"{ours}encoder.layers.{i}")
    if config.pooling.pooler:
        yield from linear("albert.pooler", f"{ours}pooler.dense")
    if config.output.language_head:
        yield from linear("predictions.dense", f"{ours}head.dense")
        yield from linear("predictions.LayerNorm", f"{ours}head.norm")
        yield from output_names("predictions", ours, "albert.embeddings.word_embeddings.weight", config)
    if config.output.next_sentence:
        yield from linear("sop_classifier.classifier", f"{ours}next_sentence")
    if config.classes:
        yield from linear("classifier", "output")


def _layer(theirs: str, ours: str) -> Names:
    for their_part, our_part in (("query", "query"), ("key", "key"), ("value", "value"), ("dense", "output")):
        yield from linear(f"{theirs}.attention.{their_part}", f"{ours}.self_attention.{our_part}")
    yield from linear(f"{theirs}.attention.LayerNorm", f"{ours}.self_norm.norm")
    yield from linear(f"{theirs}.ffn", f"{ours}.feed_forward.expand")
    yield from linear(f"{theirs}.ffn_output", f"{ours}.feed_forward.contract")
    yield from linear(f"{theirs}.full_layer_layer_norm", f"{ours}.feed_forward_norm.norm")


ALBERT = Family(
    model_type="albert",
    architectures={
        "AlbertModel": "base",
        "AlbertForMaskedLM": "language",
        "AlbertForPreTraining": "pretraining",
        "AlbertForSequenceClassification": "classifier",
    },
    config_in=config_in,
    config_out=config_out,
    names=names,
    prefix="albert.",
    ignored=BUFFERS,
    renamed=OLD_NAMES,
)
