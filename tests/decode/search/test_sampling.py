"""Sampling: the right distribution, the model's own scores, and the same draw from the same seed."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from headwise.decode.search.beam import greedy
from headwise.decode.search.hypothesis import length_penalty
from headwise.decode.search.options import SamplingOptions, SearchOptions
from headwise.decode.search.sampling import distribution, sample
from headwise.errors import ConfigError
from tests.decode.search.table_model import EOS, SOS, TableModel, is_close

SEARCH = SearchOptions(SOS, EOS, forbidden=(SOS,), length_penalty=1.0)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_likeliest_token_only_is_greedy() -> None:
    model = TableModel()
    lengths = torch.arange(3, 13)
    drawn = sample(model, model.start(*range(10)), lengths, SEARCH, SamplingOptions(top_k=1))
    wanted = greedy(model, model.start(*range(10)), lengths, SEARCH)
    for [mine], [best] in zip(drawn, wanted, strict=True):
        assert (mine.tokens, mine.score, mine.finished) == (best.tokens, best.score, best.finished)


def test_frequencies_approach_the_models_distribution() -> None:
    model = TableModel()
    draws = 4000
    [found] = sample(
        model, model.start(7), torch.tensor([2]), SearchOptions(SOS, EOS), SamplingOptions(samples=draws),
        generator=seeded(1),
    )  # fmt: skip
    assert len(found) == draws
    counts = Counter((*one.tokens, EOS) if one.finished else tuple(one.tokens) for one in found)
    for said, count in counts.items():
        own = sum(float(model.row((7, SOS, *said[:place]))[token]) for place, token in enumerate(said))
        expected = math.exp(own)
        assert abs(count / draws - expected) < 5 * math.sqrt(expected * (1 - expected) / draws) + 1e-3


def test_scores_are_the_models_whatever_the_temperature() -> None:
    model = TableModel()
    hot = SamplingOptions(temperature=3.0, top_k=3, top_p=0.9, samples=5)
    prefixes = [[2], [3, 4], []]
    found = sample(model, model.start(0, 1, 2), torch.tensor([6, 7, 8]), SEARCH, hot, prefixes, seeded(2))
    assert [len(group) for group in found] == [5, 5, 5]
    for sentence, group in enumerate(found):
        assert [one.score for one in group] == sorted((one.score for one in group), reverse=True)
        for one in group:
            said = one.tokens + [EOS] * one.finished
            own = [float(model.row((sentence, SOS, *said[:place]))[token]) for place, token in enumerate(said)]
            assert is_close(one.log_probability, sum(own))
            assert one.score == length_penalty(one.log_probability, len(said), 1.0)
            assert one.tokens[: len(prefixes[sentence])] == prefixes[sentence]
            assert SOS not in one.tokens


def test_the_same_seed_draws_the_same() -> None:
    model = TableModel()

    def draw(seed: int) -> list[list[int]]:
        found = sample(
            model,
            model.start(*range(8)),
            torch.full((8,), 9),
            SEARCH,
            SamplingOptions(),
            generator=seeded(seed),
        )
        return [one.tokens for [one] in found]

    assert draw(3) == draw(3)
    assert draw(3) != draw(4)


PROBABILITIES = torch.tensor([[0.1, 0.4, 0.05, 0.3, 0.15]])


def kept(**options: float) -> set[int]:
    [row] = distribution(PROBABILITIES.log(), SamplingOptions(**options)).tolist()  # type: ignore[arg-type]
    assert is_close(sum(row), 1.0)
    left = {token for token, probability in enumerate(row) if probability > 0}
    own = {token: float(PROBABILITIES[0, token]) for token in left}
    for token in left:  # what is left keeps its proportions
        assert is_close(row[token], own[token] / sum(own.values()))
    return left


def test_top_p_keeps_the_fewest_tokens_that_hold_it() -> None:
    assert kept(top_p=0.05) == {1}
    assert kept(top_p=0.39) == {1}
    assert kept(top_p=0.6) == {1, 3}
    assert kept(top_p=0.8) == {1, 3, 4}
    assert kept(top_p=0.94) == {0, 1, 3, 4}
    assert kept(top_p=1.0) == {0, 1, 2, 3, 4}


def test_top_k_keeps_the_likeliest() -> None:
    assert kept(top_k=1) == {1}
    assert kept(top_k=3) == {1, 3, 4}
    assert kept(top_k=50) == {0, 1, 2, 3, 4}
    assert kept(top_k=3, top_p=0.6) == {1, 3}  # of the renormalised three, 1 and 3 hold 0.82
    flat = distribution(torch.zeros(1, 6), SamplingOptions(top_k=2))
    assert int((flat > 0).sum()) == 2  # ties too


def test_temperature_sharpens_and_flattens() -> None:
    cold = distribution(PROBABILITIES.log(), SamplingOptions(temperature=0.5))
    assert torch.allclose(cold, PROBABILITIES**2 / (PROBABILITIES**2).sum())
    hot = distribution(PROBABILITIES.log(), SamplingOptions(temperature=1000.0))
    assert torch.allclose(hot, torch.full_like(hot, 0.2), atol=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": 1e-39},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1e-300},
        {"top_p": 1.1},
        {"samples": 0},
    ],
)
def test_options_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        SamplingOptions(**wrong)  # type: ignore[arg-type]
