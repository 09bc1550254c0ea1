"""Feed-forward, Add & Norm, embedding, stacks: each against its formula."""

import math

import pytest
import torch
import torch.nn.functional as F

from headwise.nn.attention import MultiHeadAttention
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.feed_forward import ACTIVATIONS, FeedForward, GatedFeedForward
from headwise.nn.norms import NORM_ORDERS, NORMS, PostNorm, PreNorm
from headwise.nn.stack import Context, Layer, Stack


def test_embedding_is_scaled_and_shares_its_matrix() -> None:
    embedding = TokenEmbedding(11, 16)
    torch.nn.init.normal_(embedding.weight)
    tokens = torch.tensor([[3, 5]])
    torch.testing.assert_close(embedding(tokens), embedding.weight[tokens] * 4)
    output = OutputProjection(embedding.weight)
    hidden = torch.randn(2, 16)
    torch.testing.assert_close(output(hidden), hidden @ embedding.weight.T)


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
    norm = NORMS[name](8)
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
    layer = NORMS["layer"](64)(x)
    torch.testing.assert_close(layer.mean(-1), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(layer.var(-1, unbiased=False), torch.ones(4), atol=1e-3, rtol=0)
    torch.testing.assert_close(NORMS["rms"](64)(x).square().mean(-1), torch.ones(4), atol=1e-3, rtol=0)


@pytest.mark.parametrize("order", NORM_ORDERS)
def test_dropout_is_on_the_sublayer_not_the_residual(order: str) -> None:
    block = NORM_ORDERS[order](torch.nn.Identity(), 0.999).train()
    x = torch.full((1, 1000), 3.0)
    y, _ = block(x, lambda z: (torch.ones_like(z), None))
    assert (y == 3.0).float().mean() > 0.98  # the residual passes untouched where the sublayer was dropped


def layer(causal: bool) -> Layer:
    return Layer(
        MultiHeadAttention(16, 4),
        PostNorm(torch.nn.LayerNorm(16), 0.0),
        FeedForward(16, 32, F.relu),
        PostNorm(torch.nn.LayerNorm(16), 0.0),
        causal=causal,
    )


def test_a_causal_encoder_is_a_decoder_without_cross_attention() -> None:
    """Weight for weight: a non-causal stack under an explicit causal mask gives what a causal stack gives."""
    encoder, decoder = Stack([layer(False), layer(False)]), Stack([layer(True), layer(True)])
    decoder.load_state_dict(encoder.state_dict())
    x = torch.randn(2, 6, 16)
    mask = torch.ones(6, 6, dtype=torch.bool).tril()
    torch.testing.assert_close(encoder(x, Context(mask=mask)).hidden, decoder(x, Context()).hidden)


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
