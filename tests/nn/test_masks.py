"""Which tokens are padding."""

import torch

from headwise.nn.masks import padding_mask, real_tokens


def test_padding_ends_a_row_and_a_padding_id_before_other_tokens_is_text() -> None:
    tokens = torch.tensor([[0, 5, 0, 6, 0, 0], [5, 6, 7, 8, 9, 9], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 7]])
    expected = [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]]
    assert real_tokens(tokens, 0).int().tolist() == expected
    assert torch.equal(padding_mask(tokens, 0)[:, 0, 0], real_tokens(tokens, 0))
