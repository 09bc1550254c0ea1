"""Feed-forward, Add & Norm, embedding, stacks: each against its formula."""

import math

import pytest
import torch
import torch.nn.functional as F

from headwise.nn.attention import MultiHeadAttention
from headwise.nn.context import Context
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.feed_forward import ACTIVATIONS, FeedForward, GatedFeedForward
from headwise.nn.masks import EVERYTHING, Causal, Pattern, SlidingWindow
from headwise.nn.norms import NORM_ORDERS, NORMS, PostNorm, PreNorm
from headwise.nn.stack import Layer, ParallelLayer, Stack


def test_embedding_is_scaled_and_shares_its_matrix() -> None:
    embedding = TokenEmbedding(11, 16, scale=4.0)
    torch.nn.init.normal_(embedding.weight)
    tokens = torch.tensor([[3, 5]])
    torch.testing.assert_close(embedding(tokens), embedding.weight[tokens] * 4)
    output = OutputProjection(embedding.weight)
    hidden = torch.randn(2, 16)
    torch.testing.assert_close(output(hidden), hidden @ embedding.weight.T)


def test_output_projection_may_have_a_scale_and_a_bias() -> None:
    weight, hidden = torch.nn.Parameter(torch.randn(11, 16)), torch.randn(2, 3, 16)
    output = OutputProjection(weight, bias=True, scale=0.25)
    torch.nn.init.normal_(output.bias)
    torch.testing.assert_close(output(hidden), hidden @ weight.T / 4 + output.bias)


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


def layer(pattern: Pattern = EVERYTHING) -> Layer:
    return Layer(
        MultiHeadAttention(16, 4),
        PostNorm(torch.nn.LayerNorm(16), 0.0),
        FeedForward(16, 32, F.relu),
        PostNorm(torch.nn.LayerNorm(16), 0.0),
        pattern=pattern,
    )


@pytest.mark.parametrize("pattern", [Causal(), SlidingWindow(2)], ids=["causal", "window"])
def test_a_causal_encoder_is_a_decoder_without_cross_attention(pattern: Pattern) -> None:
    """Weight for weight: a stack under an explicit mask gives what a stack of that pattern gives."""
    encoder, decoder = Stack([layer(), layer()]), Stack([layer(pattern), layer(pattern)])
    decoder.load_state_dict(encoder.state_dict())
    x = torch.randn(2, 6, 16)
    mask = pattern.mask(6, 6, x.device)
    torch.testing.assert_close(encoder(x, Context(mask=mask)).hidden, decoder(x, Context()).hidden)


def parallel(shared: bool, dropout: float = 0.0) -> ParallelLayer:
    norm = None if shared else torch.nn.LayerNorm(16)
    made = ParallelLayer(
        MultiHeadAttention(16, 4), torch.nn.LayerNorm(16), FeedForward(16, 32, F.relu), norm, dropout, Causal()
    )
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return made


@pytest.mark.parametrize("shared", [False, True])
def test_parallel_layers_add_both_to_the_same_input(shared: bool) -> None:
    made, x = parallel(shared), torch.randn(2, 5, 16)
    normed = made.self_norm(x)
    attended = made.self_attention(normed, made.self_attention.keys_values(normed), pattern=Causal()).output
    if made.feed_forward_norm is not None:
        normed = made.feed_forward_norm(x)
    torch.testing.assert_close(made(x, Context()).hidden, x + attended + made.feed_forward(normed))


@pytest.mark.parametrize("shared", [False, True])
def test_parallel_layers_continue_from_a_cache(shared: bool) -> None:
    made, x = parallel(shared), torch.randn(2, 5, 16)
    whole = made(x, Context()).hidden
    first = made(x[:, :3], Context())
    torch.testing.assert_close(made(x[:, 3:], Context(), first.cache).hidden, whole[:, 3:])


def test_parallel_layers_drop_what_is_added_alone() -> None:
    made, x = parallel(False, dropout=0.999).train(), torch.randn(1, 50, 16)
    assert (made(x, Context()).hidden == x).float().mean() > 0.98


@pytest.mark.parametrize(("layers", "depth", "order"), [(1, 3, [0, 0, 0]), (2, 4, [0, 0, 1, 1]), (2, 3, [0, 0, 1])])
def test_a_stack_may_use_its_layers_several_times(layers: int, depth: int, order: list[int]) -> None:
    shared = Stack([layer(Causal()) for _ in range(layers)], depth=depth)
    unrolled = Stack([shared.layers[number] for number in order])
    x = torch.randn(2, 5, 16)
    output = shared(x, Context(capture=True))
    torch.testing.assert_close(output.hidden, unrolled(x, Context()).hidden)
    assert len(output.self_weights) == len(output.cache) == depth  # a cache a use, not a layer
    first = shared(x[:, :3], Context())
    torch.testing.assert_close(shared(x[:, 3:], Context(), first.cache).hidden, output.hidden[:, 3:])


def test_cross_attention_without_memory_is_an_error() -> None:
    stack = Stack(
        [
            Layer(
                MultiHeadAttention(16, 4),
                PostNorm(torch.nn.LayerNorm(16), 0.0),
                FeedForward(16, 32, F.relu),
                PostNorm(torch.nn.LayerNorm(16), 0.0),
                MultiHeadAttention(16, 4),
                PostNorm(torch.nn.LayerNorm(16), 0.0),
            )
        ]
    )
    with pytest.raises(ValueError, match="memory"):
        stack(torch.randn(1, 2, 16), Context())


def test_scores_are_scaled_by_the_head_width() -> None:
    """Products of unit-variance vectors of width K have variance K; the scaled ones have variance 1."""
    query, key = torch.randn(1, 1, 500, 64), torch.randn(1, 1, 500, 64)
    assert (query @ key.transpose(-2, -1) / math.sqrt(64)).var().item() == pytest.approx(1.0, abs=0.1)
