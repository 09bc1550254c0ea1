import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headwise.data.batch.padded_pairs import PaddedBatch, PaddedPairStream, ordered_pairs
from headwise.data.batch.plan import cut
from headwise.data.batch.stream import Position, batches_from
from headwise.data.prepare.encoded_corpus import EncodedCorpus, gather, run_indices
from headwise.data.prepare.result import TrainCorpus
from headwise.errors import ConfigError, DataError
from headwise.text.tokenizer import Ids, Keys
from tests.data import tiny
from tests.data.conftest import Encode

TOKENS = tiny.make(["de", "fr"])


def lengths(count: int, seed: int = 0) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    base = rng.integers(1, 30, count)
    return [(int(n), int(max(1, n + rng.integers(-3, 4)))) for n in base]


def stream(
    *corpora: EncodedCorpus, weights: tuple[float, ...] = (), budget: int = 200, **more: object
) -> PaddedPairStream:
    weights = weights or (1.0,) * len(corpora)
    languages = ["de", "fr"] * len(corpora)
    each = [
        TrainCorpus(corpus, weight, "en", language)
        for corpus, weight, language in zip(corpora, weights, languages, strict=False)
    ]
    options = {"seed": 3, "pool": 100, **more}
    return PaddedPairStream(each, TOKENS, budget, **options)  # type: ignore[arg-type]


def epoch(batches: PaddedPairStream, number: int) -> list[PaddedBatch]:
    made = []
    for batch, after in batches_from(batches, Position(number)):
        made.append(batch)
        if after.epoch != number:
            return made
    raise AssertionError("the stream ended")


def same(left: PaddedBatch, right: PaddedBatch) -> bool:
    return (
        torch.equal(left.source, right.source)
        and torch.equal(left.target, right.target)
        and left.examples == right.examples
    )


def expected_row(ids: list[int], first: int, width: int) -> list[int]:
    row = [first, *ids, TOKENS.eos]
    return row + [TOKENS.pad] * (width - len(row))


def test_rows_are_the_examples_with_special_tokens(encode: Encode) -> None:
    corpora = [encode(lengths(70)), encode(lengths(30, seed=1))]
    for batch in epoch(stream(*corpora), 0):
        assert batch.source.dtype == batch.target.dtype == torch.int64
        assert len(batch) == len(batch.source) == len(batch.target)
        for row, (corpus, index) in enumerate(batch.examples):
            source, target = (side.tolist() for side in corpora[corpus][index])
            tag = TOKENS.tag(["de", "fr"][corpus])
            assert batch.source[row].tolist() == expected_row(source, tag, batch.source.shape[1])
            assert batch.target[row].tolist() == expected_row(target, TOKENS.sos, batch.target.shape[1])
        assert batch.source_tokens == int((batch.source != TOKENS.pad).sum())
        assert batch.target_tokens == int((batch.target[:, 1:] != TOKENS.pad).sum())
        assert (batch.source != TOKENS.pad).any(0).all()
        assert (batch.target != TOKENS.pad).any(0).all()


def test_without_tags_a_source_starts_with_its_ids(encode: Encode) -> None:
    corpus = encode([(3, 2)])
    plain = PaddedPairStream([TrainCorpus(corpus, 1.0, "en", "de")], tiny.make(), 100, 1)
    batch, _ = next(batches_from(plain))
    assert batch.source.tolist() == [[*corpus[0][0].tolist(), TOKENS.eos]]
    with pytest.raises(ConfigError, match="no language 'xx'"):
        PaddedPairStream([TrainCorpus(corpus, 1.0, "en", "xx")], TOKENS, 100, 1)


def test_an_epoch_has_every_example_once_within_the_budget(encode: Encode) -> None:
    sizes = (330, 90)
    batches = stream(*(encode(lengths(size, seed=size)) for size in sizes))
    for number in range(2):
        made = epoch(batches, number)
        assert len(made) == len(list(batches.epoch(number)))
        seen = Counter(example for batch in made for example in batch.examples)
        assert seen == {(corpus, i): 1 for corpus, size in enumerate(sizes) for i in range(size)}
        assert all(len(b) * max(b.source.shape[1], b.target.shape[1]) <= 200 for b in made)


def test_an_overlong_pair_makes_its_own_batch(encode: Encode) -> None:
    made = epoch(stream(encode([(5, 5)] * 20 + [(300, 4), (4, 300)])), 0)
    over = [batch for batch in made if len(batch) * max(batch.source.shape[1], batch.target.shape[1]) > 200]
    assert sorted(example for batch in over for example in batch.examples) == [(0, 20), (0, 21)]
    assert [len(batch) for batch in over] == [1, 1]


def test_the_order_follows_from_seed_and_epoch(encode: Encode) -> None:
    corpus = encode(lengths(300))

    def order(seed: int, number: int) -> list[list[tuple[int, int]]]:
        return [batch.examples for batch in epoch(stream(corpus, seed=seed), number)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_a_stream_resumes_at_any_position(encode: Encode) -> None:
    corpora = [encode(lengths(230)), encode(lengths(40, seed=1))]
    weights = (1.0, 1.5)
    count = 2 * len(list(stream(*corpora, weights=weights).epoch(0))) + 5
    whole = list(islice(batches_from(stream(*corpora, weights=weights)), count))
    assert {after.epoch for _, after in whole} == {0, 1, 2}
    for number, (_, after) in enumerate(whole[:-1], 1):
        position = Position(**json.loads(json.dumps(asdict(after))))
        resumed = batches_from(stream(*corpora, weights=weights), position)
        for (batch, expected), (again, following) in zip(whole[number : number + 3], resumed, strict=False):
            assert same(batch, again)
            assert expected == following
    tail = list(islice(batches_from(stream(*corpora, weights=weights), whole[6][1]), count - 7))
    assert all(same(a, b) and p == q for (a, p), (b, q) in zip(whole[7:], tail, strict=True))


def test_a_position_past_the_end_is_the_next_epoch(encode: Encode) -> None:
    batches = stream(encode(lengths(100)))
    late = next(batches_from(batches, Position(0, 10_000)))
    assert same(late[0], next(batches_from(batches, Position(1)))[0])


def test_weights_repeat_pairs_and_draw_fresh_fractions(encode: Encode) -> None:
    sizes = (100, 40, 60, 30)
    batches = stream(*(encode(lengths(size, seed=size)) for size in sizes), weights=(1.0, 2.25, 0.5, 0.0))
    subsets = []
    for number in range(2):
        seen = Counter(example for batch in epoch(batches, number) for example in batch.examples)
        counts = [Counter(seen[corpus, i] for i in range(size)) for corpus, size in enumerate(sizes)]
        assert counts == [{1: 100}, {2: 30, 3: 10}, {0: 30, 1: 30}, {0: 30}]
        subsets.append({example for example in seen if example[0] == 2})
    assert subsets[0] != subsets[1]


def test_nothing_to_see_is_an_error_and_not_an_endless_loop(encode: Encode) -> None:
    corpus = encode(lengths(10))
    with pytest.raises(DataError, match="no training examples"):
        stream(corpus, weights=(0.0,))
    with pytest.raises(DataError, match="no training examples"):
        stream(encode([]))
    with pytest.raises(DataError, match="must not be negative"):
        stream(corpus, weights=(-1.0,))
    assert sum(map(len, epoch(stream(corpus, weights=(0.001,)), 0))) == 1


def test_sampled_rows_depend_on_the_example_and_not_on_the_position(encode: Encode) -> None:
    def sampler(ids: Ids, lengths: Ids, keys: Keys) -> tuple[Ids, Ids]:
        times = [np.random.default_rng(key).integers(1, 3, size) for key, size in zip(keys, lengths, strict=True)]
        return np.repeat(ids, np.concatenate(times)), np.array([each.sum() for each in times])

    def rows(batches: Iterator[tuple[PaddedBatch, Position]], count: int) -> dict[tuple[int, int], tuple[int, ...]]:
        found = {}
        for batch, _ in islice(batches, count):
            for row, example in enumerate(batch.examples):
                both = torch.cat([batch.source[row], batch.target[row]])
                found[example] = tuple(both[both != TOKENS.pad].tolist())  # padding depends on the neighbours
        return found

    corpora = [encode(lengths(150)), encode(lengths(50, seed=1))]
    sampled = stream(*corpora, sampler=sampler)
    count = len(list(sampled.epoch(0)))
    first = rows(batches_from(sampled), count)
    assert rows(batches_from(stream(*corpora, sampler=sampler), Position(0, 5)), count - 5).items() <= first.items()
    assert first != rows(batches_from(stream(*corpora)), count)
    second = rows(batches_from(sampled, Position(1)), len(list(sampled.epoch(1))))
    assert sum(first[example] != second[example] for example in first) > 150


def test_the_two_sides_are_sampled_apart(encode: Encode) -> None:
    draws: list[int] = []

    def sampler(ids: Ids, lengths: Ids, keys: Keys) -> tuple[Ids, Ids]:
        draws.extend(keys.tolist())
        return ids, lengths

    batches = stream(encode(lengths(50)), encode(lengths(50)), sampler=sampler)
    for _ in islice(batches_from(batches), len(list(batches.epoch(0)))):
        pass
    assert len(set(draws)) == len(draws) == 200


def test_ordered_batches_have_every_example_once_in_the_order_of_length(encode: Encode) -> None:
    corpus = encode(lengths(150))
    made = list(ordered_pairs(corpus, TOKENS, 200, "de"))
    assert sorted(example for batch in made for example in batch.examples) == [(0, i) for i in range(150)]
    assert all(len(b) * max(b.source.shape[1], b.target.shape[1]) <= 200 for b in made)
    widths = [max(b.source.shape[1], b.target.shape[1]) for b in made]
    assert widths == sorted(widths)
    first = [example for batch in ordered_pairs(corpus, TOKENS, 200, "de", limit=20) for example in batch.examples]
    assert sorted(first) == [(0, i) for i in range(20)]
    assert list(ordered_pairs(encode([]), TOKENS, 200, "de")) == []


def test_sorting_leaves_little_padding(encode: Encode) -> None:
    made = epoch(stream(encode(lengths(5000)), budget=1000, pool=5000), 0)
    real = sum(batch.source_tokens + batch.target_tokens + len(batch) for batch in made)
    padded = sum(batch.source.numel() + batch.target.numel() for batch in made)
    assert real / padded > 0.95


@given(st.lists(st.integers(1, 60), max_size=60), st.integers(1, 100))
@hypothesis.example([1, 1, 2, 2], 4)
def test_cuts_are_as_long_as_the_budget_allows(widths: list[int], budget: int) -> None:
    members = np.arange(len(widths))
    batches = cut(members, np.array(widths, np.int32), budget)
    assert [i for batch in batches for i in batch] == members.tolist()
    for batch in batches:
        rows = [widths[i] for i in batch]
        assert len(rows) == 1 or len(rows) * max(rows) <= budget
        following = [*rows, *widths[batch[-1] + 1 : batch[-1] + 2]]
        assert len(following) == len(rows) or len(following) * max(following) > budget


# --- gathering runs: against plain slices -----------------------------------------------------------------------------


def test_runs_come_end_to_end_as_slices_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "ids.bin"
    rng.integers(60_000, size=5000).astype("<u2").tofile(path)
    ids = np.memmap(path, "<u2", mode="r")
    starts = rng.integers(4900, size=300)
    lengths = rng.integers(100, size=300)  # some of them 0
    found = gather(ids, starts, lengths)
    assert found.dtype == np.int64
    assert type(found) is np.ndarray
    slices = [ids[start : start + length] for start, length in zip(starts, lengths, strict=True)]
    np.testing.assert_array_equal(found, np.concatenate(slices))


def test_nothing_gathers_to_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert gather(np.arange(3, dtype=np.uint16), none, none).tolist() == []


def test_places_fill_a_padded_block() -> None:
    block = np.zeros((3, 4), np.int64)
    lengths = np.array([2, 0, 4])
    block.reshape(-1)[run_indices(np.arange(3) * 4, lengths)] = [1, 2, 3, 4, 5, 6]
    assert block.tolist() == [[1, 2, 0, 0], [0, 0, 0, 0], [3, 4, 5, 6]]
