"""Packed batches: every pair once, always one shape, and the model's loss and gradients those of padded ones."""

from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from headwise.data.batch.packed_pairs import PackedBatch, PackedPairStream, pack
from headwise.data.batch.padded_pairs import PaddedPairStream
from headwise.data.batch.stream import Position, batches_from, plans_from
from headwise.data.batch.token_links import PairLinks
from headwise.data.prepare.encoded_corpus import EncodedCorpus
from headwise.data.prepare.result import TrainCorpus
from headwise.models.build import build
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.packing import positions_in
from headwise.presets import preset_config
from headwise.recipe import replaced
from headwise.text.tokenizer import Ids, Keys
from headwise.train.step.out_of_memory import halves
from headwise.train.tasks.guided_alignment import Guidance
from headwise.train.tasks.translation_task import teacher_forcing
from tests.data import tiny
from tests.data.batch.test_padded_pairs import lengths
from tests.data.batch.test_token_links import random_table
from tests.data.conftest import Encode

BUDGET = 256


def packed_stream(corpus: EncodedCorpus, budget: int = BUDGET, **more: object) -> PackedPairStream:
    train = TrainCorpus(corpus, 1.0, "xx", "yy")
    return PackedPairStream([train], tiny.make(), budget, 3, **more)  # type: ignore[arg-type]


def epoch(stream: PackedPairStream, number: int = 0) -> list[PackedBatch]:
    found = []
    for batch, after in batches_from(stream, Position(number, 0)):
        assert isinstance(batch, PackedBatch)
        found.append(batch)
        if after.epoch != number:
            return found
    raise AssertionError("an epoch without an end")


def test_every_pair_once_in_batches_of_one_shape(encode: Encode) -> None:
    stream = packed_stream(encode(lengths(300)), pool=40)
    batches = epoch(stream)
    assert Counter(each for batch in batches for each in batch.examples) == {(0, i): 1 for i in range(300)}
    shapes = {tuple(getattr(batch, name).shape for name in ("source", "shown", "wanted")) for batch in batches}
    assert shapes == {((1, BUDGET), (1, BUDGET), (BUDGET,))}
    full = [batch.source_tokens + batch.target_tokens for batch in batches[:-1]]
    assert min(full) > 1.2 * BUDGET  # of two rows; one side ends before the other


def test_rows_hold_the_sentences_of_padded_batches(encode: Encode) -> None:
    corpus = encode(lengths(50))
    stream = packed_stream(corpus)
    batch = epoch(stream)[0]
    padded = PaddedPairStream([TrainCorpus(corpus, 1.0, "en", "de")], tiny.make(), 10**6, 3)._rows
    for number, (_, index) in enumerate(batch.examples):
        one = padded.batch(np.array([index]), 0)
        first, last = batch.source_starts[number : number + 2].tolist()
        assert batch.source[0, first:last].tolist() == one.source[0].tolist()
        assert batch.source_places[first:last].tolist() == list(range(last - first))
        first, last = batch.target_starts[number : number + 2].tolist()
        assert batch.shown[0, first:last].tolist() == one.target[0, :-1].tolist()
        assert batch.wanted[first:last].tolist() == one.target[0, 1:].tolist()
    assert (batch.wanted[batch.target_tokens :] == 0).all()


def test_parts_of_a_batch_are_all_of_it_in_shorter_rows(encode: Encode) -> None:
    plan, _ = next(plans_from(packed_stream(encode(lengths(600)), budget=4096)))
    whole = plan.make(slice(None))
    parts = [plan.make(slice(rank, None, 4)) for rank in range(4)]
    assert sorted(each for part in parts for each in part.examples) == sorted(whole.examples)
    assert sum(part.count for part in parts) == whole.count
    assert all(part.source.size(1) <= whole.source.size(1) // 2 for part in parts)


def test_goes_on_at_any_position(encode: Encode) -> None:
    stream = packed_stream(encode(lengths(200)), pool=70)
    run = list(islice(batches_from(stream), 40))
    for start in (1, 7, 20):
        again = next(batches_from(stream, run[start - 1][1]))[0]
        assert again.examples == run[start][0].examples
        assert torch.equal(again.source, run[start][0].source)


def test_what_a_sampler_makes_too_long_is_left_out(encode: Encode) -> None:
    def doubled(ids: Ids, lengths: Ids, keys: Keys) -> tuple[Ids, Ids]:
        return np.repeat(ids, 2), 2 * lengths

    batches = epoch(packed_stream(encode(lengths(200)), sampler=doubled))
    assert all(batch.source.shape == (1, BUDGET) for batch in batches)
    assert 0 < sum(len(batch) for batch in batches) < 200
    assert all(batch.count == int((batch.wanted != 0).sum()) for batch in batches)


def test_what_a_sampler_makes_longer_than_the_model_takes_is_left_out(encode: Encode) -> None:
    def sometimes_doubled(ids: Ids, lengths: Ids, keys: Keys) -> tuple[Ids, Ids]:
        times = np.where(keys % 10 == 0, 2, 1)
        return np.repeat(ids, np.repeat(times, lengths)), times * lengths

    corpus = encode(lengths(200))
    limit = packed_stream(corpus).longest_sentence
    stream = packed_stream(corpus, sampler=sometimes_doubled, position_limit=limit)
    batches = epoch(stream)
    assert all(batch.longest == limit and int(batch.source_places.max()) < limit for batch in batches)
    for batch in batches:
        members = np.array([index for _, index in batch.examples])
        again = stream._rows.batch(members, 0)
        assert batch.source[0, : batch.source_tokens].tolist() == again.source[again.source != 0].tolist()
    assert sum(len(batch) for batch in batches) > 150, "the others of its batch stay"


def test_places() -> None:
    assert positions_in(torch.tensor([0, 2, 5, 5]), 7).tolist() == [0, 1, 0, 1, 2, 0, 0]


@pytest.mark.parametrize("guided", [False, True], ids=["plain", "guided"])
@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"preset": "modern"},
        {"positions.kind": "learned", "positions.max_positions": 80, "norm.order": "pre"},
        {"positions.kind": "rotary", "attention.key_value_heads": 2},
    ],
    ids=["base", "modern", "learned", "rotary"],
)
def test_loss_and_gradients_are_those_of_padded_batches(encode: Encode, shape: dict[str, object], guided: bool) -> None:
    shape = dict(shape)
    torch.manual_seed(0)
    config = replaced(
        preset_config(str(shape.pop("preset", "base"))),
        {
            "width": 32,
            "attention.heads": 4,
            "feed_forward.hidden": 64,
            "layers": 2,
            "dropout": 0.0,
            **shape,  # type: ignore[arg-type]
        },
    )
    model = build(config, 300, 0)
    assert isinstance(model, EncoderDecoder)
    links = PairLinks({("xx", "yy"): random_table(entries=40_000)}, [("xx", "yy")])
    stream = packed_stream(encode(lengths(40)), links=links)
    batch = epoch(stream)[0]
    members = np.array([index for _, index in batch.examples])
    objective = teacher_forcing(0.1, guided=Guidance(1, 2, 0.5) if guided else None)

    def figures(of: object) -> tuple[float, float, dict[str, torch.Tensor]]:
        model.zero_grad()
        result = objective(model, of)  # type: ignore[arg-type]
        result.loss.backward()
        gradients = {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}
        return result.loss.item(), result.nll.item(), gradients

    loss, nll, gradients = figures(stream._rows.batch(members, 0))
    packed = figures(batch)
    if guided:
        assert loss > teacher_forcing(0.1)(model, batch).loss.item() + 1
    assert packed[:2] == pytest.approx((loss, nll), rel=1e-5)
    assert packed[2].keys() == gradients.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(packed[2][name], gradient, rtol=1e-4, atol=1e-4)

    first, second = halves(batch)  # what is done where a batch does not fit in memory
    assert first.examples + second.examples == batch.examples
    parts = [figures(each) for each in (first, second)]
    assert sum(part[0] for part in parts) == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("shape", [{"positions.kind": "relative"}, {"attention.window": 100}], ids=str)
def test_what_the_kernel_does_not_know_is_not_packed(shape: dict[str, object]) -> None:
    config = replaced(preset_config("base"), {"width": 32, "attention.heads": 4, "feed_forward.hidden": 64, **shape})  # type: ignore[arg-type]
    model = build(config, 300, 0)
    assert isinstance(model, EncoderDecoder)
    assert not model.can_be_packed


def test_a_start_that_is_also_padding_is_kept(encode: Encode) -> None:
    """Marian's decoder starts with the token that pads."""
    batch = packed_stream(encode(lengths(5)))._rows.batch(np.arange(5), 0)
    target = batch.target.clone()
    target[:, 0] = 0
    packed = pack(replace(batch, target=target), 0, 256, 8, 100)
    starts = packed.target_starts[:5].long()
    assert (packed.shown[0, starts] == 0).all()
    assert packed.target_tokens == batch.target_tokens


@pytest.mark.parametrize("packed", [True, False])
def test_agreement_costs_what_two_passes_differ(encode: Encode, packed: bool) -> None:
    torch.manual_seed(0)
    small = {"width": 32, "attention.heads": 4, "feed_forward.hidden": 64, "layers": 1}
    stream = packed_stream(encode(lengths(40)))
    members = np.array([index for _, index in epoch(stream)[0].examples])
    batch = epoch(stream)[0] if packed else stream._rows.batch(members, 0)
    for dropout in (0.0, 0.3):
        model = build(replaced(preset_config("base"), {"dropout": dropout, **small}), 300, 0).train()
        once, agreed = (teacher_forcing(0.1, agreement)(model, batch) for agreement in (0.0, 5.0))
        if dropout:
            assert agreed.loss > once.loss * 1.001
            agreed.loss.backward()
            assert all(parameter.grad is not None for parameter in model.parameters())
        else:
            torch.testing.assert_close(agreed, once)
