"""Dropout: the right share, the right mean, reproducible, and off where it should be."""

import pytest
import torch

from headwise.nn.dropout import Dropout, dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_share_and_mean(p: float) -> None:
    x = torch.ones(1000, 1001)
    y = dropout(x, p)
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=3e-3)
    assert y.mean().item() == pytest.approx(1.0, abs=1e-2)
    assert y[y != 0].unique().numel() == 1


def test_places_are_independent() -> None:
    """Neighbours share a random number but not a fate: pairs are dropped together with p squared."""
    zero = dropout(torch.ones(400_000), 0.5).view(-1, 4) == 0
    for i in range(4):
        for j in range(i):
            assert (zero[:, i] & zero[:, j]).float().mean().item() == pytest.approx(0.25, abs=0.01)


def test_gradient_is_dropped_alike() -> None:
    x = torch.ones(1000, requires_grad=True)
    y = dropout(x, 0.4)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())


def test_reproducible_from_the_seed() -> None:
    torch.manual_seed(3)
    one = dropout(torch.ones(99), 0.5)
    torch.manual_seed(3)
    assert torch.equal(dropout(torch.ones(99), 0.5), one)


def test_off_outside_training_and_at_zero() -> None:
    x = torch.randn(5)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert dropout(x, 0.0) is x
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        Dropout(1.0)
