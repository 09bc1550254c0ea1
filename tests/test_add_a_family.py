"""docs/add-a-family.md, followed to the letter: its code adds a family that passes what every family passes."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from headwise.config import ModelConfig
from headwise.models.build import build
from headwise.models.folder.weights import weights_of
from headwise.models.published import exchange as published
from headwise.models.published.exchange import export_published, fitting_family
from headwise.recipe import from_tables

pytest.importorskip("transformers", reason="the reference library is a development dependency")

from tests.parity import test_families as conformance
from tests.parity.cases import Case

PAGE = Path(__file__).parent.parent / "docs" / "add-a-family.md"


def blocks() -> list[dict[str, Any]]:
    """What each block of code on the page defines."""
    spaces: list[dict[str, Any]] = []
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        space: dict[str, Any] = {}
        exec(code, space)
        spaces.append(space)
    return spaces


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Everything on the page, with its row in the table."""
    family, preset, case = blocks()
    monkeypatch.setattr(published, "PUBLISHED", (*published.PUBLISHED, family["QWEN2"]))
    return {**family, **preset, **case}


def test_the_family_conforms(page: dict[str, Any], tmp_path: Path) -> None:
    pair = conformance.Pair(Case("qwen2", "qwen2", page["make"]), tmp_path / "published")
    conformance.test_hidden_states_and_logits_agree_with_padding(pair)
    conformance.test_loss_and_gradients_agree(pair, tmp_path / "gradients")
    conformance.test_cached_steps_agree_with_the_reference(pair)
    conformance.test_padding_at_the_start_agrees(pair)
    conformance.test_weights_survive_out_and_back_byte_for_byte(pair, tmp_path / "again")


def test_its_preset_is_written_as_the_family(page: dict[str, Any]) -> None:
    config = from_tables(ModelConfig, {**page["preset"], "width": 48, "feed_forward.hidden": 64, "layers": 2})
    assert fitting_family(config).model_type == "qwen2"
    with torch.device("meta"):
        model = build(config, 50, 0)
    described, tensors = export_published(config, weights_of(model), 50, published.Ids(0, 1, 2))
    assert described["architectures"] == ["Qwen2ForCausalLM"]
    assert "model.layers.1.self_attn.q_proj.bias" in tensors
    assert "model.layers.1.self_attn.o_proj.bias" not in tensors
