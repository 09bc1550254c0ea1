"""What is learnt of a language whose every word is known; and the fast way against one that can be read at a glance."""

import random
from collections import defaultdict

import numpy as np
import pytest

from headwise.data.prepare.encoded_corpus import Flat
from headwise.decode.shortlist import ibm_model1 as lexical
from headwise.decode.shortlist.ibm_model1 import LexicalTable, lexical_table

Pairs = list[tuple[list[int], list[int]]]
WORDS = 40
ARTICLE = 90
"""A target token that stems from no source token."""
VOCABULARY = 100


def toy_pairs(count: int, seed: int = 0) -> Pairs:
    """The word s, from 0 on, is 50 + s in the other language, whose sentences are turned round and have an article."""
    chance = random.Random(seed)
    pairs = []
    for _ in range(count):
        source = [chance.randrange(WORDS) for _ in range(chance.randrange(1, 9))]
        pairs.append((source, [ARTICLE, *(50 + word for word in reversed(source))]))
    return pairs


def learnt(pairs: Pairs, vocabulary: int = VOCABULARY, best: int = 100, **options: object) -> LexicalTable:
    sides = (Flat.of([pair[side] for pair in pairs], np.dtype("i4")) for side in (0, 1))
    return lexical_table(*sides, vocabulary, best=best, **options)  # type: ignore[arg-type]


def slow_table(pairs: Pairs, iterations: int) -> dict[tuple[int | None, int], float]:
    """IBM Model 1 over sets of tokens, from counts of tokens that stand in one pair on: p(target | source)."""

    def normalised(weights: dict[tuple[int | None, int], float]) -> dict[tuple[int | None, int], float]:
        totals: dict[int | None, float] = defaultdict(float)
        for (source, _), weight in weights.items():
            totals[source] += weight
        return {key: weight / totals[key[0]] for key, weight in weights.items()}

    sets: list[tuple[list[int | None], set[int]]] = [([*set(source), None], set(target)) for source, target in pairs]
    weights: dict[tuple[int | None, int], float] = defaultdict(float)
    for sources, targets in sets:
        for target in targets:
            for source in sources:
                weights[source, target] += 1
    for _ in range(iterations):
        chances, weights = normalised(weights), defaultdict(float)
        for sources, targets in sets:
            for target in targets:
                total = sum(chances[source, target] for source in sources)
                for source in sources:
                    weights[source, target] += chances[source, target] / total
    return normalised(weights)


def test_each_word_has_its_translation_first() -> None:
    table = learnt(toy_pairs(2000), iterations=4)
    for word in range(WORDS):
        assert table.of(word)[0] == 50 + word
        assert table.probabilities[table.offsets[word]] > 0.9
    assert all(not len(table.of(token)) for token in range(WORDS, VOCABULARY))  # they are in no source


def test_what_all_may_say_takes_no_place_and_no_word_has_more_than_asked_for() -> None:
    table = learnt(toy_pairs(500), best=3, skip=np.array([ARTICLE, 50]))
    assert np.diff(table.offsets).max() == 3
    assert not np.isin(table.targets, [ARTICLE, 50]).any()
    assert table.of(1)[0] == 51


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_it_is_model_1(iterations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "SELDOM", 0.0)
    monkeypatch.setattr(lexical, "UNLIKELY", 0.0)
    pairs = toy_pairs(60, seed=1)
    table, slow = learnt(pairs, iterations=iterations, least=0.0), slow_table(pairs, iterations)
    found = {
        (source, int(target)): float(chance)
        for source in range(VOCABULARY)
        for target, chance in zip(
            table.of(source), table.probabilities[table.offsets[source] : table.offsets[source + 1]], strict=True
        )
    }
    wanted = {key: chance for key, chance in slow.items() if key[0] is not None}
    assert found.keys() == wanted.keys()
    assert all(found[key] == pytest.approx(wanted[key], rel=1e-4) for key in wanted)
    for source in range(WORDS):  # likeliest first
        chances = table.probabilities[table.offsets[source] : table.offsets[source + 1]]
        assert (np.diff(chances) <= 0).all()


@pytest.mark.parametrize(("cells", "entries"), [(1, 1), (250, 1 << 20), (1 << 23, 40)])
def test_blocks_of_any_size_give_the_same(cells: int, entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = learnt(toy_pairs(200))
    monkeypatch.setattr(lexical, "BLOCK_CELLS", cells)
    monkeypatch.setattr(lexical, "BLOCK_ENTRIES", entries)
    told: list[tuple[int, int]] = []
    parts = learnt(toy_pairs(200), progress=lambda done, total: told.append((done, total)))
    assert np.array_equal(parts.offsets, whole.offsets)
    assert np.array_equal(parts.targets, whole.targets)
    assert np.allclose(parts.probabilities, whole.probabilities, rtol=1e-5)
    total = told[-1][1]
    assert told == [(done, total) for done in range(total + 1)]
    assert total > 2 * (lexical.ITERATIONS + 1)


def test_chance_is_left_out() -> None:
    """A word in ten thousand pairs, one of which has a stray target."""
    table = learnt([([1], [51])] * 10_000 + [([1], [51, 70])])
    assert table.of(1).tolist() == [51]
    assert learnt([([1], [51])] * 10 + [([1], [51, 70])]).of(1).tolist() == [51, 70]


def test_one_pair_is_enough() -> None:
    table = learnt([([3, 3, 4], [60, 60])])
    assert table.of(3).tolist() == table.of(4).tolist() == [60]
