"""DistilBERT: half of BERT's layers, no segments, no pooler."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.families.bert import BUFFERS, ENCODER, OLD_NAMES, embedding_names
from headwise.models.published.family import Family, Head, Key, Published, body_of, keys_in, keys_out
from headwise.models.published.rules import Copy, Names, linear, rule
from headwise.recipe import model_config

KEYS: tuple[Key, ...] = (
    ("dim", "width", 768),
    ("n_layers", "layers", 6),
    ("n_heads", "attention.heads", 12),
    ("hidden_dim", "feed_forward.hidden", 3072),
    ("activation", "feed_forward.activation", "gelu"),
    ("max_position_embeddings", "positions.max_positions", 512),
    ("tie_word_embeddings", "tie", True),
    ("dropout", "dropout", 0.1),
    ("attention_dropout", "attention.dropout", 0.1),
)


def config_in(published: Published, head: Head) -> ModelConfig:
    # `sinusoidal_pos_embds` only tells how the table of positions was initialised: it is stored in any case
    return model_config(
        {
            **ENCODER,
            **keys_in(published, KEYS),
            "norm.epsilon": 1e-12,
            "output.language_head": head == "language" or published.has("vocab_transform.weight"),
            "pooling.pooler": "relu" if head == "classifier" else None,
            "classes": published.classes if head == "classifier" else None,
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {**keys_out(config, KEYS), "sinusoidal_pos_embds": False}


def names(config: ModelConfig) -> Names:
    ours = body_of(config)
    yield from embedding_names("distilbert.embeddings", ours, config)
    for i in range(config.layers):
        yield from _layer(f"distilbert.transformer.layer.{i}", f"{ours}encoder.layers.{i}")
    if config.output.language_head:
        yield from linear("vocab_transform", f"{ours}head.dense")
        yield from linear("vocab_layer_norm", f"{ours}head.norm")
        yield rule("vocab_projector.bias", f"{ours}head.projection.bias")
        if config.tie == "none":
            yield rule("vocab_projector.weight", f"{ours}head.projection.weight")
        else:
            yield Copy("vocab_projector.weight", "distilbert.embeddings.word_embeddings.weight")
    if config.classes:
        yield from linear("pre_classifier", f"{ours}pooler.dense")
        yield from linear("classifier", "output")


def _layer(theirs: str, ours: str) -> Names:
    for their_part, our_part in (("q", "query"), ("k", "key"), ("v", "value"), ("out", "output")):
        yield from linear(f"{theirs}.attention.{their_part}_lin", f"{ours}.self_attention.{our_part}")
    yield from linear(f"{theirs}.sa_layer_norm", f"{ours}.self_norm.norm")
    yield from linear(f"{theirs}.ffn.lin1", f"{ours}.feed_forward.expand")
    yield from linear(f"{theirs}.ffn.lin2", f"{ours}.feed_forward.contract")
    yield from linear(f"{theirs}.output_layer_norm", f"{ours}.feed_forward_norm.norm")


DISTILBERT = Family(
    model_type="distilbert",
    architectures={
        "DistilBertModel": "base",
        "DistilBertForMaskedLM": "language",
        "DistilBertForSequenceClassification": "classifier",
    },
    config_in=config_in,
    config_out=config_out,
    names=names,
    prefix="distilbert.",
    ignored=BUFFERS,
    renamed=OLD_NAMES,
)
