"""Products in eight bits: as near as eight bits come, row by row, and the same whatever the batch."""

import copy

import pytest
import torch
from torch import Tensor, nn

from headwise.nn.int8 import (
    LEVELS,
    Int8Embedding,
    Int8Linear,
    dequantised,
    is_fast_here,
    quantised,
    to_int8,
    were_whole,
)
from tests.shapes import random_model, sentences, small

pytestmark = pytest.mark.skipif(not is_fast_here(), reason="needs a CPU with VNNI")


def linear(inputs: int, outputs: int, *, bias: bool = True) -> tuple[nn.Linear, Int8Linear]:
    plain = nn.Linear(inputs, outputs, bias=bias)
    holder = nn.Sequential(copy.deepcopy(plain))
    rounded = to_int8(holder)[0]  # type: ignore[index]
    assert isinstance(rounded, Int8Linear)
    return plain, rounded


def test_weights_are_rounded_to_the_nearest_step_of_their_row() -> None:
    weight = torch.randn(40, 24) * torch.logspace(-3, 3, 40)[:, None]
    whole, scales = quantised(weight)
    assert whole.dtype == torch.int8
    assert int(whole.abs().max()) == LEVELS
    assert bool(((whole * scales[:, None] - weight).abs() <= scales[:, None] * 0.5001).all())


def test_a_row_of_zeros_is_nothing() -> None:
    plain, rounded = linear(32, 16)
    with torch.no_grad():
        plain.weight[3] = 0
        rounded = to_int8(nn.Sequential(copy.deepcopy(plain)))[0]  # type: ignore[index]
        for rows in (1, 3):
            assert torch.allclose(rounded(torch.zeros(rows, 32)), plain.bias.expand(rows, -1))
            assert torch.isfinite(rounded(torch.randn(rows, 32))).all()


@torch.no_grad()
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 7, 33])
def test_a_product_is_that_of_the_rounded_numbers(rows: int, bias: bool) -> None:
    plain, rounded = linear(96, 48, bias=bias)
    x = torch.randn(rows, 96)
    step = x.abs().amax(1, keepdim=True) / LEVELS
    wanted = ((x / step).round() @ rounded.weight.float().t()) * step * rounded.scales
    wanted = wanted + plain.bias if bias else wanted
    assert torch.allclose(rounded(x), wanted, atol=1e-4, rtol=1e-4)
    exact = plain(x)
    assert float((rounded(x) - exact).norm() / exact.norm()) < 0.02


def test_what_comes_out_does_not_depend_on_the_other_rows() -> None:
    _, rounded = linear(64, 80)
    x = torch.cat((torch.randn(5, 64), 1000 * torch.randn(3, 64)))
    together = rounded(x)
    for part in (slice(0, 2), slice(2, 7)):
        assert torch.equal(rounded(x[part]), together[part])
    assert torch.allclose(rounded(x[:1]), together[:1], rtol=1e-5)  # one row goes another way


def test_a_whole_model_stays_near_itself_and_ties_stay() -> None:
    model = random_model(small(tie="all"))
    rounded = to_int8(copy.deepcopy(model))
    assert isinstance(rounded.target_embedding, Int8Embedding)
    assert rounded.output_projection.weight is rounded.target_embedding.weight
    assert rounded.source_embedding.weight is rounded.target_embedding.weight
    assert {parameter.dtype for name, parameter in rounded.named_parameters() if name.endswith("query.weight")} == {
        torch.int8
    }
    with torch.no_grad():
        source, target = sentences(3, 6), sentences(3, 5)
        exact, near = model(source, target), rounded(source, target)
    assert float((near - exact).norm() / exact.norm()) < 0.05


@torch.no_grad()
def test_dequantised_weights_are_those_that_int8_ones_stand_for() -> None:
    model = random_model(small())
    names = dict(model.named_parameters()).keys()
    rounded = to_int8(copy.deepcopy(model))
    stored = dict(rounded.named_parameters())
    back = dequantised(stored)
    assert back.keys() == names, "as before to_int8, and no scales"
    for name, tensor in back.items():
        assert tensor.dtype == torch.float32
        if stored[name].dtype == torch.int8:
            whole, scales = quantised(tensor)
            assert torch.equal(whole, stored[name]), "quantising them again changes nothing"
            assert torch.allclose(scales, stored[name.removesuffix("weight") + "scales"], rtol=1e-6)
        else:
            assert torch.equal(tensor, stored[name])


def test_weights_that_are_not_int8_stay() -> None:
    scale = {"norm.weight": torch.ones(3), "scales": torch.ones(2), "rows.weight": torch.ones(2, 2)}
    assert dequantised(scale).keys() == scale.keys()


def tuned(by: float) -> tuple[Tensor, Tensor, Tensor]:
    """Weights that were int8, moved by random fractions of a step, at most `by` of it, all of one sign in a row."""
    whole = torch.randint(-LEVELS, LEVELS + 1, (64, 256)).float()
    whole[:, 0] = LEVELS  # the scales stay 1
    moves = by * torch.rand(whole.shape) * torch.where(torch.rand(64, 1) < 0.5, -1, 1)
    moves[:, 0] = 0
    return whole, moves, whole + moves


@pytest.mark.parametrize("by", [0.02, 0.2, 0.4])
def test_what_int8_weights_learnt_survives(by: float) -> None:
    whole, moves, weight = tuned(by)
    rounded, _ = quantised(weight.clamp(-LEVELS, LEVELS))
    assert torch.equal(quantised(whole)[0], whole.to(torch.int8)), "weights that did not move stay"
    learnt, kept = (moves[:, 1:].sum(1), (rounded - whole)[:, 1:].sum(1))
    assert bool((kept - learnt).abs().max() < 1.5 + 0.05 * learnt.abs().max()), "sums of rows differ by a step at most"


def test_other_weights_are_rounded_one_by_one() -> None:
    for shape in ((16, 16), (64, 64), (8, 512), (500, 32)):
        weight = torch.randn(shape)
        assert not were_whole(weight / (weight.abs().amax(1, keepdim=True) / LEVELS))
    assert were_whole(tuned(0.3)[2])
