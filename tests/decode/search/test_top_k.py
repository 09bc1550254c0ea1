"""The largest scores by blocks are those of `topk`."""

import math

import pytest
import torch

from headwise.decode.search.top_k import largest


@pytest.mark.parametrize("width", [5, 700, 1024, 1031])
def test_the_largest_by_blocks_are_the_largest(width: int) -> None:
    generator = torch.Generator().manual_seed(width)
    scores = torch.randn(9, width, generator=generator)
    scores[0] = -math.inf
    scores[1, 3:] = -math.inf
    for count in (1, 2, 5):
        wanted, _ = scores.topk(count)
        values, places = largest(scores, count)
        assert torch.equal(values, wanted)
        assert torch.equal(scores.gather(1, places), wanted)
        assert all(len(set(row)) == count for row in places.tolist())
