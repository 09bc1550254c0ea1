"""Greedy and beam search against brute force on table models, and the properties both must keep."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headwise.decode.search import beam as search
from headwise.decode.search.beam import _beam_search, beam_search, greedy
from headwise.decode.search.hypothesis import Hypothesis, length_penalty
from headwise.decode.search.options import SamplingOptions, SearchOptions
from headwise.decode.search.sampling import sample
from headwise.errors import ConfigError, HeadwiseError
from tests.decode.search.table_model import EOS, SOS, Found, State, TableModel, is_close, repeats, slow_beam

ALPHAS = (0.0, 0.6, 1.0, 2.0, -0.5)


def limits(*lengths: int) -> Tensor:
    return torch.tensor(lengths)


def plain(found: list[Hypothesis]) -> list[Found]:
    return [(one.tokens, one.score, one.finished) for one in found]


def same(left: list[list[Hypothesis]], right: list[list[Hypothesis]]) -> None:
    assert [plain(found) for found in left] == [plain(found) for found in right]
    for mine, other in zip(chain(*left), chain(*right), strict=True):
        assert mine.log_probability == other.log_probability


def test_the_length_penalty_divides_by_a_power_of_the_length() -> None:
    assert length_penalty(-6.0, 4, 0.0) == -6.0
    assert length_penalty(-6.0, 4, 1.0) == -1.5
    assert length_penalty(-6.0, 4, 0.5) == -3.0


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("nbest", [1, 7])
def test_a_wide_beam_is_brute_force(alpha: float, nbest: int) -> None:
    model = TableModel()
    options = SearchOptions(SOS, EOS, beam=200, nbest=nbest, length_penalty=alpha, forbidden=(SOS,))
    for sentence in range(6):
        [found] = beam_search(model, model.start(sentence), limits(4), options)
        assert plain(found) == slow_beam(model, sentence, 4, options, [], None)


@given(
    sentence=st.integers(0, 10**6),
    alpha=st.sampled_from(ALPHAS),
    nbest=st.integers(1, 40),
    prefix=st.lists(st.integers(2, 4), max_size=3),
    limit=st.integers(3, 4),
    min_length=st.integers(0, 3),
    no_repeat=st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_a_wide_beam_is_brute_force_under_every_constraint(
    sentence: int, alpha: float, nbest: int, prefix: list[int], limit: int, min_length: int, no_repeat: int
) -> None:
    model = TableModel()
    options = SearchOptions(SOS, EOS, 200, nbest, alpha, min_length, no_repeat, forbidden=(SOS, 3))
    if no_repeat == 1:  # with one-token n-grams all can be banned before the minimum: another test's subject
        options = SearchOptions(SOS, EOS, 200, nbest, alpha, 0, no_repeat, forbidden=(SOS, 3))
    [found] = beam_search(model, model.start(sentence), limits(limit), options, [prefix])
    assert plain(found) == slow_beam(model, sentence, limit, options, prefix, None)


@given(
    beam=st.integers(2, 6),
    nbest=st.integers(1, 6),
    alpha=st.sampled_from(ALPHAS),
    sentences=st.lists(st.integers(0, 10**6), min_size=1, max_size=4),
    prefix=st.lists(st.integers(2, 6), max_size=3),
    no_repeat=st.sampled_from([0, 2, 3]),
)
@settings(max_examples=80, deadline=None)
def test_a_narrow_beam_is_its_slow_definition(
    beam: int, nbest: int, alpha: float, sentences: list[int], prefix: list[int], no_repeat: int
) -> None:
    model = TableModel(vocabulary=7)
    options = SearchOptions(SOS, EOS, beam, min(beam, nbest), alpha, 1, no_repeat, forbidden=(SOS,))
    lengths = [3 + place * 2 for place in range(len(sentences))]
    prefixes = [prefix[:place] for place in range(len(sentences))]
    together = beam_search(model, model.start(*sentences), limits(*lengths), options, prefixes)
    for found, sentence, length, forced in zip(together, sentences, lengths, prefixes, strict=True):
        assert plain(found) == slow_beam(model, sentence, length, options, forced, beam)


def test_fewer_ends_than_nbest_are_filled_with_unfinished_ones() -> None:
    model = TableModel()
    options = SearchOptions(SOS, EOS, beam=100, nbest=30, forbidden=(SOS,))
    [found] = beam_search(model, model.start(3), limits(3), options)
    ended = [one.finished for one in found]
    assert ended == [True] * 13 + [False] * 17  # 1 + 3 + 9 ways to end within three steps
    assert all(len(one.tokens) == 3 for one in found if not one.finished)
    [few] = beam_search(model, model.start(3), limits(3), SearchOptions(SOS, EOS, 100, 13, forbidden=(SOS,)))
    assert all(one.finished for one in few)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("beam", [1, 2, 3, 5])
def test_stopping_early_changes_nothing(alpha: float, beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for nbest in {1, beam}:
        options = SearchOptions(SOS, EOS, beam, nbest, alpha, forbidden=(SOS,))
        sentences, lengths = list(range(12)), limits(*[4 + sentence % 7 for sentence in range(12)])
        stopping, patient = TableModel(sharpness=2.5), TableModel(sharpness=2.5)
        early = _beam_search(stopping, stopping.start(*sentences), lengths, options, None)
        with monkeypatch.context() as patch:
            patch.setattr(search, "best_attainable", lambda *_: math.inf)
            late = _beam_search(patient, patient.start(*sentences), lengths, options, None)
        same(early, late)
        if alpha <= 0.6 and nbest == 1:  # a high alpha rewards length so much that nothing may be sure early
            assert sum(stopping.steps) < sum(patient.steps)


@given(
    sentence=st.integers(0, 10**6),
    beam=st.integers(2, 5),
    nbest=st.integers(1, 5),
    alpha=st.sampled_from(ALPHAS),
    sharpness=st.floats(0.5, 4),
)
@settings(max_examples=80, deadline=None)
def test_the_usual_stop_is_no_later_and_finds_nothing_better(
    sentence: int, beam: int, nbest: int, alpha: float, sharpness: float
) -> None:
    """Where length is not rewarded, nothing that goes on can overtake what has ended: there the two are one."""
    patient, usual = TableModel(sharpness=sharpness), TableModel(sharpness=sharpness)
    options = SearchOptions(SOS, EOS, beam, min(beam, nbest), alpha, forbidden=(SOS,))
    [exact] = beam_search(patient, patient.start(sentence), limits(12), options)
    [found] = beam_search(usual, usual.start(sentence), limits(12), replace(options, exact=False))
    assert len(usual.steps) <= len(patient.steps)
    assert len(found) == len(exact)
    if alpha <= 0:
        assert plain(found) == plain(exact)
    for mine, best in zip(found, exact, strict=True):
        assert (mine.finished, mine.score) <= (best.finished, best.score)


def test_the_usual_stop_is_earlier_where_length_is_rewarded() -> None:
    options = SearchOptions(SOS, EOS, beam=4, length_penalty=1.0, forbidden=(SOS,))
    patient, usual = TableModel(sharpness=2.5), TableModel(sharpness=2.5)
    exact = beam_search(patient, patient.start(*range(20)), limits(*[30] * 20), options)
    found = beam_search(usual, usual.start(*range(20)), limits(*[30] * 20), replace(options, exact=False))
    assert sum(usual.steps) < sum(patient.steps) / 2
    assert sum(plain(mine) == plain(best) for mine, best in zip(found, exact, strict=True)) > 10


@given(
    total=st.floats(-50, 0),
    drops=st.lists(st.floats(-5, 0), min_size=1, max_size=8),
    length=st.integers(1, 9),
    spare=st.integers(0, 5),
    alpha=st.floats(-2, 2),
)
def test_the_bound_holds(total: float, drops: list[float], length: int, spare: int, alpha: float) -> None:
    limit = length + len(drops) + spare
    ended = length_penalty(total + sum(drops), length + len(drops), alpha)
    bound = search.best_attainable(total, length, limit, alpha)
    assert ended <= bound + 1e-9 * abs(bound)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_beam_of_one_is_greedy(alpha: float) -> None:
    model = TableModel()
    options = SearchOptions(SOS, EOS, length_penalty=alpha, forbidden=(SOS,), no_repeat=2)
    lengths = limits(*range(3, 23))
    one = greedy(model, model.start(*range(20)), lengths, options)
    same(beam_search(model, model.start(*range(20)), lengths, options), one)
    if alpha == 0:
        same(_beam_search(model, model.start(*range(20)), lengths, options, None), one)


def test_greedy_takes_the_likeliest_token() -> None:
    model = TableModel()
    [[found]] = greedy(model, model.start(5), limits(12), SearchOptions(SOS, EOS))
    tokens: list[int] = []
    while len(tokens) < 12 and EOS not in tokens:
        tokens.append(int(model.row((5, SOS, *tokens)).argmax()))
    assert found.tokens + [EOS] * found.finished == tokens


@pytest.mark.parametrize("beam", [1, 2, 4])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_batch_gives_what_each_sentence_alone_gives(beam: int, alpha: float) -> None:
    model = TableModel(vocabulary=7)
    options = SearchOptions(SOS, EOS, beam, min(beam, 3), alpha, no_repeat=2, min_length=1, forbidden=(SOS,))
    sentences = list(range(15))
    lengths = [3 + sentence % 9 for sentence in sentences]
    prefixes = [[2, 3, 4][: sentence % 4] for sentence in sentences]
    together = beam_search(model, model.start(*sentences), limits(*lengths), options, prefixes)
    for sentence in sentences:
        alone = beam_search(model, model.start(sentence), limits(lengths[sentence]), options, [prefixes[sentence]])
        same([together[sentence]], alone)


def test_finished_sentences_leave_the_batch() -> None:
    model = TableModel()
    beam_search(model, model.start(0, 1, 2), limits(2, 4, 6), SearchOptions(SOS, EOS, 3, 3, min_length=9))
    assert model.steps == [3, 9, 6, 6, 3, 3]


@given(
    beam=st.integers(1, 4),
    alpha=st.sampled_from(ALPHAS),
    seed=st.integers(0, 10**6),
    prefix=st.lists(st.integers(2, 4), max_size=4),
    no_repeat=st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_hypotheses_are_consistent(beam: int, alpha: float, seed: int, prefix: list[int], no_repeat: int) -> None:
    model = TableModel()
    options = SearchOptions(SOS, EOS, beam, beam, alpha, no_repeat=no_repeat, forbidden=(SOS, 4))
    [found] = beam_search(model, model.start(seed), limits(8), options, [prefix])
    assert 1 <= len(found) <= beam
    assert len({tuple(one.tokens) for one in found}) == len(found)
    assert all(left.finished > right.finished or left.score >= right.score for left, right in pairwise(found))
    for one in found:
        said = one.tokens + [EOS] * one.finished
        rows = [model.row((seed, SOS, *said[:place])) for place in range(len(said))]
        own = [float(row[token]) for row, token in zip(rows, said, strict=True)]
        assert is_close(one.log_probability, sum(own))
        assert one.score == length_penalty(one.log_probability, len(said), alpha)
        assert one.tokens[: len(prefix)] == prefix
        assert EOS not in one.tokens
        assert not {SOS, 4} & set(one.tokens[len(prefix) :])
        assert one.finished or len(one.tokens) == 8
        if no_repeat and not repeats(prefix, no_repeat):
            assert not repeats(one.tokens, no_repeat)


@pytest.mark.parametrize("beam", [1, 3])
def test_when_everything_is_banned_eos_ends_it(beam: int) -> None:
    model = TableModel()
    options = SearchOptions(SOS, EOS, beam, no_repeat=1, min_length=50, forbidden=(SOS,))
    [[found, *_]] = beam_search(model, model.start(1), limits(60), options)
    assert sorted(found.tokens) == [2, 3, 4]
    assert found.finished


@pytest.mark.parametrize("beam", [1, 2])
def test_a_forced_prefix_overrides_other_rules_and_counts(beam: int) -> None:
    model = TableModel()
    options = SearchOptions(SOS, EOS, beam, no_repeat=1, forbidden=(SOS, 3))
    found = beam_search(model, model.start(1, 2), limits(5, 5), options, [[3, 3, SOS], []])
    assert found[0][0].tokens[:3] == [3, 3, SOS]
    written = found[0][0].tokens + [EOS] * found[0][0].finished
    own = [float(model.row((1, SOS, *written[:position]))[token]) for position, token in enumerate(written)]
    assert is_close(found[0][0].log_probability, sum(own))
    assert 3 not in found[1][0].tokens


class GivenThree(TableModel):
    """The table model, whose decoder has been given token 3 after `<sos>`."""

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        if bool((tokens == SOS).all()):
            _, state = super().step(tokens, state)
            tokens = torch.full_like(tokens, 3)
        return super().step(tokens, state)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_language_code_counts_neither_in_log_probability_nor_in_length(beam: int, exact: bool, alpha: float) -> None:
    options = SearchOptions(SOS, EOS, beam, beam, alpha, unscored=1, forbidden=(SOS,), exact=exact)
    for sentence in range(20):
        model, after = TableModel(), GivenThree()
        [found] = beam_search(model, model.start(sentence), limits(7), options, [[3]])
        [wanted] = beam_search(after, after.start(sentence), limits(6), replace(options, unscored=0))
        assert [(one.tokens[1:], one.score, one.log_probability) for one in found] == [
            (one.tokens, one.score, one.log_probability) for one in wanted
        ]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("beam", [1, 3])
def test_a_gpu_gives_the_same(beam: int) -> None:
    model, there = TableModel(), TableModel(device="cuda")
    options = SearchOptions(SOS, EOS, beam, beam, 0.6, 1, 2, forbidden=(SOS,))
    lengths, prefixes = limits(4, 7, 9), [[2], [], [3, 3]]
    here = beam_search(model, model.start(0, 1, 2), lengths, options, prefixes)
    same(beam_search(there, there.start(0, 1, 2), lengths.cuda(), options, prefixes), here)
    greediest = SamplingOptions(top_k=1)
    generator = torch.Generator().manual_seed(0)
    drawn = sample(there, there.start(0, 1, 2), lengths.cuda(), options, greediest, prefixes, generator)
    same(drawn, greedy(model, model.start(0, 1, 2), lengths, options, prefixes))


def test_no_sentences_give_no_hypotheses() -> None:
    model = TableModel()
    for beam in (1, 2):
        empty = torch.zeros(0, dtype=torch.long)
        assert beam_search(model, model.start(), empty, SearchOptions(SOS, EOS, beam)) == []


@pytest.mark.parametrize("value", [math.nan, -math.inf])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_model_without_a_next_token_is_an_error(value: float, beam: int) -> None:
    model = TableModel()
    model.table[1, SOS] = torch.full((5,), value)
    with pytest.raises(HeadwiseError, match="no possible next token"):
        beam_search(model, model.start(0, 1), limits(4, 4), SearchOptions(SOS, EOS, beam))


@pytest.mark.parametrize("beam", [1, 3])
def test_impossible_tokens_are_never_said(beam: int) -> None:
    model = TableModel()
    model.table[1, SOS] = torch.tensor([-math.inf, -math.inf, 0.0, -math.inf, -math.inf])
    [found] = beam_search(model, model.start(1), limits(4), SearchOptions(SOS, EOS, beam, beam))
    assert all(one.tokens[0] == 2 and one.log_probability > -math.inf for one in found)


def test_what_cannot_be_searched_is_refused() -> None:
    model = TableModel()
    for wrong in ({"beam": 0}, {"beam": 10**9}, {"nbest": 2}, {"nbest": 0}, {"no_repeat": -1}, {"forbidden": (EOS,)}):
        with pytest.raises(ConfigError):
            SearchOptions(SOS, EOS, **wrong)
    for length, prefixes in ((0, None), (2, [[2, 2, 2]]), (4, [[EOS]]), (4, [[99]]), (4, [[2], [2]])):
        with pytest.raises(ConfigError):
            greedy(model, model.start(1), limits(length), SearchOptions(SOS, EOS), prefixes)
