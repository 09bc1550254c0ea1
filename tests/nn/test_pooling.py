"""One vector for a sequence: by hand, and whatever stands in the padding."""

import pytest
import torch

from headwise.nn.pooling import POOLERS, POOLINGS, Pooler

LENGTHS = [5, 1, 3]
REAL = torch.arange(5) < torch.tensor(LENGTHS)[:, None]


def test_each_pooling_by_hand() -> None:
    hidden = torch.randn(3, 5, 4)
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(POOLINGS["first"](hidden, REAL)[row], hidden[row, 0])
        torch.testing.assert_close(POOLINGS["last"](hidden, REAL)[row], hidden[row, length - 1])
        torch.testing.assert_close(POOLINGS["mean"](hidden, REAL)[row], hidden[row, :length].mean(0))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_padding_changes_nothing(pooling: str) -> None:
    hidden = torch.randn(3, 5, 4)
    other = torch.where(REAL[..., None], hidden, torch.randn(3, 5, 4) * 100)
    torch.testing.assert_close(POOLINGS[pooling](hidden, REAL), POOLINGS[pooling](other, REAL))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_row_of_padding_alone_is_finite(pooling: str) -> None:
    assert POOLINGS[pooling](torch.randn(1, 3, 4), torch.zeros(1, 3, dtype=torch.bool)).isfinite().all()


@pytest.mark.parametrize("activation", POOLERS)
def test_a_pooler_is_a_layer(activation: str) -> None:
    pooler, first = Pooler(4, POOLERS[activation]), torch.randn(3, 4)
    expected = POOLERS[activation](first @ pooler.dense.weight.T + pooler.dense.bias)
    torch.testing.assert_close(pooler(first), expected)
