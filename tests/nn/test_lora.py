"""Low-rank adaptation changes nothing at first, only itself while learning, and folds into ordinary weights."""

from collections import OrderedDict

import pytest
import torch
from torch import nn

from headwise.nn.lora import LoraLinear, add_lora, merge_lora, merged_weights


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.ModuleDict({"query": nn.Linear(6, 6), "output": nn.Linear(6, 6, bias=False)})
        self.other = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.other(self.attention["output"](self.attention["query"](x).relu()))


def model(shared: bool = False) -> nn.Sequential:
    torch.manual_seed(1)
    block = Block()
    return nn.Sequential(OrderedDict(first=block, second=block if shared else Block()))


def adapted(shared: bool = False, dropout: float = 0.0) -> nn.Sequential:
    changed = model(shared)
    add_lora(changed, 2, 4.0, dropout, {"attention"})
    return changed


def learned(changed: nn.Module) -> nn.Module:
    """Its low-rank matrices, and only they, made random."""
    for parameter in changed.parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter)
    return changed


X = torch.randn(5, 6, generator=torch.Generator().manual_seed(2))


def test_only_what_is_named_is_adapted_and_nothing_changes_at_first() -> None:
    changed = model()
    assert add_lora(changed, 2, 4.0, 0.0, {"attention"}) == [
        f"{block}.attention.{name}" for block in ("first", "second") for name in ("query", "output")
    ]
    assert torch.equal(changed(X), model()(X))
    learning = {name for name, parameter in changed.named_parameters() if parameter.requires_grad}
    assert {name.rpartition(".")[2] for name in learning if "attention" in name} == {"lora_down", "lora_up"}
    assert {name for name in learning if "attention" not in name} == {
        f"{block}.other.{own}" for block in ("first", "second") for own in ("weight", "bias")
    }


def test_the_names_of_the_weights_stay_and_come_back() -> None:
    changed, names = adapted(), dict(model().named_parameters()).keys()
    assert names <= dict(changed.named_parameters()).keys()
    merge_lora(changed)
    assert dict(changed.named_parameters()).keys() == names
    assert not any(isinstance(module, LoraLinear) for module in changed.modules())


@pytest.mark.parametrize("shared", [False, True])
def test_merged_computes_the_same(shared: bool) -> None:
    changed = learned(adapted(shared))
    expected = changed(X)
    assert not torch.allclose(expected, model(shared)(X), atol=1e-2)
    merge_lora(changed)
    torch.testing.assert_close(changed(X), expected, atol=1e-4, rtol=1e-4)


def test_weights_fold_without_a_model() -> None:
    changed = learned(adapted())
    folded = merged_weights(dict(changed.named_parameters()))
    merge_lora(changed)
    own = dict(changed.named_parameters())
    assert folded.keys() == own.keys()
    assert all(torch.equal(folded[name], own[name]) for name in own)


def test_ordinary_weights_fold_to_themselves() -> None:
    own = dict(model().named_parameters())
    folded = merged_weights(own)
    assert list(folded) == list(own)
    assert all(folded[name] is own[name] for name in own)


def test_a_layer_that_is_shared_is_adapted_once() -> None:
    changed = adapted(shared=True)
    assert changed.get_submodule("first.attention.query") is changed.get_submodule("second.attention.query")
    assert len([name for name, _ in changed.named_parameters() if name.endswith("lora_up")]) == 2
    assert add_lora(changed, 2, 4.0, 0.0, {"attention"})
    assert len([name for name, _ in changed.named_parameters() if name.endswith("lora_up")]) == 2, "not twice"


def test_the_formula() -> None:
    changed = learned(adapted())
    layer = changed.get_submodule("first.attention.query")
    assert isinstance(layer, LoraLinear)
    expected = X @ layer.weight.T + layer.bias + (4.0 / 2) * X @ layer.lora_down.T @ layer.lora_up.T
    torch.testing.assert_close(layer(X), expected)


def test_dropout_is_on_the_change_alone_and_only_while_training() -> None:
    changed = learned(adapted(dropout=0.5))
    layer = changed.get_submodule("first.attention.query")
    assert not torch.equal(layer(X), layer(X))
    changed.eval()
    assert torch.equal(layer(X), layer(X))
    fresh = adapted(dropout=0.5)
    assert torch.equal(fresh(X), model()(X)), "a change of nothing has nothing to drop"
