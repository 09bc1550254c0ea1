"""The fast loss against the obvious one, and the obvious one against the formula."""

import math

import pytest
import torch
from torch import Tensor, nn

from headwise.nn.embedding import OutputProjection
from headwise.train.step import loss as module
from headwise.train.step.loss import TokenLoss, divergence, plain_cross_entropy, projected_cross_entropy

ROWS, WIDTH, TOKENS = 11, 12, 29


def inputs(scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    hidden = (scale * torch.randn(ROWS, WIDTH)).requires_grad_()
    weight = (scale * torch.randn(TOKENS, WIDTH)).requires_grad_()
    return hidden, weight, torch.randint(TOKENS, (ROWS,))


def gradients(loss: TokenLoss, hidden: Tensor, weight: Tensor, upstream: float = 1.0) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss.loss * upstream, (hidden, weight))


@pytest.fixture(params=[1, 2, 3, 11, 1000], ids="{0} rows at a time".format)
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(module, "CHUNK_BYTES", 4 * TOKENS * request.param)
    return int(request.param)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_equals_the_plain_loss_for_every_chunking(chunk: int, smoothing: float, scale: float) -> None:
    hidden, weight, targets = inputs(scale)
    fast = projected_cross_entropy(hidden, weight, targets, smoothing)
    plain = plain_cross_entropy(hidden, weight, targets, smoothing)
    torch.testing.assert_close(fast.loss, plain.loss)
    torch.testing.assert_close(fast.nll, plain.nll)
    for ours, theirs in zip(gradients(fast, hidden, weight), gradients(plain, hidden, weight), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("function", [projected_cross_entropy, plain_cross_entropy])
def test_is_the_formula(function: object, smoothing: float) -> None:
    hidden, weight, targets = inputs()
    result = function(hidden, weight, targets, smoothing)  # type: ignore[operator]
    loss = nll = 0.0
    for row, target in zip((hidden @ weight.T).double().tolist(), targets.tolist(), strict=True):
        log_p = [logit - math.log(sum(map(math.exp, row))) for logit in row]
        nll -= log_p[target]
        for token, log_probability in enumerate(log_p):
            wanted = (1 - smoothing) * (token == target) + smoothing / TOKENS
            loss -= wanted * log_probability
    assert result.loss.item() == pytest.approx(loss, rel=1e-5)
    assert result.nll.item() == pytest.approx(nll, rel=1e-5)


def test_the_gradient_is_scaled_by_what_comes_from_above(chunk: int) -> None:
    hidden, weight, targets = inputs()
    once = gradients(projected_cross_entropy(hidden, weight, targets, 0.1), hidden, weight)
    scaled = gradients(projected_cross_entropy(hidden, weight, targets, 0.1), hidden, weight, upstream=-0.25)
    for whole, part in zip(once, scaled, strict=True):
        torch.testing.assert_close(part, whole * -0.25)


def test_a_weight_that_is_used_twice_gets_both_gradients() -> None:
    """The output projection is tied to the embedding: its gradient adds to the other one."""
    weight = nn.Parameter(torch.randn(TOKENS, WIDTH))
    targets = torch.randint(TOKENS, (ROWS,))
    found = []
    for function in (projected_cross_entropy, plain_cross_entropy):
        hidden = torch.tanh(weight[torch.arange(ROWS)])
        found.append(torch.autograd.grad(function(hidden, weight, targets, 0.1).loss, weight)[0])
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("states", [torch.float32, torch.bfloat16], ids=str)
def test_under_bfloat16_autocast(chunk: int, states: torch.dtype) -> None:
    hidden, weight, targets = inputs()
    with torch.autocast("cpu", torch.bfloat16):
        fast = projected_cross_entropy(hidden.to(states), weight, targets, 0.1)
    exact = plain_cross_entropy(hidden, weight, targets, 0.1)
    assert fast.loss.dtype == torch.float32
    torch.testing.assert_close(fast.loss, exact.loss, rtol=0.03, atol=0.1)
    for ours, theirs in zip(gradients(fast, hidden, weight), gradients(exact, hidden, weight), strict=True):
        assert ours.dtype == torch.float32
        assert (ours - theirs).norm() < 0.03 * theirs.norm()


def test_without_gradients_none_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation only asks for the value: the gradient would cost twice as much again."""
    hidden, weight, targets = inputs()
    expected = projected_cross_entropy(hidden, weight, targets, 0.1)

    def forbidden(*_: object) -> Tensor:
        raise AssertionError("a gradient was made")

    monkeypatch.setattr(module.torch, "zeros_like", forbidden)
    monkeypatch.setattr(module.torch, "empty_like", forbidden)
    with torch.no_grad():
        result = projected_cross_entropy(hidden, weight, targets, 0.1)
    assert torch.equal(result.loss, expected.loss)
    assert torch.equal(result.nll, expected.nll)
    assert not result.loss.requires_grad


def test_the_likelihood_has_no_gradient() -> None:
    hidden, weight, targets = inputs()
    assert not projected_cross_entropy(hidden, weight, targets, 0.1).nll.requires_grad
    assert not plain_cross_entropy(hidden, weight, targets, 0.1).nll.requires_grad


@pytest.mark.parametrize("rows", [1, 4, 1000])
def test_divergence_is_that_of_the_library(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DIVERGENCE_BYTES", 4 * TOKENS * rows)
    hidden, weight, _ = inputs()
    other = torch.randn(ROWS, WIDTH, requires_grad=True)
    projection = OutputProjection(nn.Parameter(weight.detach()), scale=0.5)
    real = torch.arange(ROWS) % 3 > 0
    found = divergence(hidden, other, projection, real)
    p, q = (projection(each).log_softmax(-1) for each in (hidden, other))
    kl = nn.functional.kl_div
    both = kl(p, q, log_target=True, reduction="none") + kl(q, p, log_target=True, reduction="none")
    expected = both[real].sum()
    torch.testing.assert_close(found, expected)
    wanted = (hidden, other, projection.weight)
    for ours, theirs in zip(torch.autograd.grad(found, wanted), torch.autograd.grad(expected, wanted), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert divergence(hidden, hidden, projection).item() == 0
