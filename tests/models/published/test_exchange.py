"""Published models that do not fit: each is an error that names what is wrong. (That those which fit compute the
same is held by tests/parity.)"""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise.errors import CheckpointError, ConfigError
from headwise.models.build import build
from headwise.models.folder.description import Ids
from headwise.models.folder.weights import set_weights, weights_of
from headwise.models.published import rules
from headwise.models.published.exchange import Imported, export_published, fitting_family, import_published
from headwise.models.published.formats.value import Foreign
from headwise.nn.positions import Sinusoidal
from headwise.recipe import model_config, replaced

VOCABULARY = 13
IDS = Ids(pad=1, sos=2, eos=2)
TINY: dict[str, Any] = {
    "preset": "",
    "width": 8,
    "layers": 1,
    "attention.heads": 2,
    "feed_forward.hidden": 12,
    "positions.max_positions": 16,
    "norm.epsilon": 1e-5,
}
BART = model_config(
    {
        **TINY,
        "positions.kind": "learned",
        "positions.offset": 2,
        "embedding.norm": True,
        "feed_forward.activation": "gelu",
        "output.bias": True,
    }
)
CONFIGS = {
    "marian": model_config(
        {**TINY, "positions.kind": "sinusoidal_halves", "feed_forward.activation": "silu", "output.bias": True}
    ),
    "bart": BART,
    "mbart": replaced(BART, {"norm.order": "pre"}),
    "m2m_100": model_config(
        {**TINY, "positions.kind": "sinusoidal_fairseq", "positions.offset": 2, "norm.order": "pre"}
    ),
    "t5": model_config(
        {
            **TINY,
            "positions.kind": "relative",
            "norm.kind": "rms",
            "norm.order": "pre",
            "attention.scale": 1.0,
            "bias": False,
            "embedding.scale": False,
            "tie": "embeddings",
        }
    ),
    "vit": model_config(
        {
            **TINY,
            "family": "vision",
            "norm.order": "pre",
            "positions.kind": "learned",
            "classes": 3,
            "patches.image_size": 8,
            "patches.patch_size": 4,
        }
    ),
    "roformer": model_config(
        {
            **TINY,
            "family": "masked_lm",
            "feed_forward.activation": "gelu",
            "positions.kind": "rotary",
            "embedding.scale": False,
            "embedding.norm": True,
            "embedding.segments": 2,
            "output.bias": True,
        }
    ),
}

Tensors = dict[str, Tensor]


def published(model_type: str, /, **changes: Any) -> Foreign:
    """A model of ours as if somebody else had published it; `changes` are to its config.json."""
    torch.manual_seed(5)
    config = CONFIGS[model_type]
    weights = weights_of(build(config, VOCABULARY, IDS.pad))
    labels = ("a", "b", "c") if config.classes else ()
    described, tensors = export_published(config, weights, VOCABULARY, IDS, model_type, labels)
    return Foreign({**described, **changes}, tensors, f"a {model_type}", None)


def changed(foreign: Foreign, change: Callable[[Tensors], Any]) -> Foreign:
    """The same with other tensors."""
    tensors = dict(foreign.tensors)
    change(tensors)
    return dataclasses.replace(foreign, tensors=tensors)


def loaded(foreign: Foreign) -> Imported:
    """Import it, and see that it fits the model."""
    imported = import_published(foreign)
    set_weights(build(imported.config, imported.vocabulary, imported.ids.pad), imported.weights, foreign.where)
    return imported


@pytest.mark.parametrize("model_type", CONFIGS)
def test_a_published_model_finds_its_family_and_comes_back(model_type: str) -> None:
    foreign = published(model_type)
    assert fitting_family(loaded(foreign).config).model_type == model_type


def test_an_unknown_architecture_is_named_and_the_known_ones_too() -> None:
    with pytest.raises(CheckpointError, match=r"RetNetForCausalLM is not supported.*BartForConditionalGeneration"):
        import_published(published("bart", architectures=["RetNetForCausalLM"], model_type="retnet"))
    with pytest.raises(CheckpointError, match="the architecture retnet is not supported"):
        import_published(published("bart", architectures=None, model_type="retnet"))
    with pytest.raises(CheckpointError, match=r"\(none named\) is not supported"):
        import_published(published("bart", architectures=[], model_type=None))


@pytest.mark.parametrize("model_type", CONFIGS)
def test_a_missing_tensor_is_named(model_type: str) -> None:
    foreign = published(model_type)
    for name in foreign.tensors:
        if name.endswith(("final_logits_bias", "pooler.dense.weight")):  # may be missing
            continue
        with pytest.raises(CheckpointError, match=f"missing: {name}"):
            import_published(changed(foreign, lambda tensors, name=name: tensors.pop(name)))  # type: ignore[misc]


@pytest.mark.parametrize("model_type", CONFIGS)
def test_an_unexpected_tensor_is_named(model_type: str) -> None:
    foreign = published(model_type)
    with pytest.raises(CheckpointError, match=r"unexpected: .*adapter\.weight"):
        import_published(changed(foreign, lambda tensors: tensors.update({"adapter.weight": torch.ones(2)})))


@pytest.mark.parametrize("model_type", CONFIGS)
def test_a_wrong_shape_is_an_error(model_type: str) -> None:
    foreign = published(model_type)
    for name, tensor in foreign.tensors.items():
        wrong = torch.cat((tensor, tensor))
        with pytest.raises(CheckpointError, match=r"has the (impossible )?shape"):
            loaded(changed(foreign, lambda tensors, name=name, wrong=wrong: tensors.update({name: wrong})))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("model_type", "copy", "of"),
    [
        ("marian", "lm_head.weight", "model.shared.weight"),
        ("bart", "model.encoder.embed_tokens.weight", "model.shared.weight"),
        ("m2m_100", "model.decoder.embed_tokens.weight", "model.shared.weight"),
        ("t5", "decoder.embed_tokens.weight", "shared.weight"),
    ],
)
def test_tied_weights_may_be_there_twice_but_not_differ(model_type: str, copy: str, of: str) -> None:
    foreign = published(model_type)
    matrix = foreign.tensors[of]
    loaded(changed(foreign, lambda tensors: tensors.update({copy: matrix.clone()})))
    with pytest.raises(CheckpointError, match=f"{copy} should equal {of}"):
        import_published(changed(foreign, lambda tensors: tensors.update({copy: matrix + 1})))


def test_a_tied_matrix_may_lie_under_another_of_its_names() -> None:
    foreign = published("bart")
    name = "model.decoder.embed_tokens.weight"
    moved = changed(foreign, lambda tensors: tensors.update({name: tensors.pop("model.shared.weight")}))
    assert torch.equal(loaded(moved).weights["source_embedding.weight"], foreign.tensors["model.shared.weight"])


@pytest.mark.parametrize(
    ("model_type", "name"),
    [("marian", "model.encoder.embed_positions.weight"), ("m2m_100", "model.decoder.embed_positions.weights")],
)
def test_a_stored_table_of_positions_must_be_the_computed_one(model_type: str, name: str) -> None:
    foreign = changed(published(model_type), lambda tensors: tensors.update({name: torch.ones(16, 8)}))
    with pytest.raises(CheckpointError, match=f"{name} is not the position table"):
        import_published(foreign)


def test_a_computed_table_may_be_stored_in_half_precision() -> None:
    encoding = Sinusoidal(8)
    table = encoding.table(torch.arange(16))
    name = rules.Computed("positions", encoding, 16)
    rules._check_redundant(name, {"positions": table.bfloat16()}, "here")
    with pytest.raises(CheckpointError, match="positions is not the position table"):
        rules._check_redundant(name, {"positions": (table + 0.02).bfloat16()}, "here")
    with pytest.raises(CheckpointError, match="positions is not the position table"):
        rules._check_redundant(name, {"positions": table.long()}, "here")


@pytest.mark.parametrize(
    ("model_type", "name"),
    [
        ("marian", "model.encoder.embed_positions.weight"),
        ("m2m_100", "model.decoder.embed_positions.weights"),
        ("roformer", "roformer.encoder.embed_positions.weight"),
    ],
)
def test_an_absurd_number_of_positions_makes_no_table_of_that_size(
    model_type: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []
    table = Sinusoidal.table
    monkeypatch.setattr(
        Sinusoidal, "table", lambda self, positions: computed.append(len(positions)) or table(self, positions)
    )
    loaded(published(model_type, max_position_embeddings=2**24))
    stored = torch.ones(5, 4 if model_type == "roformer" else 8)
    with pytest.raises(CheckpointError, match=f"{name} is not the position table"):
        import_published(
            changed(
                published(model_type, max_position_embeddings=2**24), lambda tensors: tensors.update({name: stored})
            )
        )
    assert computed == [5]
    with pytest.raises(CheckpointError, match=r"max_positions must be at most 16,777,216"):
        import_published(published(model_type, max_position_embeddings=2**40))


@pytest.mark.parametrize(
    ("model_type", "option", "value"),
    [
        ("marian", "normalize_before", True),
        ("marian", "static_position_embeddings", False),
        ("marian", "decoder_vocab_size", 99),
        ("marian", "tie_word_embeddings", False),
        ("bart", "normalize_before", True),
        ("bart", "normalize_embedding", False),
        ("bart", "tie_word_embeddings", False),
        ("bart", "activation_function", "mish"),
        ("mbart", "add_final_layer_norm", False),
        ("m2m_100", "tie_word_embeddings", False),
        ("t5", "feed_forward_proj", "gated-mish"),
        ("vit", "image_size", [8, 12]),
        ("vit", "patch_size", 3),
        ("vit", "hidden_act", "mish"),
    ],
)
def test_an_option_that_was_not_built_is_refused_by_name(model_type: str, option: str, value: Any) -> None:
    with pytest.raises(CheckpointError, match=f"a {model_type}: .*{option}"):
        import_published(published(model_type, **{option: value}))


@pytest.mark.parametrize(
    ("model_type", "key"),
    [("marian", "d_model"), ("bart", "decoder_ffn_dim"), ("t5", "num_heads"), ("vit", "hidden_size")],
)
def test_a_config_that_lacks_a_size_is_an_error(model_type: str, key: str) -> None:
    with pytest.raises(CheckpointError, match=f"config.json lacks {key}"):
        import_published(published(model_type, **{key: None}))


def test_a_body_alone_is_the_same_model_without_its_prefix_and_logits_bias() -> None:
    whole = published("bart", architectures=["BartModel"])
    body = changed(
        whole,
        lambda tensors: [
            tensors.pop(name) if name == "final_logits_bias" else tensors.update({name[6:]: tensors.pop(name)})
            for name in list(tensors)
        ],
    )
    imported = loaded(body)
    assert not imported.config.output.bias
    assert torch.equal(imported.weights["source_embedding.weight"], whole.tensors["model.shared.weight"])
    _, tensors = export_published(imported.config, imported.weights, VOCABULARY, IDS, "bart")
    assert tensors.keys() == whole.tensors.keys() - {"final_logits_bias"}


@pytest.mark.parametrize(
    ("described", "has_head", "tie", "scaled"),
    [
        ({}, False, "all", True),  # version 1.0
        ({"tie_word_embeddings": False}, True, "embeddings", False),  # version 1.1
        ({"tie_word_embeddings": True, "scale_decoder_outputs": False}, True, "embeddings", False),
        ({"tie_word_embeddings": True, "scale_decoder_outputs": False}, False, "all", False),
        ({"tie_word_embeddings": True, "scale_decoder_outputs": True}, False, "all", True),
    ],
)
def test_t5_ties_and_scales_whichever_version_wrote_it(
    described: dict[str, Any], has_head: bool, tie: str, scaled: bool
) -> None:
    foreign = published("t5")
    config = {
        key: value
        for key, value in foreign.config.items()
        if key not in ("tie_word_embeddings", "scale_decoder_outputs")
    }
    tensors = {name: each for name, each in foreign.tensors.items() if has_head or name != "lm_head.weight"}
    imported = loaded(Foreign({**config, **described}, tensors, "a t5", None))
    assert imported.config.tie == tie
    assert imported.config.output.scale == (8**-0.5 if scaled else 1)


def test_what_no_family_can_say_is_named() -> None:
    with pytest.raises(ConfigError, match=r"does not have: .*norm.kind = 'rms'"):
        fitting_family(replaced(BART, {"norm.kind": "rms"}))
    with pytest.raises(ConfigError, match=r"as marian, which does not have: .*positions.kind = 'learned'"):
        fitting_family(BART, "marian")
    with pytest.raises(ConfigError, match="unknown published family 'retnet'"):
        fitting_family(BART, "retnet")


def test_positions_that_count_from_the_padding_id_need_that_padding_id() -> None:
    config = CONFIGS["m2m_100"]
    weights = weights_of(build(config, VOCABULARY, 5))
    with pytest.raises(ConfigError, match="padding id 1, not 5"):
        export_published(config, weights, VOCABULARY, Ids(pad=5, sos=2, eos=2), "m2m_100")
