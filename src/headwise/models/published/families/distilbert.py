"""DistilBERT: half of BERT's layers, no segments, no pooler."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.families.bert import BUFFERS, ENCODER, OLD_NAMES, embedding_names
from headwise.models.published.family import ACTIVATIONS, THEIR_ACTIVATIONS, Family, Head, Published, body_of
from headwise.models.published.rules import Copy, Names, linear, rule


def config_in(published: Published, head: Head) -> ModelConfig:
    # `sinusoidal_pos_embds` says how the stored table of positions was first filled, no more
    return ModelConfig(
        **ENCODER,
        width=published.get("dim", 768),
        encoder_layers=published.get("n_layers", 6),
        heads=published.get("n_heads", 12),
        hidden=published.get("hidden_dim", 3072),
        activation=published.choose("activation", ACTIVATIONS, "gelu"),
        norm_epsilon=1e-12,
        max_positions=published.get("max_position_embeddings", 512),
        tie="all" if published.get("tie_word_embeddings", True) else "none",
        language_head=head == "language" or published.has("vocab_transform.weight"),
        pooler="relu" if head == "classifier" else "",
        classes=published.classes if head == "classifier" else 0,
        dropout=published.get("dropout", 0.1),
        attention_dropout=published.get("attention_dropout", 0.1),
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {
        "dim": config.width,
        "n_layers": config.encoder_layers,
        "n_heads": config.heads,
        "hidden_dim": config.hidden,
        "activation": THEIR_ACTIVATIONS[config.activation],
        "max_position_embeddings": config.max_positions,
        "sinusoidal_pos_embds": False,
        "tie_word_embeddings": config.tie != "none",
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
    }


def names(config: ModelConfig) -> Names:
    ours = body_of(config)
    yield from embedding_names("distilbert.embeddings", ours, config)
    for i in range(config.encoder_layers):
        yield from _layer(f"distilbert.transformer.layer.{i}", f"{ours}encoder.layers.{i}")
    if config.language_head:
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
