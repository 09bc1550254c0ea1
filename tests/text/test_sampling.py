"""Other segmentations of the same text, from a numpy generator alone."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.text import Tokenizer, normalise
from headwise.text.bpe_dropout import segment
from headwise.text.escape import escape
from headwise.text.subwords import Bpe, Unigram

from .corpus import CORPUS

TEXT = st.text(max_size=30) | st.sampled_from(CORPUS) | st.text("aelo ▁\x10_é窓😀", max_size=60)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(text=TEXT, alpha=st.sampled_from([0.1, 0.5, 1.0]), seed=st.integers(0, 99))
def test_the_text_stays(tokenizers: dict[str, Tokenizer], kind: str, text: str, alpha: float, seed: int) -> None:
    tokenizer = tokenizers[kind]
    ids = tokenizer.sample(tokenizer.encode(text), alpha, 8, np.random.default_rng(seed))
    assert tokenizer.decode(ids) == normalise(text)
    assert not set(ids) & {*tokenizer.specials, tokenizer.eos}
    assert set(tokenizer.word_ids(ids)) == set(range(len(normalise(text).split())))


def test_the_generator_alone_decides(subwords: Tokenizer) -> None:
    def draws(seed: int) -> list[list[int]]:
        rng = np.random.default_rng(seed)
        return [subwords.sample(subwords.encode(text), 0.3, 8, rng) for text in CORPUS]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)


def test_it_does_not_matter_which_segmentation_one_starts_from(subwords: Tokenizer) -> None:
    best = subwords.encode(CORPUS[0])
    rng = np.random.default_rng(0)
    other = next(ids for ids in (subwords.sample(best, 0.5, 8, rng) for _ in range(100)) if ids != best)
    for seed in range(10):
        first, second = np.random.default_rng(seed), np.random.default_rng(seed)
        assert subwords.sample(other, 0.5, 8, first) == subwords.sample(best, 0.5, 8, second)


def test_specials_around_the_text_stay(subwords: Tokenizer) -> None:
    rng = np.random.default_rng(0)
    ids = [subwords.tag("de"), *subwords.encode(CORPUS[0]), subwords.eos]
    samples = [subwords.sample(ids, 0.5, 8, rng) for _ in range(20)]
    assert all(sample[0] == subwords.tag("de") and sample[-1] == subwords.eos for sample in samples)
    assert any(sample != ids for sample in samples)
    assert {subwords.decode(sample) for sample in samples} == {CORPUS[0]}


def test_alpha_zero_and_nothing_to_sample_change_nothing(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(CORPUS[0])
    rng = np.random.default_rng(0)
    assert tokenizer.sample(ids, 0.0, 8, rng) == ids
    assert tokenizer.sample([], 0.5, 8, rng) == []
    assert tokenizer.sample([tokenizer.eos], 0.5, 8, rng) == [tokenizer.eos]
    divided = [*ids, tokenizer.eos, *ids]
    assert tokenizer.sample(divided, 0.5, 8, rng) == divided
    if not isinstance(tokenizer, Unigram | Bpe):
        assert tokenizer.sample(ids, 0.5, 8, rng) == ids


@pytest.mark.parametrize("candidates", [-1, 0, 1])
def test_one_candidate_is_the_best_one(tokenizers: dict[str, Tokenizer], candidates: int) -> None:
    unigram = tokenizers["unigram"]
    rng = np.random.default_rng(0)
    for text in CORPUS[:20]:
        assert unigram.sample(unigram.encode(text), 0.5, candidates, rng) == unigram.encode(text)


def test_more_candidates_than_sentencepiece_lists(tokenizers: dict[str, Tokenizer]) -> None:
    unigram = tokenizers["unigram"]
    ids = unigram.sample(unigram.encode(CORPUS[0]), 0.5, 10_000, np.random.default_rng(0))
    assert unigram.decode(ids) == CORPUS[0]


@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_unigram_draws_in_proportion_to_probability(tokenizers: dict[str, Tokenizer], alpha: float) -> None:
    """Against SentencePiece's own scores of its own list of segmentations."""
    unigram = tokenizers["unigram"]
    assert isinstance(unigram, Unigram)
    ids, count = unigram.encode("the boat"), 4000
    model = unigram._processor
    best = model.nbest_encode("the boat", nbest_size=5, out_type=int)
    weights = [math.exp(alpha * sum(model.get_score(i) for i in each)) for each in best]
    rng = np.random.default_rng(0)
    seen = Counter(tuple(unigram.sample(ids, alpha, 5, rng)) for _ in range(count))
    assert set(seen) <= {tuple(each) for each in best}
    for each, weight in zip(best, weights, strict=True):
        share = weight / sum(weights)
        assert abs(seen[tuple(each)] / count - share) < 4 * math.sqrt(share * (1 - share) / count) + 1e-9


@given(text=TEXT)
def test_bpe_without_dropout_is_sentencepieces_segmentation(tokenizers: dict[str, Tokenizer], text: str) -> None:
    bpe = tokenizers["bpe"]
    assert isinstance(bpe, Bpe)
    plain = normalise(text)
    pieces = segment("▁" + escape(plain).replace(" ", "▁"), bpe._scores, 0.0, []) if plain else []
    assert [i for piece in pieces for i in bpe._ids_of(piece)] == bpe.encode(text)


def test_bpe_with_full_dropout_is_characters(tokenizers: dict[str, Tokenizer]) -> None:
    bpe = tokenizers["bpe"]
    ids = bpe.sample(bpe.encode("the boat"), 1.0, 0, np.random.default_rng(0))
    assert bpe.pieces(ids) == list("▁the▁boat")


def test_more_dropout_makes_more_pieces(tokenizers: dict[str, Tokenizer]) -> None:
    bpe = tokenizers["bpe"]
    rng = np.random.default_rng(0)
    lengths = [
        sum(len(bpe.sample(bpe.encode(text), alpha, 0, rng)) for text in CORPUS) for alpha in (0.0, 0.1, 0.3, 0.7, 1.0)
    ]
    assert lengths == sorted(set(lengths))


@given(text=st.text("ab", max_size=40), dropout=st.floats(0.01, 1), seed=st.integers(0, 999))
def test_segment_never_needs_more_than_three_draws_a_character(text: str, dropout: float, seed: int) -> None:
    scores = {"a" * n + "b" * m: -float(n + m) for n in range(6) for m in range(6) if n + m > 1}
    draws = np.random.default_rng(seed).random(3 * len(text)).tolist()
    assert "".join(segment(text, scores, dropout, draws)) == text


def test_segment_merges_the_best_first_then_the_leftmost() -> None:
    scores = {"ab": -1.0, "bc": 0.0, "aa": 1.0}
    assert segment("abc", scores, 0.0, []) == ["a", "bc"]
    assert segment("aaa", scores, 0.0, []) == ["aa", "a"]
    assert segment("abc", scores, 0.5, [0.4, 0.6]) == ["ab", "c"]
