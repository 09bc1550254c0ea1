"""DistilBERT: half of BERT's layers, no segments, no pooler."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.families.bert import BUFFERS, ENCODER, OLD_NAMES, embedding_names
from headwise.models.published.family import ACTIVATIONS, THEIR_ACTIVATIONS, Family, Head, Published, body_of
from headwise.models.published.rules import Copy, Names, linear, rule
from headwise.recipe import model_config


def config_in(published: Published, head: Head) -> ModelConfig:
    # `sinusoidal_pos_embds` only tells how the table of positions was initialised: it is stored in any case
    return model_config(
        {
            **ENCODER,
            "width": published.get("dim", 768),
            "layers": published.get("n_layers", 6),
            "attention.heads": published.get("n_heads", 12),
            "feed_forward.hidden": published.get("hidden_dim", 3072),
            "feed_forward.activation": published.choose("activation", ACTIVATIONS, "gelu"),
            "norm.epsilon": 1e-12,
            "positions.max_positions": published.get("max_position_embeddings", 512),
            "tie": "all" if published.get("tie_word_embeddings", True) else "none",
            "output.language_head": head == "language" or published.has("vocab_transform.weight"),
            "pooling.pooler": "relu" if head == "classifier" else None,
            "classes": published.classes if head == "classifier" else None,
            "dropout": published.get("dropout", 0.1),
            "attention.dropout": published.get("attention_dropout", 0.1),
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {
        "dim": config.width,
        "n_layers": config.layers,
        "n_heads": config.attention.heads,
        "hidden_dim": config.feed_forward.hidden,
        "activation": THEIR_ACTIVATIONS[config.feed_forward.activation],
        "max_position_embeddings": config.positions.max_positions,
        "sinusoidal_pos_embds": False,
        "tie_word_embeddings": config.tie != "none",
        "dropout": config.dropout,
        "attention_dropout": config.attention.dropout,
    }


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
