"""RoFormer: BERT with rotary positions, whose pairs are neighbours."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.families.bert import (
    BUFFERS,
    OLD_NAMES,
    embedding_names,
    heads_in,
    layer_names,
    predictions_names,
    shape_in,
    shape_out,
)
from headwise.models.published.family import Family, Head, Published, body_of
from headwise.models.published.rules import Computed, Names, Unpaired, linear
from headwise.nn.positions import Sinusoidal
from headwise.recipe import model_config


def config_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("rotary_value", False)
    shape = {
        **shape_in(published),
        "positions.kind": "rotary",
        "positions.max_positions": published.need("max_position_embeddings"),
    }
    heads = heads_in(published, head, predicts="cls.predictions.transform.dense.weight")
    if head == "classifier":
        heads["pooling.pooler"] = shape["feed_forward.activation"]
    embedding_width = published.get("embedding_size", shape["width"])
    return model_config(
        {
            **shape,
            **heads,
            "embedding.width": embedding_width if embedding_width != shape["width"] else None,
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **shape_out(config),
        "embedding_size": config.embedding.width or config.width,
        "rotary_value": False,
    }


def names(config: ModelConfig) -> Names:
    ours, head_width = body_of(config), config.width // config.attention.heads
    yield from embedding_names("roformer.embeddings", ours, config)
    if config.embedding.width:
        yield from linear("roformer.embeddings_project", f"{ours}embedding_projection")
    table = "roformer.encoder.embed_positions.weight"
    yield Computed(table, Sinusoidal(head_width, "halves"), config.positions.max_positions)
    unpaired = Unpaired(config.attention.heads, head_width)
    for i in range(config.layers):
        yield from layer_names(f"roformer.encoder.layer.{i}", f"{ours}encoder.layers.{i}", unpaired)
    if config.output.language_head:
        yield from predictions_names(ours, "roformer.embeddings.word_embeddings.weight", config)
    if config.classes:
        yield from linear("classifier.dense", f"{ours}pooler.dense")
        yield from linear("classifier.out_proj", "output")


ROFORMER = Family(
    model_type="roformer",
    architectures={
        "RoFormerModel": "base",
        "RoFormerForMaskedLM": "language",
        "RoFormerForSequenceClassification": "classifier",
    },
    config_in=config_in,
    config_out=config_out,
    names=names,
    prefix="roformer.",
    ignored=BUFFERS,
    renamed=OLD_NAMES,
)
