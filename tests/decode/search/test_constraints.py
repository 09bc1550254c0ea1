"""Each rule alone: what it bans, and that it leaves the rest as the model said."""

from __future__ import annotations

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headwise.decode.search.constraints import (
    Constraint,
    Forbid,
    ForcedPrefix,
    MinLength,
    NeverStuck,
    NoRepeat,
    SearchStep,
    constrain,
)
from tests.decode.search.table_model import repeats

V = 5


def banned(rules: list[Constraint], history: Tensor, sentences: Tensor | None = None) -> list[set[int]]:
    """The tokens that the rules leave no score; checks that the others keep theirs, and the model its own."""
    given_scores = torch.randn(history.shape[0], V).log_softmax(-1)
    kept = given_scores.clone()
    rows = torch.arange(history.shape[0]) if sentences is None else sentences
    scores = constrain(rules, SearchStep(given_scores, history, rows))
    assert torch.equal(given_scores, kept)
    assert ((scores == given_scores) | (scores == -math.inf)).all()
    return [{token for token in range(V) if row[token] == -math.inf} for row in scores]


@given(
    histories=st.integers(0, 9).flatmap(
        lambda t: st.lists(st.lists(st.integers(0, 4), min_size=t, max_size=t), min_size=1, max_size=4)
    ),
    size=st.integers(1, 4),
)
@settings(max_examples=150, deadline=None)
def test_no_repeat_bans_exactly_what_would_repeat(histories: list[list[int]], size: int) -> None:
    history = torch.tensor(histories, dtype=torch.long).reshape(len(histories), -1)
    for said, bans in zip(histories, banned([NoRepeat(size)], history), strict=True):
        earlier = {tuple(said[place : place + size]) for place in range(len(said) - size + 1)}
        would = {token for token in range(V) if tuple([*said, token][-size:]) in earlier}
        assert bans == would
        if not repeats(said, size):
            assert all(repeats([*said, token], size) == (token in bans) for token in range(V))


def test_forbidden_tokens_are_banned() -> None:
    assert banned([Forbid(torch.tensor([0, 3]))], torch.zeros(2, 4, dtype=torch.long)) == [{0, 3}] * 2


def test_eos_waits_for_the_minimum() -> None:
    assert banned([MinLength(3, eos=1)], torch.zeros(1, 2, dtype=torch.long)) == [{1}]
    assert banned([MinLength(3, eos=1)], torch.zeros(1, 3, dtype=torch.long)) == [set()]


def test_eos_comes_back_only_where_nothing_else_is_left() -> None:
    everything = Forbid(torch.arange(V))
    history = torch.zeros(1, 0, dtype=torch.long)
    assert banned([everything, NeverStuck(eos=1)], history) == [{0, 2, 3, 4}]
    assert banned([Forbid(torch.tensor([0, 1, 2])), NeverStuck(eos=1)], history) == [{0, 1, 2}]


def test_prefixes_of_several_lengths_follow_their_sentences() -> None:
    rule = ForcedPrefix([[4, 0], [], [2]], torch.device("cpu"))
    everything = set(range(V))
    rows = torch.tensor([2, 0, 0, 1])
    start, second = torch.zeros(4, 0, dtype=torch.long), torch.zeros(4, 1, dtype=torch.long)
    assert banned([rule], start, rows) == [everything - {2}, everything - {4}, everything - {4}, set()]
    assert banned([rule], second, rows) == [set(), everything - {0}, everything - {0}, set()]
    assert banned([rule], torch.zeros(4, 2, dtype=torch.long), rows) == [set()] * 4
