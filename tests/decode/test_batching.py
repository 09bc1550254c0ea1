"""Rows of different lengths in batches."""

from itertools import pairwise

import torch
from hypothesis import given
from hypothesis import strategies as st

from headwise.decode.batching import BATCH_TOKENS, by_budget, padded


@given(lengths=st.lists(st.integers(1, 60), max_size=30), budget=st.integers(1, 200), data=st.data())
def test_every_row_once_in_order_and_no_batch_above_its_budget(
    lengths: list[int], budget: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(lengths))))
    batches = list(by_budget(order, lengths, budget))
    assert [row for batch in batches for row in batch] == order
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget
    for batch, following in pairwise(batches):  # none could have taken one more
        rows = [*batch, following[0]]
        assert len(rows) * max(lengths[row] for row in rows) > budget


def test_the_usual_budget() -> None:
    assert [len(batch) for batch in by_budget(range(5), [BATCH_TOKENS // 2] * 5)] == [2, 2, 1]


def test_padding_at_either_end() -> None:
    rows, cpu = [[5, 6, 7], [8]], torch.device("cpu")
    assert padded(rows, 0, cpu).tolist() == [[5, 6, 7], [8, 0, 0]]
    assert padded(rows, 9, cpu, at_start=True).tolist() == [[5, 6, 7], [9, 9, 8]]
