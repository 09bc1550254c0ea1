"""Decoders as they lie on the hub: older keys, names and buffers, and what is refused rather than got wrong."""

import dataclasses
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise.errors import CheckpointError, ConfigError
from headwise.models.published.exchange import Imported, export_published, fitting_family, import_published
from headwise.models.published.formats.huggingface import read_folder
from headwise.models.published.formats.value import Foreign
from headwise.recipe import model_config, replaced

hf = pytest.importorskip("transformers", reason="the reference library is a development dependency")

from tests.parity import causal  # noqa: E402


@pytest.fixture
def saved(tmp_path: Any, request: pytest.FixtureRequest) -> Foreign:
    """The tiny model of a case, as the reference library saves it today."""
    torch.manual_seed(5)
    causal.CASES[request.param]().save_pretrained(tmp_path)
    return read_folder(tmp_path)


def from_case(model_type: str, name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("saved", [(model_type, name)], indirect=True, ids=[f"{model_type}-{name}"])


def changed(
    saved: Foreign, config: dict[str, Any] | None = None, without: tuple[str, ...] = (), **tensors: Tensor
) -> Foreign:
    kept = {key: value for key, value in saved.config.items() if key not in without}
    return dataclasses.replace(saved, config={**kept, **(config or {})}, tensors={**saved.tensors, **tensors})


def assert_same(one: Imported, other: Imported) -> None:
    assert one.config == other.config
    assert one.weights.keys() == other.weights.keys()
    for name, tensor in one.weights.items():
        assert torch.equal(tensor, other.weights[name]), name


@from_case("gpt2", "plain")
def test_gpt2_without_a_prefix_and_with_its_old_buffers(saved: Foreign) -> None:
    tensors = {name.removeprefix("transformer."): tensor for name, tensor in saved.tensors.items()}
    for layer in range(2):
        tensors[f"h.{layer}.attn.bias"] = torch.ones(64, 64).tril()[None, None]
        tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    for architecture in ("GPT2LMHeadModel", "GPT2Model"):
        config = {**saved.config, "architectures": [architecture]}
        assert_same(import_published(Foreign(config, tensors, "hub", None)), import_published(saved))


@from_case("gpt2", "plain")
def test_a_tied_head_may_be_stored_again_but_not_differ(saved: Foreign) -> None:
    again = saved.tensors["transformer.wte.weight"]
    assert_same(import_published(changed(saved, **{"lm_head.weight": again.clone()})), import_published(saved))
    with pytest.raises(CheckpointError, match=r"lm_head\.weight should equal"):
        import_published(changed(saved, **{"lm_head.weight": again + 1}))


@from_case("gpt_neox", "plain")
def test_gpt_neox_in_the_words_of_pythia(saved: Foreign) -> None:
    buffers = {
        "gpt_neox.layers.0.attention.bias": torch.ones(64, 64).tril()[None, None],
        "gpt_neox.layers.0.attention.masked_bias": torch.tensor(-1e9),
        "gpt_neox.layers.0.attention.rotary_emb.inv_freq": torch.ones(1),
    }
    old = changed(saved, {"rotary_pct": 0.25, "rotary_emb_base": 10000}, without=("rope_parameters",), **buffers)
    assert_same(import_published(old), import_published(saved))
    renamed = {name.replace("embed_out", "lm_head"): tensor for name, tensor in saved.tensors.items()}
    assert_same(import_published(dataclasses.replace(saved, tensors=renamed)), import_published(saved))


@from_case("llama", "llama3")
def test_llama_in_the_words_of_before(saved: Foreign) -> None:
    scaling = {key: value for key, value in saved.config["rope_parameters"].items() if key != "rope_theta"}
    old = changed(saved, {"rope_theta": 10000.0, "rope_scaling": scaling}, without=("rope_parameters",))
    assert_same(import_published(old), import_published(saved))
    scaling["type"] = scaling.pop("rope_type")
    assert_same(import_published(old), import_published(saved))


@from_case("phi3", "longrope-long-text")
def test_phi3_in_the_words_of_before(saved: Foreign) -> None:
    scaling = saved.config["rope_parameters"]
    old_scaling = {"type": "su", "short_factor": scaling["short_factor"], "long_factor": scaling["long_factor"]}
    old = changed(saved, {"rope_theta": 10000.0, "rope_scaling": old_scaling}, without=("rope_parameters",))
    assert_same(import_published(old), import_published(saved))
    with pytest.raises(CheckpointError, match="original_max_position_embeddings"):
        import_published(changed(old, without=("original_max_position_embeddings",)))


@from_case("mistral", "no-window")
def test_a_window_that_is_null_is_none_and_an_absent_one_the_first_mistrals(saved: Foreign) -> None:
    assert import_published(saved).config.attention.window is None
    assert import_published(changed(saved, without=("sliding_window",))).config.attention.window == 4096


REFUSED: dict[str, tuple[tuple[str, str], dict[str, Any]]] = {
    "gpt2-scale-by-layer": (("gpt2", "plain"), {"scale_attn_by_inverse_layer_idx": True}),
    "gpt2-cross-attention": (("gpt2", "plain"), {"add_cross_attention": True}),
    "gpt2-activation": (("gpt2", "plain"), {"activation_function": "mish"}),
    "gpt-activation": (("openai-gpt", "plain"), {"afn": "gelu_new"}),
    "phi-norms-of-queries": (("phi", "plain"), {"qk_layernorm": True}),
    "phi3-yarn": (("phi3", "plain"), {"rope_parameters": causal.rope("yarn", factor=2.0)}),
    "phi3-bias": (("phi3", "plain"), {"attention_bias": True}),
    "llama-tensor-parallel": (("llama", "plain"), {"pretraining_tp": 2}),
    "llama-window": (("llama", "plain"), {"sliding_window": 5}),
    "llama-scaling": (("llama", "plain"), {"rope_parameters": causal.rope("spiral")}),
    "mistral-bias": (("mistral", "no-window"), {"attention_bias": True}),
}


@pytest.mark.parametrize(("saved", "config"), REFUSED.values(), indirect=["saved"], ids=REFUSED)
def test_what_was_never_built_is_refused(saved: Foreign, config: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError):
        import_published(changed(saved, config))


@from_case("gpt2", "plain")
def test_an_unknown_head_is_refused(saved: Foreign) -> None:
    with pytest.raises(CheckpointError, match="GPT2DoubleHeadsModel"):
        import_published(changed(saved, {"architectures": ["GPT2DoubleHeadsModel"]}))


@pytest.mark.parametrize("saved", causal.CASES, indirect=True, ids="-".join)
def test_a_model_finds_its_family_by_its_shape(saved: Foreign) -> None:
    """What was trained here has no family's name: the first that fits is taken, and it must say the same."""
    imported = import_published(saved)
    family = fitting_family(imported.config)
    kin = {"mistral": {"mistral", "llama"}, "phi3": {"phi3", "llama", "mistral"}}
    assert family.model_type in kin.get(imported.family.model_type, {imported.family.model_type})
    described, tensors = export_published(
        imported.config, imported.weights, imported.vocabulary, imported.ids, family.model_type, imported.labels
    )
    assert_same(import_published(Foreign(described, tensors, "again", None)), imported)


@from_case("llama", "plain")
def test_a_shape_that_no_family_has_is_refused_with_what_is_lost(saved: Foreign) -> None:
    config = import_published(saved).config
    with pytest.raises(ConfigError, match="window = 5"):
        fitting_family(replaced(config, {"attention.window": 5}), "llama")
    assert fitting_family(replaced(config, {"attention.window": 5})).model_type == "mistral"
    with pytest.raises(ConfigError, match=r"embedding\.norm"):
        fitting_family(replaced(config, {"embedding.norm": True}))


@pytest.mark.parametrize("share", [30 / 44, 2 / 49, 0.25])
def test_the_share_that_turns_survives_its_division(share: float) -> None:
    from headwise.models.published.rotary_rules import rotary_share

    head_width = 44 if share > 0.5 else 49 if share < 0.1 else 64
    turning = round(head_width * share)
    config = model_config({"width": head_width, "attention.heads": 1, "positions.rotary.width": turning})
    assert int(head_width * rotary_share(config)) == turning
    assert math.isclose(rotary_share(config), share)
