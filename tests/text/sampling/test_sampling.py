"""Other segmentations of the same text, from a numpy generator alone."""

import math
import pickle
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.text.escape import escape
from headwise.text.normalise import normalise
from headwise.text.sampling import bpe_dropout
from headwise.text.sampling import unigram as unigram_sampling
from headwise.text.sampling.bpe_dropout import segment
from headwise.text.tokenizer import Tokenizer
from headwise.text.trained.subwords import Bpe, Unigram
from tests.text.corpus import CORPUS, sample

TEXT = st.text(max_size=30) | st.sampled_from(CORPUS) | st.text("aelo ▁\x10_é窓😀", max_size=60)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(text=TEXT, alpha=st.sampled_from([0.1, 0.5, 1.0]), seed=st.integers(0, 99))
def test_the_text_stays(tokenizers: dict[str, Tokenizer], kind: str, text: str, alpha: float, seed: int) -> None:
    tokenizer = tokenizers[kind]
    ids = sample(tokenizer, tokenizer.encode(text), alpha, 8, np.random.default_rng(seed))
    assert tokenizer.decode(ids) == normalise(text)
    assert not set(ids) & {*tokenizer.specials, tokenizer.eos}
    assert set(tokenizer.word_ids(ids)) == set(range(len(normalise(text).split())))


def test_the_generator_alone_decides(subwords: Tokenizer) -> None:
    def draws(seed: int) -> list[list[int]]:
        rng = np.random.default_rng(seed)
        return [sample(subwords, subwords.encode(text), 0.3, 8, rng) for text in CORPUS]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)


def test_it_does_not_matter_which_segmentation_one_starts_from(subwords: Tokenizer) -> None:
    best = subwords.encode(CORPUS[0])
    rng = np.random.default_rng(0)
    other = next(ids for ids in (sample(subwords, best, 0.5, 8, rng) for _ in range(100)) if ids != best)
    for seed in range(10):
        first, second = np.random.default_rng(seed), np.random.default_rng(seed)
        assert sample(subwords, other, 0.5, 8, first) == sample(subwords, best, 0.5, 8, second)


def test_kinds_with_one_segmentation_keep_it(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(CORPUS[0])
    samples = [sample(tokenizer, ids, 0.5, 8, np.random.default_rng(seed)) for seed in range(20)]
    assert any(each != ids for each in samples) == isinstance(tokenizer, Unigram | Bpe)


@pytest.mark.parametrize("candidates", [-1, 0, 1])
def test_one_candidate_is_the_best_one(tokenizers: dict[str, Tokenizer], candidates: int) -> None:
    unigram = tokenizers["unigram"]
    rng = np.random.default_rng(0)
    for text in CORPUS[:20]:
        assert sample(unigram, unigram.encode(text), 0.5, candidates, rng) == unigram.encode(text)


def test_more_candidates_than_sentencepiece_lists(tokenizers: dict[str, Tokenizer]) -> None:
    unigram = tokenizers["unigram"]
    ids = sample(unigram, unigram.encode(CORPUS[0]), 0.5, 10_000, np.random.default_rng(0))
    assert unigram.decode(ids) == CORPUS[0]


def all_segmentations(unigram: Unigram, text: str) -> list[list[int]]:
    """Every way to put a text, words after ▁, together from pieces."""
    model = unigram._processor
    pieces = {model.id_to_piece(i): i for i in range(unigram.size) if not unigram.is_special(i)}
    found: list[list[list[int]]] = [[[]], *([] for _ in text)]
    for end in range(1, len(text) + 1):
        for start in range(end):
            if text[start:end] in pieces:
                found[end] += [[*before, pieces[text[start:end]]] for before in found[start]]
    return found[-1]


@pytest.mark.parametrize(("text", "candidates"), [("the boat", 5), ("boat", 512), ("a", 16), ("see the sea", 16)])
@pytest.mark.parametrize("alpha", [1e-6, 0.2, 1.0])
def test_unigram_draws_in_proportion_to_probability(
    tokenizers: dict[str, Tokenizer], text: str, candidates: int, alpha: float
) -> None:
    """Against all segmentations that there are, of which the best are drawn."""
    unigram, count = tokenizers["unigram"], 20_000
    assert isinstance(unigram, Unigram)
    every = all_segmentations(unigram, "▁" + text.replace(" ", "▁"))
    every.sort(key=lambda ids: -sum(unigram._processor.get_score(i) for i in ids))
    best = [tuple(ids) for ids in every[:candidates]]
    weights = np.exp([alpha * sum(unigram._processor.get_score(i) for i in ids) for ids in best])
    ids = np.tile(unigram.encode(text), count)
    keys = np.random.default_rng(0).integers(2**64, size=count, dtype=np.uint64)
    drawn, sizes = unigram.sample_batch(ids, np.full(count, len(ids) // count), alpha, candidates, keys)
    seen = Counter(tuple(each.tolist()) for each in np.split(drawn, np.cumsum(sizes)[:-1]))
    assert set(seen) <= set(best)
    for each, share in zip(best, weights / weights.sum(), strict=True):
        assert abs(seen[each] / count - share) < 4.5 * math.sqrt(share * (1 - share) / count) + 1e-9


@given(texts=st.lists(TEXT.filter(normalise), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_many_texts_are_drawn_as_each_alone(tokenizers: dict[str, Tokenizer], texts: list[str], seed: int) -> None:
    keys = np.random.default_rng(seed).integers(2**64, size=len(texts), dtype=np.uint64)
    for kind in ("unigram", "bpe"):
        tokenizer = tokenizers[kind]
        encoded = [np.array(ids) for ids in tokenizer.encode_batch(texts)]
        sizes = np.array([len(ids) for ids in encoded])
        together, lengths = tokenizer.sample_batch(np.concatenate(encoded), sizes, 0.3, 8, keys)
        alone = [
            tokenizer.sample_batch(ids, np.array([len(ids)]), 0.3, 8, keys[n : n + 1])[0].tolist()
            for n, ids in enumerate(encoded)
        ]
        assert [each.tolist() for each in np.split(together, np.cumsum(lengths)[:-1])] == alone


def test_what_is_forgotten_is_drawn_again_alike(
    tokenizers: dict[str, Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    def draws(kind: str) -> list[list[int]]:
        rng = np.random.default_rng(0)
        fresh = pickle.loads(pickle.dumps(tokenizers[kind]))
        return [sample(fresh, fresh.encode(text), 0.3, 8, rng) for text in CORPUS]

    kept = [draws(kind) for kind in ("unigram", "bpe")]
    monkeypatch.setattr(unigram_sampling, "CELLS", 100)
    monkeypatch.setattr(bpe_dropout, "WORDS", 10)
    assert [draws(kind) for kind in ("unigram", "bpe")] == kept


@given(text=TEXT)
def test_bpe_without_dropout_is_sentencepieces_segmentation(tokenizers: dict[str, Tokenizer], text: str) -> None:
    bpe = tokenizers["bpe"]
    assert isinstance(bpe, Bpe)
    plain = normalise(text)
    pieces = segment("▁" + escape(plain).replace(" ", "▁"), bpe._scores, 0.0, []) if plain else []
    assert [i for piece in pieces for i in bpe._ids_of(piece)] == bpe.encode(text)


def outcomes(text: str, scores: Mapping[str, float], dropout: float) -> dict[tuple[str, ...], float]:
    """Every segmentation that dropout can give, with its probability: all ways in which the draws can fall."""
    found: Counter[tuple[str, ...]] = Counter()
    begun: list[list[float]] = [[]]
    while begun:
        draws = begun.pop()
        try:
            pieces = segment(text, scores, dropout, draws)
        except StopIteration:  # one more is needed
            begun += [[*draws, 0.0], [*draws, 1.0]]
        else:
            dropped = draws.count(0.0)
            found[tuple(pieces)] += dropout**dropped * (1 - dropout) ** (len(draws) - dropped)
    return found


@pytest.mark.parametrize("word", ["boat", "a", "green"])
def test_bpe_drops_as_often_as_it_should(tokenizers: dict[str, Tokenizer], word: str) -> None:
    bpe, count = tokenizers["bpe"], 20_000
    assert isinstance(bpe, Bpe)
    exact = outcomes(f"▁{word}", bpe._scores, 0.3)
    assert sum(exact.values()) == pytest.approx(1)
    ids = np.tile(bpe.encode(word), count)
    keys = np.random.default_rng(0).integers(2**64, size=count, dtype=np.uint64)
    drawn, sizes = bpe.sample_batch(ids, np.full(count, len(ids) // count), 0.3, 0, keys)
    seen = Counter(tuple(bpe.pieces(each.tolist())) for each in np.split(drawn, np.cumsum(sizes)[:-1]))
    assert set(seen) <= set(exact)
    for pieces, share in exact.items():
        assert abs(seen[pieces] / count - share) < 4.5 * math.sqrt(share * (1 - share) / count) + 1e-9


def test_bpe_with_full_dropout_is_characters(tokenizers: dict[str, Tokenizer]) -> None:
    bpe = tokenizers["bpe"]
    ids = sample(bpe, bpe.encode("the boat"), 1.0, 0, np.random.default_rng(0))
    assert bpe.pieces(ids) == list("▁the▁boat")


def test_more_dropout_makes_more_pieces(tokenizers: dict[str, Tokenizer]) -> None:
    bpe = tokenizers["bpe"]
    rng = np.random.default_rng(0)
    lengths = [
        sum(len(sample(bpe, bpe.encode(text), alpha, 0, rng)) for text in CORPUS) for alpha in (0.0, 0.1, 0.3, 0.7, 1.0)
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
