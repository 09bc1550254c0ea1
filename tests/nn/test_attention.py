"""Attention: weights, masks, heads, and the equality of its two paths."""

import math

import pytest
import torch

from headwise.nn.attention import MultiHeadAttention, explicit_attention, fused_attention
from headwise.nn.cache import KeyValues
from headwise.nn.masks import EVERYTHING, Causal, Pattern, SlidingWindow, additive, causal_mask, padding_mask
from headwise.nn.positions import Relative, Rotary
from headwise.nn.rotary import Frequencies
from tests.shapes import max_difference

PATTERNS = {"everything": EVERYTHING, "causal": Causal(), "window": SlidingWindow(3), "wide-window": SlidingWindow(50)}

every_pattern = pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)


def heads(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def test_the_formula_by_hand() -> None:
    query, key, value = (
        torch.tensor([[[[1.0, 0.0]]]]),
        torch.tensor([[[[2.0, 0.0], [0.0, 2.0]]]]),
        torch.eye(2)[None, None],
    )
    context, weights = explicit_attention(query, key, value, None)
    expected = torch.tensor([2 / 2**0.5, 0.0]).softmax(0)
    torch.testing.assert_close(weights[0, 0, 0], expected)
    torch.testing.assert_close(context[0, 0, 0], expected)


@pytest.mark.parametrize("masked", ["none", "padding", "causal", "both"])
def test_weights_are_a_distribution_over_what_is_allowed(masked: str) -> None:
    tokens = torch.tensor([[5, 6, 7, 0, 0], [5, 6, 7, 8, 9]])
    mask = {
        "none": None,
        "padding": padding_mask(tokens, 0),
        "causal": causal_mask(5, 5),
        "both": padding_mask(tokens, 0) & causal_mask(5, 5),
    }[masked]
    _, weights = explicit_attention(heads(2, 3, 5, 4), heads(2, 3, 5, 4), heads(2, 3, 5, 4), mask)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5, dtype=torch.float64))
    if mask is not None:
        forbidden = ~mask.expand(2, 3, 5, 5)
        assert forbidden.any()
        assert (weights[forbidden] == 0).all()


def test_the_mask_is_added_as_minus_infinity() -> None:
    assert additive(torch.tensor([True, False]), torch.float32).tolist() == [0.0, float("-inf")]


def test_causal_queries_are_the_last_positions() -> None:
    assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_fused_equals_explicit(causal: bool, padded: bool) -> None:
    query, key, value = heads(2, 3, 6, 8), heads(2, 3, 6, 8), heads(2, 3, 6, 8)
    tokens = torch.randint(1, 9, (2, 6))
    tokens[0, 4:] = 0
    padding = padding_mask(tokens, 0) if padded else None
    both = causal_mask(6, 6) if causal else None
    if padding is not None:
        both = padding if both is None else padding & both
    explicit, _ = explicit_attention(query, key, value, both)
    only_causal = causal and padding is None
    fused = fused_attention(query, key, value, None if only_causal else both, only_causal)
    torch.testing.assert_close(fused, explicit)


@every_pattern
@pytest.mark.parametrize("queries", [1, 2, 7])
def test_a_pattern_is_the_same_for_the_last_positions(pattern: Pattern, queries: int) -> None:
    """As cached steps need it; None stands for no limit."""
    device = torch.device("cpu")
    whole, last = pattern.mask(7, 7, device), pattern.mask(queries, 7, device)
    everything = torch.ones(7, 7, dtype=torch.bool)
    expected = (everything if whole is None else whole)[7 - queries :]
    assert torch.equal(torch.ones(queries, 7, dtype=torch.bool) if last is None else last, expected)
    if pattern.is_causal(queries, 7):
        assert torch.equal(expected, causal_mask(queries, 7))


def test_a_window_ends_behind() -> None:
    mask = SlidingWindow(2).mask(4, 4, torch.device("cpu"))
    assert mask is not None
    assert mask.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    with pytest.raises(ValueError, match="at least 1, not 0"):
        SlidingWindow(0)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_windows_reach_further_layer_by_layer(layers: int) -> None:
    attention = MultiHeadAttention(16, 4).double()

    def through(x: torch.Tensor) -> torch.Tensor:
        for _ in range(layers):
            x = attention(x, attention.keys_values(x), pattern=SlidingWindow(3)).output
        return x

    x = heads(1, 10, 16)
    changed = x.clone()
    changed[:, 0] += 1
    moved = (through(x) - through(changed)).abs().amax(-1)[0] > 1e-9
    assert moved.tolist() == [place <= 2 * layers for place in range(10)]


@pytest.mark.parametrize("groups", [8, 4, 2, 1])
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@every_pattern
def test_capture_changes_nothing(
    groups: int, rotary: bool, biased: bool, pattern: Pattern, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the explicit path ruled out for the other one: fused equals explicit, whatever the shape."""
    monkeypatch.setattr("headwise.nn.attention.SHORT", 0)
    attention = MultiHeadAttention(32, 8, key_value_heads=groups).double()
    x = heads(3, 7, 32)
    rotation = Rotary(Frequencies(4)).rotation(torch.arange(7)) if rotary else None
    bias = heads(1, 8, 7, 7) if biased else None
    memory = attention.keys_values(x, rotation)
    plain = attention(x, memory, pattern=pattern, rotation=rotation, bias=bias)
    captured = attention(x, memory, pattern=pattern, rotation=rotation, bias=bias, capture=True)
    assert plain.weights is None
    assert captured.weights.shape == (3, 8, 7, 7)
    torch.testing.assert_close(plain.output, captured.output, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("padded", [False, True])
@every_pattern
def test_fused_equals_explicit_with_bias_and_scale(
    padded: bool, pattern: Pattern, monkeypatch: pytest.MonkeyPatch
) -> None:
    relative = Relative(4, 8, 16, causal=False)
    torch.nn.init.normal_(relative.weight)
    attention = MultiHeadAttention(16, 4, scale=0.7).double()
    x, mask = heads(2, 6, 16), None
    if padded:
        mask = padding_mask(torch.tensor([[5, 6, 7, 8, 0, 0], [5, 6, 7, 8, 9, 9]]), 0)
    memory, bias = attention.keys_values(x), relative.bias(6, 6)
    explicit = attention(x, memory, mask=mask, pattern=pattern, bias=bias).output
    monkeypatch.setattr("headwise.nn.attention.SHORT", 0)
    torch.testing.assert_close(attention(x, memory, mask=mask, pattern=pattern, bias=bias).output, explicit)


def test_bias_is_added_to_the_scaled_scores() -> None:
    query, key, value, bias = heads(1, 2, 3, 4), heads(1, 2, 5, 4), heads(1, 2, 5, 4), heads(1, 2, 3, 5)
    for scale, factor in ((None, 0.5), (2.0, 2.0)):
        _, weights = explicit_attention(query, key, value, None, scale=scale, bias=bias)
        torch.testing.assert_close(weights, (query @ key.mT * factor + bias).softmax(-1))


def test_the_scale_may_be_given() -> None:
    """One scaled by s is one scaled as usual whose queries are larger."""
    x = torch.randn(2, 5, 16)
    scaled, usual = MultiHeadAttention(16, 4, scale=1.0), MultiHeadAttention(16, 4)
    usual.load_state_dict(
        {
            name: tensor * 2 if name.startswith("query") else tensor  # the usual scale is 1 / sqrt(4)
            for name, tensor in scaled.state_dict().items()
        }
    )
    torch.testing.assert_close(scaled(x, scaled.keys_values(x)).output, usual(x, usual.keys_values(x)).output)


@pytest.mark.parametrize(("width", "count", "head_width"), [(16, 4, 10), (16, 4, 2), (16, 3, 6)])
def test_heads_may_have_any_width(width: int, count: int, head_width: int) -> None:
    attention = MultiHeadAttention(width, count, head_width=head_width)
    x = torch.randn(2, 5, width)
    memory = attention.keys_values(x)
    assert memory.key.shape == (2, count, 5, head_width)
    attended = attention(x, memory, capture=True)
    assert attended.output.shape == (2, 5, width)
    assert attended.weights.shape == (2, count, 5, 5)


@pytest.mark.parametrize(("bias", "output_bias", "expected"), [(True, None, 4), (False, None, 0), (True, False, 3)])
def test_biases_are_chosen(bias: bool, output_bias: bool | None, expected: int) -> None:
    attention = MultiHeadAttention(16, 4, bias=bias, output_bias=output_bias)
    assert sum(name.endswith("bias") for name, _ in attention.named_parameters()) == expected


def test_grouped_heads_equal_repeated_ones() -> None:
    """Two query heads that share a key head give what they give with that key head twice."""
    grouped = MultiHeadAttention(16, 4, key_value_heads=2)
    full = MultiHeadAttention(16, 4)
    full.load_state_dict(
        {
            name: tensor.view(2, 4, -1).repeat_interleave(2, 0).reshape(16, *tensor.shape[1:])
            if name.startswith(("key", "value"))
            else tensor
            for name, tensor in grouped.state_dict().items()
        }
    )
    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(full(x, full.keys_values(x)).output, grouped(x, grouped.keys_values(x)).output)


@pytest.mark.parametrize("memory_width", [16, 12, 40])
def test_cross_attention_between_lengths_and_widths(memory_width: int) -> None:
    attention = MultiHeadAttention(16, 4, memory_width=memory_width)
    output = attention(torch.randn(2, 3, 16), attention.keys_values(torch.randn(2, 9, memory_width)), capture=True)
    assert output.output.shape == (2, 3, 16)
    assert output.weights.shape == (2, 4, 3, 9)


def test_self_attention_is_permutation_equivariant() -> None:
    attention = MultiHeadAttention(16, 4).double()
    x, order = heads(1, 6, 16), torch.randperm(6)
    output = attention(x, attention.keys_values(x)).output
    permuted = attention(x[:, order], attention.keys_values(x[:, order])).output
    torch.testing.assert_close(permuted, output[:, order])


def test_attention_dropout_acts_in_training_alone() -> None:
    attention = MultiHeadAttention(16, 4, dropout=0.5)
    x = torch.randn(1, 6, 16)
    memory = attention.keys_values(x)
    attention.train()
    assert max_difference(attention(x, memory).output, attention(x, memory).output) > 0
    attention.eval()
    assert max_difference(attention(x, memory).output, attention(x, memory).output) == 0


def test_cache_appends_and_selects() -> None:
    one, two = (
        KeyValues(heads(3, 2, 4, 5), heads(3, 2, 4, 5)),
        KeyValues(heads(3, 2, 1, 5), heads(3, 2, 1, 5)),
    )
    both = one.append(two)
    assert (one.length, both.length) == (4, 5)
    chosen = both.select(torch.tensor([2, 0, 2]))
    assert torch.equal(chosen.key[1], both.key[0])
    assert torch.equal(chosen.value[2], both.value[2])


@pytest.mark.parametrize(("width", "count", "groups"), [(10, 4, 4), (12, 4, 3)])
def test_shapes_that_do_not_divide_are_refused(width: int, count: int, groups: int) -> None:
    with pytest.raises(ValueError, match="heads"):
        MultiHeadAttention(width, count, key_value_heads=groups)


def test_scores_are_scaled_by_the_head_width() -> None:
    """Products of unit-variance vectors of width K have variance K; the scaled ones have variance 1."""
    query, key = torch.randn(1, 1, 500, 64), torch.randn(1, 1, 500, 64)
    assert (query @ key.transpose(-2, -1) / math.sqrt(64)).var().item() == pytest.approx(1.0, abs=0.1)
