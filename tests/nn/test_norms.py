"""Add & Norm and the norms against their formulas."""

import pytest
import torch

from headwise.nn.norms import NORM_ORDERS, NORMS, PostNorm, PreNorm


@pytest.mark.parametrize("name", NORMS)
def test_add_and_norm_orders(name: str) -> None:
    norm = NORMS[name](8, 0.0)
    x = torch.randn(2, 3, 8)

    def sublayer(y: torch.Tensor) -> tuple[torch.Tensor, str]:
        return torch.tanh(y), "report"

    after, report = PostNorm(norm, 0.0)(x, sublayer)
    torch.testing.assert_close(after, norm(x + torch.tanh(x)))
    before, _ = PreNorm(norm, 0.0)(x, sublayer)
    torch.testing.assert_close(before, x + torch.tanh(norm(x)))
    assert report == "report"


def test_norms_normalise() -> None:
    x = torch.randn(4, 64) * 5 + 3
    layer = NORMS["layer"](64, 0.0)(x)
    torch.testing.assert_close(layer.mean(-1), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(layer.var(-1, unbiased=False), torch.ones(4), atol=1e-3, rtol=0)
    torch.testing.assert_close(NORMS["rms"](64, 0.0)(x).square().mean(-1), torch.ones(4), atol=1e-3, rtol=0)


@pytest.mark.parametrize(("name", "usual"), [("layer", 1e-5), ("rms", 1e-6)])
def test_the_epsilon_of_a_norm_may_be_given(name: str, usual: float) -> None:
    x = torch.randn(4, 64) * 0.01
    torch.testing.assert_close(NORMS[name](64, 0.0)(x), NORMS[name](64, usual)(x))
    larger = NORMS[name](64, 1.0)(x)
    assert larger.abs().max() < 0.1 < NORMS[name](64, 0.0)(x).abs().max()


@pytest.mark.parametrize("order", NORM_ORDERS)
def test_dropout_is_on_the_sublayer_not_the_residual(order: str) -> None:
    block = NORM_ORDERS[order](torch.nn.Identity(), 0.999).train()
    x = torch.full((1, 1000), 3.0)
    y, _ = block(x, lambda z: (torch.ones_like(z), None))
    assert (y == 3.0).float().mean() > 0.98  # the residual passes untouched where the sublayer was dropped
