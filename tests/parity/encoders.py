"""Encoders alone."""

from collections.abc import Callable
from typing import Any

import transformers as hf

SMALL: dict[str, Any] = {
    "vocab_size": 61,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}

DISTILLED: dict[str, Any] = {
    "vocab_size": 61,
    "dim": 32,
    "n_layers": 2,
    "n_heads": 4,
    "hidden_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}

Make = Callable[[], Any]


def bert(kind: str = "BertForMaskedLM", **changes: Any) -> Make:
    return lambda: _linked(getattr(hf, kind)(hf.BertConfig(**{**SMALL, **changes})))


def bert_without_pooler() -> Any:
    return hf.BertModel(hf.BertConfig(**SMALL), add_pooling_layer=False)


def roberta(kind: str = "RobertaForMaskedLM", **changes: Any) -> Make:
    values = {**SMALL, "pad_token_id": 1, "type_vocab_size": 1, "max_position_embeddings": 66, **changes}
    configs = {"XLM": hf.XLMRobertaConfig, "Cam": hf.CamembertConfig, "Rob": hf.RobertaConfig}
    return lambda: _linked(getattr(hf, kind)(configs[kind[:3]](**values)))


def ernie(kind: str = "ErnieForMaskedLM", **changes: Any) -> Make:
    return lambda: _linked(getattr(hf, kind)(hf.ErnieConfig(**{**SMALL, **changes})))


def albert(kind: str = "AlbertForMaskedLM", **changes: Any) -> Make:
    values = {**SMALL, "embedding_size": 12, "num_hidden_layers": 6, **changes}
    return lambda: _linked(getattr(hf, kind)(hf.AlbertConfig(**values)))


def distilbert(kind: str = "DistilBertForMaskedLM", **changes: Any) -> Make:
    return lambda: getattr(hf, kind)(hf.DistilBertConfig(**{**DISTILLED, **changes}))


def roformer(kind: str = "RoFormerForMaskedLM", **changes: Any) -> Make:
    return lambda: _linked(getattr(hf, kind)(hf.RoFormerConfig(**{**SMALL, **changes})))


def _linked(model: Any) -> Any:
    """An untied output has its bias twice, and the reference computes with one of them: leave the other at 0."""
    if not model.config.tie_word_embeddings:
        for name, parameter in model.named_parameters():
            if name.endswith(("predictions.bias", "lm_head.bias")):
                parameter.requires_grad_(False)
    return model


CASES: dict[tuple[str, str], Make] = {
    ("bert", "base"): bert("BertModel"),
    ("bert", "base-without-pooler"): bert_without_pooler,
    ("bert", "masked"): bert(),
    ("bert", "masked-untied"): bert(tie_word_embeddings=False),
    ("bert", "masked-three-heads-relu"): bert(hidden_size=36, num_attention_heads=3, hidden_act="relu"),
    ("bert", "masked-one-segment-epsilon"): bert(type_vocab_size=1, layer_norm_eps=1e-3, hidden_act="gelu_new"),
    ("bert", "masked-other-padding"): bert(pad_token_id=3, type_vocab_size=4, hidden_act="silu"),
    ("bert", "pretraining"): bert("BertForPreTraining"),
    ("bert", "pretraining-untied"): bert("BertForPreTraining", tie_word_embeddings=False),
    ("bert", "classifier"): bert("BertForSequenceClassification", num_labels=3),
    ("bert", "regression"): bert("BertForSequenceClassification", num_labels=1, problem_type="regression"),
    ("roberta", "base"): roberta("RobertaModel", hidden_act="relu"),
    ("roberta", "masked"): roberta(),
    ("roberta", "masked-untied"): roberta(tie_word_embeddings=False, hidden_size=36, num_attention_heads=3),
    ("roberta", "masked-segments-other-padding"): roberta(type_vocab_size=2, pad_token_id=3),
    ("roberta", "classifier"): roberta("RobertaForSequenceClassification", num_labels=3, hidden_act="silu"),
    ("xlm-roberta", "masked"): roberta("XLMRobertaForMaskedLM"),
    ("xlm-roberta", "classifier"): roberta("XLMRobertaForSequenceClassification"),
    ("camembert", "masked"): roberta("CamembertForMaskedLM"),
    ("camembert", "base"): roberta("CamembertModel"),
    ("ernie", "base"): ernie("ErnieModel", use_task_id=True, task_type_vocab_size=5),
    ("ernie", "masked"): ernie(),
    ("ernie", "masked-tasks-untied"): ernie(use_task_id=True, tie_word_embeddings=False, hidden_act="relu"),
    ("ernie", "pretraining-tasks"): ernie("ErnieForPreTraining", use_task_id=True),
    ("ernie", "classifier-tasks"): ernie("ErnieForSequenceClassification", use_task_id=True, num_labels=4),
    ("distilbert", "base"): distilbert("DistilBertModel"),
    ("distilbert", "masked"): distilbert(),
    ("distilbert", "masked-untied-relu"): distilbert(tie_word_embeddings=False, activation="relu"),
    ("distilbert", "masked-three-heads"): distilbert(dim=36, n_heads=3, sinusoidal_pos_embds=True),
    ("distilbert", "classifier"): distilbert("DistilBertForSequenceClassification", num_labels=3),
    ("albert", "base"): albert("AlbertModel"),
    ("albert", "masked"): albert(),
    ("albert", "masked-untied"): albert(tie_word_embeddings=False, hidden_act="gelu"),
    ("albert", "masked-three-groups"): albert(num_hidden_groups=3, hidden_act="relu"),
    ("albert", "masked-no-sharing-more-layers"): albert(num_hidden_groups=8, num_hidden_layers=8),
    ("albert", "masked-wide-embedding"): albert(embedding_size=32, hidden_size=36, num_attention_heads=3),
    ("albert", "masked-equal-widths"): albert(embedding_size=32),
    ("albert", "pretraining"): albert("AlbertForPreTraining", num_hidden_groups=2),
    ("albert", "classifier"): albert("AlbertForSequenceClassification", num_labels=3),
    ("roformer", "base"): roformer("RoFormerModel", embedding_size=20),
    ("roformer", "masked"): roformer(),
    ("roformer", "masked-narrow-embedding"): roformer(embedding_size=20, hidden_act="relu"),
    ("roformer", "masked-three-heads-untied"): roformer(
        hidden_size=36, num_attention_heads=3, embedding_size=20, tie_word_embeddings=False
    ),
    ("roformer", "masked-one-segment-two-wide-heads"): roformer(num_attention_heads=2, type_vocab_size=1),
    ("roformer", "classifier"): roformer("RoFormerForSequenceClassification", num_labels=3, embedding_size=20),
    ("roformer", "classifier-relu"): roformer("RoFormerForSequenceClassification", hidden_act="relu"),
}
