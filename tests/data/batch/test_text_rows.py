"""Rows of tokens cut from a text."""

import numpy as np
import pytest

from headwise.data.batch.stream import Position, batches_from
from headwise.data.batch.text_rows import RowOrder, TextRowStream, ordered_rows
from headwise.errors import DataError
from tests.data.tiny import token_text


@pytest.mark.parametrize("tokens", [9, 17, 40, 1003])
def test_an_epoch_predicts_every_token_once_but_for_the_two_ends(tokens: int) -> None:
    stream = TextRowStream(token_text(np.arange(tokens)), 8, 24, seed=3)
    offsets = set()
    for epoch in range(6):
        targets: list[int] = []
        for batch, following in batches_from(stream, Position(epoch, 0)):
            assert batch.tokens.diff(dim=1).eq(1).all(), "a row is a piece of the text"
            targets += batch.tokens[:, 1:].flatten().tolist()
            if following.epoch > epoch:
                break
        assert sorted(targets) == list(range(min(targets), max(targets) + 1))
        assert tokens - len(targets) < 3 * 8
        offsets.add(min(targets))
    assert len(offsets) > 1 or tokens == 9


def test_the_order_belongs_to_seed_and_epoch() -> None:
    def starts(seed: int, epoch: int) -> list[int]:
        return RowOrder(1000, 8, 1, seed).starts(epoch).tolist()

    assert starts(1, 0) == starts(1, 0)
    assert starts(1, 0) != starts(1, 1)
    assert starts(1, 0) != starts(2, 0)


def test_a_position_resumes_the_order() -> None:
    stream = TextRowStream(token_text(np.arange(200)), 8, 24, seed=3)
    whole = batches_from(stream)
    taken = [next(whole) for _ in range(25)]
    for number in (0, 5, 7, 8, 20):
        rest = batches_from(stream, taken[number][1])
        for batch, position in taken[number + 1 :]:
            again, after = next(rest)
            assert after == position
            assert again.tokens.equal(batch.tokens)


def test_a_text_shorter_than_a_row_is_refused() -> None:
    with pytest.raises(DataError, match="fewer than one row"):
        TextRowStream(token_text([1, 2, 3]), 8, 24, seed=3)


@pytest.mark.parametrize("tokens", [1, 2, 8, 9, 10, 25, 100])
def test_ordered_rows_predict_every_token_but_the_first(tokens: int) -> None:
    targets = [t for batch in ordered_rows(token_text(np.arange(tokens)), 8, 24) for t in batch.tokens[:, 1:].flatten()]
    assert targets == list(range(1, tokens))
    some = [t for batch in ordered_rows(token_text(np.arange(tokens)), 8, 24, 2) for t in batch.tokens[:, 1:].flatten()]
    assert some == list(range(1, min(tokens, 17)))
