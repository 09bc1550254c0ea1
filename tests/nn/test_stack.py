"""Layers and stacks of layers."""

import pytest
import torch
import torch.nn.functional as F

from headwise.nn.attention import MultiHeadAttention
from headwise.nn.context import Context
from headwise.nn.feed_forward import FeedForward
from headwise.nn.masks import EVERYTHING, Causal, Pattern, SlidingWindow
from headwise.nn.norms import PostNorm
from headwise.nn.stack import Layer, ParallelLayer, Stack


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
