"""What encoders have beside their hidden states and logits, and what is in files that older programs wrote."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise.errors import CheckpointError, ConfigError
from headwise.models.build import build
from headwise.models.classifier import Classifier
from headwise.models.folder.description import Ids
from headwise.models.folder.weights import set_weights, weights_of
from headwise.models.masked_lm import MaskedLM
from headwise.models.published.exchange import Imported, export_published, fitting_family, import_published
from headwise.models.published.formats.huggingface import read_folder
from headwise.models.published.formats.value import Foreign
from headwise.recipe import model_config, replaced

pytest.importorskip("transformers", reason="the reference library is a development dependency")

from tests.parity import encoders

TOLERANCE = 1e-5


def saved(make: Callable[[], Any], folder: Path) -> tuple[Any, Foreign]:
    """A random model of the reference library, without zeros that would hide mistakes, and its files."""
    torch.manual_seed(5)
    reference = make().eval()
    with torch.no_grad():
        for parameter in reference.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.05)
    reference.save_pretrained(folder)
    return reference, read_folder(folder)


def built(imported: Imported) -> MaskedLM | Classifier:
    model = build(imported.config, imported.vocabulary, imported.ids.pad).eval()
    set_weights(model, imported.weights, "test")
    assert isinstance(model, MaskedLM | Classifier)
    return model


def close(ours: Tensor, theirs: Tensor) -> bool:
    return ours.shape == theirs.shape and (ours - theirs).abs().max().item() < TOLERANCE


@pytest.mark.parametrize(
    "make",
    [
        encoders.bert("BertForPreTraining"),
        encoders.ernie("ErnieForPreTraining"),
        encoders.albert("AlbertForPreTraining"),
    ],
    ids=["bert", "ernie", "albert"],
)
def test_next_sentence_logits_agree(make: Callable[[], Any], tmp_path: Path) -> None:
    reference, foreign = saved(make, tmp_path)
    ours = built(import_published(foreign))
    assert isinstance(ours, MaskedLM)
    assert ours.next_sentence is not None
    tokens, segments = torch.randint(4, 61, (2, 9)), torch.tensor([[0] * 4 + [1] * 5] * 2)
    with torch.no_grad():
        theirs = reference(tokens, token_type_ids=segments)
        logits = ours.next_sentence(ours.pool(ours.encode(tokens, segments).memory))
    assert close(logits, theirs["sop_logits" if "sop_logits" in theirs else "seq_relationship_logits"])


@pytest.mark.parametrize(
    "make",
    [
        encoders.bert(max_position_embeddings=300),
        encoders.roberta(max_position_embeddings=302),
        encoders.albert(max_position_embeddings=300),
        encoders.distilbert(max_position_embeddings=300),
        encoders.roformer(max_position_embeddings=300),
    ],
    ids=["bert", "roberta", "albert", "distilbert", "roformer"],
)
def test_texts_as_long_as_there_are_positions_agree(make: Callable[[], Any], tmp_path: Path) -> None:
    reference, foreign = saved(make, tmp_path)
    imported = import_published(foreign)
    ours = built(imported)
    tokens = torch.randint(4, 61, (2, 300))
    tokens[1, 250:] = imported.ids.pad
    real = tokens != imported.ids.pad
    with torch.no_grad():
        assert close(ours(tokens)[real], reference(tokens, attention_mask=real.long()).logits[real])


def test_a_masked_model_keeps_the_heads_that_its_file_has_beside(tmp_path: Path) -> None:
    """As BERT's first publication: all heads, norms under TensorFlow's names, buffers and tied copies."""
    reference, foreign = saved(encoders.bert("BertForPreTraining"), tmp_path)
    tensors = {}
    for name, tensor in foreign.tensors.items():
        if "LayerNorm" in name:
            name = name.replace(".weight", ".gamma").replace(".bias", ".beta")
        tensors[name] = tensor
    tensors["bert.embeddings.position_ids"] = torch.arange(64)[None]
    tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"]
    tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"]
    config = {**foreign.config, "architectures": ["BertForMaskedLM"]}
    imported = import_published(Foreign(config, tensors, "old", None))
    ours = built(imported)
    assert isinstance(ours, MaskedLM)
    assert ours.next_sentence is not None
    assert ours.pooler is not None
    tokens = torch.randint(4, 61, (2, 9))
    with torch.no_grad():
        assert close(ours(tokens), reference(tokens).prediction_logits)
    described, written = export_published(imported.config, imported.weights, 61, imported.ids)
    assert described["architectures"] == ["BertForPreTraining"]
    assert written.keys() == foreign.tensors.keys()


@pytest.mark.parametrize("make", [encoders.bert(), encoders.albert(), encoders.roberta(), encoders.roformer()])
def test_a_copy_that_differs_from_what_it_should_be_tied_to_is_refused(make: Callable[[], Any], tmp_path: Path) -> None:
    _, foreign = saved(make, tmp_path)
    bias = next(name for name in foreign.tensors if name.endswith(("predictions.bias", "lm_head.bias")))
    copy = bias.removesuffix("bias") + "decoder.bias"
    tensors = {**foreign.tensors, copy: foreign.tensors[bias] + 1}
    with pytest.raises(CheckpointError, match="should equal"):
        import_published(dataclasses.replace(foreign, tensors=tensors))


def test_an_untied_bias_may_be_under_the_older_of_its_names(tmp_path: Path) -> None:
    reference, foreign = saved(encoders.bert(tie_word_embeddings=False), tmp_path)
    tensors = dict(foreign.tensors)
    tensors["cls.predictions.bias"] = tensors.pop("cls.predictions.decoder.bias")
    ours = built(import_published(dataclasses.replace(foreign, tensors=tensors)))
    tokens = torch.randint(4, 61, (2, 9))
    with torch.no_grad():
        assert close(ours(tokens), reference(tokens).logits)


def test_a_roberta_classifier_may_hold_a_pooler_that_it_does_not_use(tmp_path: Path) -> None:
    reference, foreign = saved(encoders.roberta("RobertaForSequenceClassification"), tmp_path)
    pooler = {"roberta.pooler.dense.weight": torch.randn(32, 32), "roberta.pooler.dense.bias": torch.randn(32)}
    ours = built(import_published(dataclasses.replace(foreign, tensors={**foreign.tensors, **pooler})))
    tokens = torch.randint(4, 61, (2, 9))
    with torch.no_grad():
        assert close(ours(tokens), reference(tokens).logits)


@pytest.mark.parametrize(
    ("make", "changes", "reason"),
    [
        (encoders.bert(), {"is_decoder": True}, "is_decoder"),
        (encoders.bert(), {"position_embedding_type": "relative_key"}, "position_embedding_type"),
        (encoders.bert(), {"hidden_act": "mish"}, "mish"),
        (encoders.roberta(), {"hidden_act": "relu"}, "hidden_act"),
        (encoders.roberta(), {"pad_token_id": -1}, "padding"),
        (encoders.albert(), {"inner_group_num": 2}, "inner_group_num"),
        (encoders.albert(), {"num_hidden_groups": 4}, "equal groups"),
        (encoders.roformer(), {"rotary_value": True}, "rotary_value"),
        (encoders.bert(), {"num_hidden_layers": 3}, "missing: bert.encoder.layer.2"),
        (encoders.bert(), {"num_hidden_layers": 1}, "unexpected: bert.encoder.layer.1"),
    ],
)
def test_what_would_compute_something_else_is_refused(
    make: Callable[[], Any], changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    _, foreign = saved(make, tmp_path)
    with pytest.raises(CheckpointError, match=reason):
        import_published(dataclasses.replace(foreign, config={**foreign.config, **changes}))


OURS = model_config(
    {
        "family": "masked_lm",
        "width": 32,
        "layers": 2,
        "attention.heads": 4,
        "feed_forward.hidden": 48,
        "positions.max_positions": 20,
        "positions.kind": "learned",
        "embedding.scale": False,
        "embedding.norm": True,
        "embedding.segments": 2,
        "output.bias": True,
        "feed_forward.activation": "gelu",
    }
)

SHAPES: dict[str, dict[str, Any]] = {
    "bert": {"pooling.pooler": "tanh", "output.next_sentence": True},
    "roberta": {"positions.offset": 1, "embedding.segments": 1},
    "ernie": {"embedding.task_types": 3},
    "distilbert": {"embedding.segments": 0, "norm.epsilon": 1e-12},
    "albert": {"embedding.width": 16, "shared_layers": 1, "feed_forward.activation": "gelu_tanh"},
    "roformer": {"positions.kind": "rotary"},
}


@pytest.mark.parametrize("model_type", SHAPES)
def test_a_model_trained_here_finds_its_family(model_type: str, tmp_path: Path) -> None:
    config = replaced(OURS, SHAPES[model_type])
    model = build(config, 61, 0)
    described, tensors = export_published(config, weights_of(model), 61, Ids(pad=0))
    assert described["model_type"] == model_type
    imported = import_published(Foreign(described, tensors, "exported", None))
    assert all(torch.equal(imported.weights[name], tensor) for name, tensor in weights_of(model).items())


def test_an_encoder_that_only_represents_is_published_whatever_head_it_would_have_had() -> None:
    config = replaced(OURS, {"output.language_head": False, "output.bias": False, "tie": "none"})
    assert fitting_family(config).model_type == "bert"


def test_a_classifier_that_pools_otherwise_is_not_taken_for_a_bert() -> None:
    config = replaced(OURS, {"output.language_head": False, "pooling.pooler": "tanh", "classes": 3})
    assert fitting_family(config).model_type == "bert"
    with pytest.raises(ConfigError, match=r"pooling\.kind = 'mean'"):
        fitting_family(replaced(config, {"pooling.kind": "mean"}), "bert")


def test_positions_that_begin_elsewhere_than_after_the_padding_id_are_refused() -> None:
    config = replaced(OURS, {"positions.offset": 2})
    with pytest.raises(ConfigError, match="padding id 1, not 0"):
        export_published(config, weights_of(build(config, 61, 0)), 61, Ids(pad=0))
