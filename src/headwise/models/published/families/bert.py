"""BERT and the families that share its names: RoBERTa (with XLM-RoBERTa and CamemBERT) and ERNIE.

Many files hold more than the architecture in their config: a masked language model with the pooler and the
next-sentence head that it was trained with. These are kept.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from headwise.config import ModelConfig
from headwise.errors import CheckpointError
from headwise.models.published.family import Family, Head, Key, Published, body_of, keys_in, keys_out
from headwise.models.published.rules import SAME, Copy, Names, Same, Spare, linear, rule
from headwise.recipe import model_config, replaced

OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}
"""Names of norm weights in files converted from TensorFlow -> current ones."""

BUFFERS = (r"embeddings\.(position_ids|token_type_ids)$",)


KEYS: tuple[Key, ...] = (
    ("hidden_size", "width"),
    ("num_hidden_layers", "layers"),
    ("num_attention_heads", "attention.heads"),
    ("intermediate_size", "feed_forward.hidden"),
    ("hidden_act", "feed_forward.activation", "gelu"),
    ("layer_norm_eps", "norm.epsilon", 1e-12),
    ("max_position_embeddings", "positions.max_positions", 512),
    ("type_vocab_size", "embedding.segments", 2),
    ("tie_word_embeddings", "tie", True),
    ("hidden_dropout_prob", "dropout", 0.1),
    ("attention_probs_dropout_prob", "attention.dropout", 0.1),
)
"""The keys that these and other encoders share."""


def shape_in(published: Published) -> dict[str, Any]:
    """The fields that these and other encoders share."""
    published.refuse_unless("is_decoder", False)
    published.refuse_unless("add_cross_attention", False)
    published.refuse_unless("position_embedding_type", "absolute")
    fields = {**ENCODER, **keys_in(published, KEYS)}
    if fields["embedding.segments"] < 1:
        raise CheckpointError(f"{published.where}: type_vocab_size must be at least 1")
    return fields


ENCODER: dict[str, Any] = {
    "family": "masked_lm",
    "norm.order": "post",
    "positions.kind": "learned",
    "embedding.scale": False,
    "embedding.norm": True,
    "output.bias": True,
    "init": "normal",
}
"""The fields that all these encoders share and no config.json names."""


def shape_out(config: ModelConfig) -> dict[str, Any]:
    return keys_out(config, KEYS)


def heads_in(
    published: Published, head: Head, *, predicts: str, pools: str = "", next_sentence: str = ""
) -> dict[str, Any]:
    """Heads on the body: those of the architecture, and those that the weights hold besides.

    `predicts`, `pools` and `next_sentence` end the name of a weight of each part, where the family has that part.
    """
    has_next = head == "pretraining" or (next_sentence != "" and published.has(next_sentence))
    has_pooler = has_next or head == "classifier" or (pools != "" and published.has(pools))
    return {
        "output.language_head": head in ("language", "pretraining") or published.has(predicts),
        "output.next_sentence": has_next,
        "pooling.pooler": "tanh" if has_pooler else None,
        "classes": published.classes if head == "classifier" else None,
    }


def bert_in(published: Published, head: Head) -> ModelConfig:
    heads = heads_in(
        published,
        head,
        predicts="cls.predictions.transform.dense.weight",
        pools="pooler.dense.weight",
        next_sentence="cls.seq_relationship.weight",
    )
    return model_config({**shape_in(published), **heads})


def ernie_in(published: Published, head: Head) -> ModelConfig:
    tasks = published.get("task_type_vocab_size", 3) if published.get("use_task_id", False) else 0
    return replaced(bert_in(published, head), {"embedding.task_types": tasks})


def ernie_out(config: ModelConfig) -> dict[str, Any]:
    tasks = {"task_type_vocab_size": config.embedding.task_types} if config.embedding.task_types else {}
    return {**shape_out(config), "use_task_id": config.embedding.task_types > 0, **tasks}


def roberta_in(published: Published, head: Head) -> ModelConfig:
    pad = published.get("pad_token_id", 1)
    if pad < 0:
        raise CheckpointError(f"{published.where}: positions start after the padding id, which must not be {pad}")
    heads = heads_in(published, head, predicts="lm_head.dense.weight", pools="pooler.dense.weight")
    if heads["output.language_head"]:
        published.refuse_unless("hidden_act", "gelu")  # the head uses it whatever the layers use
    shape = shape_in(published)
    shape["positions.max_positions"] -= pad + 1
    return model_config({**shape, **heads, "positions.offset": pad + 1})


def roberta_out(config: ModelConfig) -> dict[str, Any]:
    offset = config.positions.offset
    return {
        **shape_out(config),
        "max_position_embeddings": config.positions.max_positions + offset,
        "pad_token_id": offset - 1,
    }


def embedding_names(theirs: str, ours: str, config: ModelConfig) -> Names:
    yield rule(f"{theirs}.word_embeddings.weight", f"{ours}embedding.weight")
    if config.positions.kind == "learned":
        yield rule(f"{theirs}.position_embeddings.weight", f"{ours}positions.weight")
    if config.embedding.segments:
        yield rule(f"{theirs}.token_type_embeddings.weight", f"{ours}segments.weight")
    if config.embedding.task_types:
        yield rule(f"{theirs}.task_type_embeddings.weight", f"{ours}tasks.weight")
    yield from linear(f"{theirs}.LayerNorm", f"{ours}embedding_norm")


def layer_names(theirs: str, ours: str, turned: Same = SAME) -> Names:
    """The rules of one layer; `turned` is the change of queries and keys."""
    for part, change in (("query", turned), ("key", turned), ("value", SAME)):
        yield from linear(f"{theirs}.attention.self.{part}", f"{ours}.self_attention.{part}", change=change)
    yield from linear(f"{theirs}.attention.output.dense", f"{ours}.self_attention.output")
    yield from linear(f"{theirs}.attention.output.LayerNorm", f"{ours}.self_norm.norm")
    yield from linear(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.expand")
    yield from linear(f"{theirs}.output.dense", f"{ours}.feed_forward.contract")
    yield from linear(f"{theirs}.output.LayerNorm", f"{ours}.feed_forward_norm.norm")


def output_names(theirs: str, ours: str, embedding: str, config: ModelConfig) -> Names:
    """The rules of the output projection, `decoder` within `theirs`, with a copy of its bias beside it."""
    if config.tie == "none":
        yield from linear(f"{theirs}.decoder", f"{ours}head.projection")
        yield Spare(f"{theirs}.bias", f"{theirs}.decoder.bias")
    else:
        yield rule(f"{theirs}.bias", f"{ours}head.projection.bias")
        yield Copy(f"{theirs}.decoder.weight", embedding)
        yield Copy(f"{theirs}.decoder.bias", f"{theirs}.bias")


def predictions_names(ours: str, embedding: str, config: ModelConfig) -> Names:
    """BERT's masked language-model head, which RoFormer has too."""
    yield from linear("cls.predictions.transform.dense", f"{ours}head.dense")
    yield from linear("cls.predictions.transform.LayerNorm", f"{ours}head.norm")
    yield from output_names("cls.predictions", ours, embedding, config)


def bert_names(prefix: str) -> Callable[[ModelConfig], Names]:
    """The rules of a BERT whose body has this prefix."""

    def names(config: ModelConfig) -> Names:
        ours = body_of(config)
        yield from _body(prefix, ours, config)
        if config.pooling.pooler:
            yield from linear(f"{prefix}pooler.dense", f"{ours}pooler.dense")
        if config.output.language_head:
            yield from predictions_names(ours, f"{prefix}embeddings.word_embeddings.weight", config)
        if config.output.next_sentence:
            yield from linear("cls.seq_relationship", f"{ours}next_sentence")
        if config.classes:
            yield from linear("classifier", "output")

    return names


def roberta_names(config: ModelConfig) -> Names:
    ours = body_of(config)
    yield from _body("roberta.", ours, config)
    if config.classes:
        yield from linear("classifier.dense", f"{ours}pooler.dense")
        yield from linear("classifier.out_proj", "output")
        yield Spare("roberta.pooler.dense.weight")
        yield Spare("roberta.pooler.dense.bias")
    elif config.pooling.pooler:
        yield from linear("roberta.pooler.dense", f"{ours}pooler.dense")
    if config.output.language_head:
        yield from linear("lm_head.dense", f"{ours}head.dense")
        yield from linear("lm_head.layer_norm", f"{ours}head.norm")
        yield from output_names("lm_head", ours, "roberta.embeddings.word_embeddings.weight", config)


def _body(prefix: str, ours: str, config: ModelConfig) -> Names:
    yield from embedding_names(f"{prefix}embeddings", ours, config)
    for i in range(config.layers):
        yield from layer_names(f"{prefix}encoder.layer.{i}", f"{ours}encoder.layers.{i}")


BERT = Family(
    model_type="bert",
    architectures={
        "BertModel": "base",
        "BertForMaskedLM": "language",
        "BertForPreTraining": "pretraining",
        "BertForSequenceClassification": "classifier",
    },
    config_in=bert_in,
    config_out=shape_out,
    names=bert_names("bert."),
    prefix="bert.",
    ignored=BUFFERS,
    renamed=OLD_NAMES,
)

ERNIE = dataclasses.replace(
    BERT,
    model_type="ernie",
    architectures={name.replace("Bert", "Ernie"): head for name, head in BERT.architectures.items()},
    config_in=ernie_in,
    config_out=ernie_out,
    names=bert_names("ernie."),
    prefix="ernie.",
)

ROBERTA = Family(
    model_type="roberta",
    architectures={
        "RobertaModel": "base",
        "RobertaForMaskedLM": "language",
        "RobertaForSequenceClassification": "classifier",
    },
    config_in=roberta_in,
    config_out=roberta_out,
    names=roberta_names,
    prefix="roberta.",
    ignored=BUFFERS,
    renamed=OLD_NAMES,
)

XLM_ROBERTA = dataclasses.replace(
    ROBERTA,
    model_type="xlm-roberta",
    architectures={name.replace("Roberta", "XLMRoberta"): head for name, head in ROBERTA.architectures.items()},
)

CAMEMBERT = dataclasses.replace(
    ROBERTA,
    model_type="camembert",
    architectures={name.replace("Roberta", "Camembert"): head for name, head in ROBERTA.architectures.items()},
)
