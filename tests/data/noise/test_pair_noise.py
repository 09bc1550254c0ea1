"""Noise in batches: as often as the recipe says, drawn from seed, epoch and example, the same in every process."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from headwise.config import USUAL_NOISE, NoiseConfig, TextConfig
from headwise.data.batch.packed_pairs import PackedBatch, PackedPairStream
from headwise.data.batch.padded_pairs import PaddedBatch, PaddedPairStream
from headwise.data.batch.stream import Position, batches_from
from headwise.data.noise.noisy_texts import KINDS, Noisemaker, NoiseTask, make_noisy
from headwise.data.noise.noisy_texts import TERMS as TERM_KIND
from headwise.data.noise.pair_noise import PairNoise
from headwise.data.prepare.encoded_corpus import EncodedCorpus, EncodedWriter, Flat
from headwise.data.prepare.result import TrainCorpus
from headwise.errors import ConfigError
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer

PAIRS = [
    (
        f"Person{i} quickly translated {i * 7} of the interesting sentences.",
        f"Mensch{i} übersetzte rasch {i * 7} Sätze.",
    )
    for i in range(400)
]
LANGUAGES = ("en", "de")
WORDS = {LANGUAGES: [("apple", "Apfel"), ("street", "Straße")]}
TERMS = {LANGUAGES: {"quickly": ["rasch"], "translated": ["übersetzen"]}}


@cache
def tokenizer(kind: str = "unigram") -> Tokenizer:
    texts = [text for pair in PAIRS for text in pair]
    return train_tokenizer(TextConfig(kind=kind, vocabulary=500), texts, ["de"])


@pytest.fixture
def corpus(tmp_path: Path) -> EncodedCorpus:
    return encoded(tmp_path / "corpus", PAIRS)


def encoded(folder: Path, pairs: Sequence[tuple[str, str]], kind: str = "unigram") -> EncodedCorpus:
    own = tokenizer(kind)
    with EncodedWriter(folder, own.size) as writer:
        sides = (Flat.of(own.encode_batch(side), writer.ids) for side in zip(*pairs, strict=True))
        writer.append(*sides, [0] * len(pairs), range(1, len(pairs) + 1))
        return writer.finish(["file"])


def noise_of(
    corpora: Sequence[EncodedCorpus], shares: Mapping[str, float], seed: int = 3, workers: int = 0, longest: int = 256
) -> PairNoise:
    maker = Noisemaker(tokenizer(), (LANGUAGES,) * len(corpora), longest, WORDS, TERMS)
    return PairNoise(maker, shares, corpora, seed, workers)


def noisy_texts(noise: PairNoise, epoch: int, corpus: EncodedCorpus) -> list[tuple[str, str]]:
    """All pairs of a corpus, with the noise of an epoch, as text."""
    indices = np.arange(len(corpus))
    plain = tuple(
        Flat(side.ids.astype(np.int64), side.lengths.astype(np.int64)) for side in (corpus.source, corpus.target)
    )
    (source, target), = noise.change(epoch, [(0, indices, (plain[0], plain[1]))])  # fmt: skip
    sides = [np.split(side.ids, np.cumsum(side.lengths)[:-1]) for side in (source, target)]
    return [(tokenizer().decode(left), tokenizer().decode(right)) for left, right in zip(*sides, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_so_many_pairs_have_it_and_the_others_stay(corpus: EncodedCorpus, kind: str) -> None:
    noise = noise_of([corpus], {kind: 0.3})
    texts = noisy_texts(noise, 0, corpus)
    changed = [new for old, new in zip(PAIRS, texts, strict=True) if old != new]
    assert 0.2 * len(PAIRS) < len(changed) < 0.4 * len(PAIRS)
    assert set(texts) - set(changed) <= set(PAIRS)


def test_what_the_kinds_do(corpus: EncodedCorpus) -> None:
    def made(kind: str) -> list[tuple[str, str]]:
        return noisy_texts(noise_of([corpus], {kind: 1.0}), 0, corpus)

    assert all(source.isupper() and target.isupper() for source, target in made("upper"))
    assert not any(source.endswith(".") or target.endswith(".") for source, target in made("unpunctuated"))
    assert {(s.lower(), t.lower()) for s, t in made("words")} == {("apple", "apfel"), ("street", "straße")}
    assert all(target == PAIRS[i][1] for i, (_, target) in enumerate(made("typos")))
    counts = Counter()
    for i, (source, target) in enumerate(made("joined")):
        sentences = source.count(".")
        counts[sentences] += 1
        assert source == " ".join(pair[0] for pair in PAIRS[i : i + sentences])
        assert target == " ".join(pair[1] for pair in PAIRS[i : i + sentences])
    assert all(counts[number] > 100 for number in (2, 3, 4))


def test_noise_is_drawn_anew_in_each_epoch_and_alike_for_the_same_seed(corpus: EncodedCorpus) -> None:
    shares = NoiseConfig(preset="usual").shares
    texts = {
        (seed, epoch): noisy_texts(noise_of([corpus], shares, seed), epoch, corpus)
        for seed in (1, 2)
        for epoch in (0, 1)
    }
    assert len({str(each) for each in texts.values()}) == 4
    assert noisy_texts(noise_of([corpus], shares, 1), 1, corpus) == texts[1, 1]


def test_a_pair_is_the_same_whatever_it_is_made_with(corpus: EncodedCorpus) -> None:
    noise = noise_of([corpus, corpus], NoiseConfig(preset="usual").shares)
    rows = PaddedPairStream([TrainCorpus(corpus, 1.0, *LANGUAGES)] * 2, tokenizer(), 1000, 3, noise=noise)._rows
    whole = rows.batch(np.arange(300, 500), 2)
    for first in (300, 377, 470):
        part = rows.batch(np.arange(first, first + 30), 2)
        for name in ("source", "target"):
            long, short = getattr(whole, name)[first - 300 : first - 270], getattr(part, name)
            assert torch.equal(long[:, : short.shape[1]], short)
            assert (long[:, short.shape[1] :] == tokenizer().pad).all()


def test_child_processes_make_the_same_noise(corpus: EncodedCorpus) -> None:
    shares = NoiseConfig(preset="usual").shares
    alone, helped = noise_of([corpus], shares), noise_of([corpus], shares, workers=2)
    assert noisy_texts(alone, 0, corpus) == noisy_texts(helped, 0, corpus)
    helped._workers.close()


def streams(corpus: EncodedCorpus, noise: PairNoise | None) -> list[PaddedPairStream | PackedPairStream]:
    corpora = [TrainCorpus(corpus, 1.5, *LANGUAGES)]
    return [
        PaddedPairStream(corpora, tokenizer(), 600, 3, pool=100, noise=noise),
        PackedPairStream(corpora, tokenizer(), 600, 3, pool=100, noise=noise),
    ]


@pytest.mark.parametrize("number", [0, 1])
def test_a_noisy_stream_resumes_at_any_position(corpus: EncodedCorpus, number: int) -> None:
    def opened() -> PaddedPairStream | PackedPairStream:
        return streams(corpus, noise_of([corpus], NoiseConfig(preset="usual").shares))[number]

    def ids(batch: PaddedBatch | PackedBatch) -> list[list[int]]:
        return batch.source.tolist()

    whole = list(islice(batches_from(opened()), 60))
    assert {after.epoch for _, after in whole} >= {0, 1}
    for start in (0, 7, 31):
        resumed = islice(batches_from(opened(), whole[start][1]), 20)
        for (batch, after), (again, following) in zip(whole[start + 1 :], resumed, strict=False):
            assert ids(batch) == ids(again)
            assert after == following
    plain = next(batches_from(streams(corpus, None)[number], Position()))[0]
    assert ids(plain) != ids(whole[0][0])


def test_padded_batches_keep_to_their_budget_and_packed_ones_lose_little(corpus: EncodedCorpus) -> None:
    padded, packed = streams(corpus, noise_of([corpus], NoiseConfig(preset="usual").shares))
    for plan in padded.epoch(0):
        batch = plan.make(slice(None))
        assert max(batch.source.numel(), batch.target.numel()) <= 600 or len(batch) == 1
    planned, made, filled = 0, 0, 0
    rows = 0
    for plan in packed.epoch(0):
        packed_batch = plan.make(slice(None))
        planned, made, rows = planned + plan.rows, made + len(packed_batch), rows + 1
        filled += max(packed_batch.source_tokens, packed_batch.target_tokens)
    assert made > 0.95 * planned
    assert filled > 0.7 * rows * packed.row


def test_no_side_becomes_too_long(corpus: EncodedCorpus) -> None:
    longest = int(max(corpus.source.lengths.max(), corpus.target.lengths.max()))
    noise = noise_of([corpus], {"upper": 1.0, "joined": 1.0}, longest=longest + 10)
    texts = noisy_texts(noise, 0, corpus)
    assert texts == PAIRS
    source, target = noise.widths(0, 0, corpus.source.lengths, corpus.target.lengths)
    assert max(source.max(), target.max()) <= longest + 10


def test_a_text_with_an_unknown_word_stays(tmp_path: Path) -> None:
    own = tokenizer("words")
    maker = Noisemaker(own, (LANGUAGES,), 256, {})
    ids = Flat.of([own.encode("Person1 never translated sentences.")], np.dtype("<u4"))
    assert own.unk in ids.ids
    one = np.ones(1, np.int64)
    upper = one << KINDS.index("upper")
    task = NoiseTask(0 * one, one.astype(np.uint64), upper, one, ids, ids)
    source, target = make_noisy(maker, task)
    assert source.ids.tolist() == target.ids.tolist() == ids.ids.tolist()


def test_a_task_in_parts_is_the_whole_task(corpus: EncodedCorpus) -> None:
    maker = Noisemaker(tokenizer(), (LANGUAGES,), 256, WORDS)
    counts = np.array([1, 2, 1, 3])
    sides = [
        Flat(side.ids[: int(side.offsets[7])], side.lengths[:7].astype(np.int64))
        for side in (corpus.source, corpus.target)
    ]
    zeros, keys = np.zeros(4, np.int64), np.arange(4, dtype=np.uint64)
    task = NoiseTask(zeros, keys, zeros + (1 << KINDS.index("typos")), counts, *sides)
    whole = make_noisy(maker, task)
    for count in (1, 2, 3, 9):
        made = [make_noisy(maker, part) for part in task.parts(count)]
        for side in (0, 1):
            assert Flat.joined([each[side] for each in made]).ids.tolist() == whole[side].ids.tolist()


def test_shares_come_from_the_preset_and_own_keys() -> None:
    assert NoiseConfig().shares == {}
    assert NoiseConfig(preset="usual").shares == {
        kind: share for kind, share in USUAL_NOISE.items() if kind != TERM_KIND
    }
    assert NoiseConfig(terms=0.1).shares == {TERM_KIND: 0.1}
    assert set(USUAL_NOISE) == set(KINDS)
    own = NoiseConfig(preset="usual", tags=0.0, upper=0.5).shares
    assert "tags" not in own
    assert (own["upper"], own["title"]) == (0.5, 0.05)
    with pytest.raises(ConfigError, match=re.escape("data.noise.typos must be at least 0 and at most 1")):
        NoiseConfig(typos=1.5)
