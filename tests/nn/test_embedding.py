"""The embedding and the output projection against their formulas."""

import torch

from headwise.nn.embedding import OutputProjection, TokenEmbedding


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
