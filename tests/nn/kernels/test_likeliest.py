"""The likeliest tokens of a step: the kernel against the obvious way, in Triton's interpreter without a GPU."""

import pytest
import torch

from headwise.nn.kernels import likeliest
from tests.kernels import DEVICE, needs_kernels

pytestmark = [
    pytest.mark.filterwarnings("ignore:Conversion of an array"),  # of Triton's interpreter
    needs_kernels,
]


def both(
    logits: torch.Tensor, count: int, banned: torch.Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[torch.Tensor, ...]]:
    found = likeliest.likeliest(logits, count, banned)
    monkeypatch.setattr(likeliest, "usable", lambda tensor: False)
    return [found, likeliest.likeliest(logits, count, banned)]


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("vocabulary", [7, 64, 200])
@pytest.mark.parametrize("bans", [True, False])
def test_likeliest(count: int, vocabulary: int, bans: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwise.nn.kernels.likeliest_triton.STRETCH", 64)
    logits = torch.randn(6, vocabulary + 3, device=DEVICE)[:, :vocabulary] * 5  # rows with a gap behind them
    banned = None
    if bans:
        banned = torch.zeros(vocabulary, dtype=torch.bool, device=DEVICE)
        banned[logits[0].argmax()] = True
    found, wanted = both(logits, count, banned, monkeypatch)
    assert torch.equal(found[0], wanted[0])
    assert torch.equal(found[1], wanted[1])
    assert torch.allclose(found[2], wanted[2], atol=1e-5)


def test_of_equal_ones_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwise.nn.kernels.likeliest_triton.STRETCH", 16)
    logits = torch.zeros(1, 50, device=DEVICE)
    logits[0, [3, 20, 40]] = 1.0
    _, tokens, _ = likeliest.likeliest(logits, 4)
    assert tokens.tolist() == [[3, 20, 40, 0]]


def test_what_cannot_be_said_is_minus_infinity_and_no_number_stays_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwise.nn.kernels.likeliest_triton.STRETCH", 16)
    logits = torch.full((2, 40), -torch.inf, device=DEVICE)
    logits[0, 35] = 2.0
    logits[1, 0] = torch.nan
    values, tokens, normaliser = likeliest.likeliest(logits, 2)
    assert tokens[0, 0] == 35
    assert values[0].tolist() == [2.0, -torch.inf]
    assert normaliser[0] == 2.0
    assert normaliser[1].isnan()


def test_of_many_the_obvious_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel for them would be compiled for minutes."""
    monkeypatch.setattr(likeliest, "_kernels", lambda: None)
    count = likeliest.MOST + 1
    logits = torch.randn(2, 50, device=DEVICE)
    values, tokens, _ = likeliest.likeliest(logits, count)
    assert torch.equal(values, logits.gather(1, tokens))
    assert torch.equal(values, logits.sort(-1, descending=True).values[:, :count])
