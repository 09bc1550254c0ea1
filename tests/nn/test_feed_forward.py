"""The feed-forward networks against their formulas."""

import pytest
import torch
import torch.nn.functional as F

from headwise.nn.feed_forward import ACTIVATIONS, FeedForward, GatedFeedForward


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_feed_forward_formulas(name: str) -> None:
    activation = ACTIVATIONS[name]
    x = torch.randn(2, 3, 8)
    plain = FeedForward(8, 12, activation)
    torch.testing.assert_close(plain(x), plain.contract(activation(plain.expand(x))))
    gated = GatedFeedForward(8, 12, activation)
    torch.testing.assert_close(gated(x), gated.contract(activation(gated.gate(x)) * gated.expand(x)))


def test_feed_forward_acts_on_each_position_alone() -> None:
    feed_forward = FeedForward(8, 12, F.relu)
    x = torch.randn(1, 5, 8)
    torch.testing.assert_close(feed_forward(x)[:, 2], feed_forward(x[:, 2]))
