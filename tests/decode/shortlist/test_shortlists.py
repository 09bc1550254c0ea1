"""Shortlists: what they allow, that they are kept, and that engines search in them as if the rest were not there."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headwise.decode.engines.native.library import supported
from headwise.decode.engines.native.native_engine import NativeEngine
from headwise.decode.engines.plain import DecoderStepper, SteppingEngine
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SamplingOptions, SearchOptions, SearchRequest
from headwise.decode.shortlist import shortlists as shortlist
from headwise.decode.shortlist.learn import PREDICTION_BATCH, learn_shortlist, predict_first_tokens
from headwise.decode.shortlist.restricted import search_restricted
from headwise.decode.shortlist.shortlists import Allowed, Shortlist, Shortlists, read_shortlists
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import CheckpointError, ConfigError, DataError
from headwise.files.tensors import save_tensors
from headwise.models.build import build
from headwise.models.folder.description import LoadedModel
from headwise.models.folder.load import convert, save_model
from headwise.nn import int8
from headwise.nn.int8 import to_int8
from headwise.recipe import replaced
from headwise.text.tokenizer import Tokenizer
from tests.decode.engines.native.test_native_model import EOS, PAD, SOS, VOCABULARY, model_of, native_model
from tests.taught import PAIRS, SHAPE, SOURCES, TARGETS, taught

needs_native = pytest.mark.skipif(not supported(), reason="no native engine here")
OPTIONS = {
    "greedy": SearchOptions(sos=SOS, eos=EOS, forbidden=(PAD, SOS, 3)),
    "beam": SearchOptions(sos=SOS, eos=EOS, beam=4, nbest=3, length_penalty=1.0, forbidden=(PAD, SOS, 3)),
    "no-repeat": SearchOptions(sos=SOS, eos=EOS, beam=3, no_repeat=2, forbidden=(PAD, 3)),
    "long": SearchOptions(sos=SOS, eos=EOS, beam=2, min_length=5, exact=False, length_penalty=0.6),
}


# --- what is allowed -----------------------------------------------------------------------------------


def table(vocabulary: int = 50) -> Shortlist:
    """The token s from 10 to 19 may be 20 + s or 30; 0 to 5 are always allowed. 19 has one translation, itself."""
    targets = [[20 + source, 30] if 10 <= source < 19 else [19] if source == 19 else [] for source in range(vocabulary)]
    offsets = np.cumsum([0, *map(len, targets)])
    return Shortlist(offsets, np.array([t for each in targets for t in each]), np.arange(6), pairs=7)


def test_a_sentence_may_have_the_translations_of_its_tokens() -> None:
    found = table().allowed([10, 12], copies=[40, 3])
    assert found is not None
    assert found.tokens.tolist() == [0, 1, 2, 3, 4, 5, 10, 12, 30, 32, 40]
    assert found.own.tolist() == [10, 12, 30, 32, 40]
    empty = table().allowed([])
    assert empty is not None
    assert empty.tokens.tolist() == [0, 1, 2, 3, 4, 5]


def test_where_nothing_is_known_or_gained_all_are_allowed() -> None:
    assert table().allowed([10, 45]) is None  # 45 was in no pair
    assert table().allowed([10], copies=range(6, 24)) is None  # 25 of 50
    assert table().allowed([10], copies=range(6, 22)) is not None


FITTING = replaced(SHAPE, {"attention.heads": 2})
"""A shape that the native engine knows."""


def learnt(**options: Any) -> Shortlists:
    """Of what the taught model has learnt."""
    tokenizer = the_tokenizer()
    made, _ = learn_shortlist(tokenizer, PAIRS * 5, **options)
    return Shortlists(tokenizer, {("en", "de"): made})


def the_tokenizer() -> Tokenizer:
    tokenizer = taught().tokenizer
    assert tokenizer is not None
    return tokenizer


def test_specials_have_no_translations_and_a_prefix_has_to_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortlist, "LARGEST", 1.1)
    lists, tokenizer = learnt(best=1, frequent=1), the_tokenizer()
    source = tokenizer.encode("The cat")
    framed = [tokenizer.sos, *source, tokenizer.eos]
    plain, same = lists.allowed([source, framed], [[], []], ("en", "de"))
    assert plain is not None
    assert same is not None
    assert plain.tokens.tolist() == same.tokens.tolist()
    assert tokenizer.eos in plain.always
    other = next(token for token in range(tokenizer.size) if token not in plain.tokens)
    inside = [int(plain.own[0]), int(plain.always[0])]
    assert [each is None for each in lists.allowed([source] * 2, [inside, [other]], ("en", "de"))] == [False, True]
    assert lists.allowed([source], [[]], ("de", "en")) == [None]


def test_what_is_learnt_holds_the_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortlist, "LARGEST", 1.1)
    tokenizer = the_tokenizer()
    made, quality = learn_shortlist(tokenizer, PAIRS * 50, best=20, frequent=5)
    assert made.pairs == 1350 - 135
    assert (quality.pairs, quality.covered, quality.whole) == (135, 1.0, 0.0)
    lists = Shortlists(tokenizer, {("", ""): made})
    for source, target in PAIRS:
        [found] = lists.allowed([tokenizer.encode(source)], [[]], ("", ""))
        assert found is not None
        assert set(tokenizer.encode(target)) <= set(found.tokens.tolist())
    assert {tokenizer.pad, tokenizer.sos, tokenizer.eos} <= set(made.always.tolist())


def test_a_token_whose_translations_are_frequent_is_known() -> None:
    """All of them being allowed anyway, it has none of its own."""
    tokenizer = the_tokenizer()
    made, _ = learn_shortlist(tokenizer, PAIRS * 5, frequent=tokenizer.size)
    seen = {token for source, _ in PAIRS for token in tokenizer.encode(source)}
    assert all(made.offsets[token] < made.offsets[token + 1] for token in seen)


def test_the_model_is_asked_for_what_it_would_begin_with() -> None:
    translator, tokenizer = Translator(taught(), device="cpu", engine="plain"), the_tokenizer()
    tokens = tokenizer.encode(SOURCES[0])
    asked = translator._first_tokens([tokens, tokens[:1]], 5)
    stepper = DecoderStepper(translator.model)
    for source, begun in zip((tokens, tokens[:1]), asked, strict=True):
        framed = torch.tensor([translator.source_ids(tokenizer.decode(source))])
        chances, _ = stepper.step(torch.tensor([tokenizer.sos]), stepper.start(framed))
        chances[0, [tokenizer.eos, *tokenizer.specials]] = -math.inf
        assert begun == chances[0].topk(5).indices.tolist()
    everything = translator._first_tokens([tokens], 10 * tokenizer.size)[0]
    assert sorted(everything) == sorted(set(range(tokenizer.size)) - {tokenizer.eos, *tokenizer.specials})


def test_a_token_that_is_in_no_pair_has_what_the_model_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortlist, "LARGEST", 1.1)
    translator, tokenizer = Translator(taught(), device="cpu", engine="plain"), the_tokenizer()
    told: list[tuple[int, int]] = []
    asked = predict_first_tokens(translator, ("en", "de"), 2, lambda done, total: told.append((done, total)))
    assert asked.shape == (tokenizer.size, 4)
    assert told[-1][0] == told[-1][1] == sum(not tokenizer.is_special(token) for token in range(tokenizer.size))
    some = [pair for pair in PAIRS if "sister" not in pair[0]]
    word = tokenizer.encode("My sister")
    for answers in (None, asked):
        made, _ = learn_shortlist(tokenizer, some, answers, best=2, frequent=1)
        [found] = Shortlists(tokenizer, {("en", "de"): made}).allowed([word], [[]], ("en", "de"))
        assert (found is None) == (answers is None)
    assert found is not None
    assert {int(token) for source in word for token in asked[source]} <= set(found.tokens.tolist())


def test_rows_of_a_published_model_that_are_no_token_are_no_translations() -> None:
    tokenizer = the_tokenizer()
    shape, rows = taught().config, tokenizer.size + 40
    loaded = LoadedModel(build(shape, rows, tokenizer.pad), replace(taught().description, vocabulary=rows))
    translator = Translator(loaded, device="cpu", engine="plain")
    begun = translator._first_tokens([tokenizer.encode(SOURCES[0])], tokenizer.size)[0]
    assert max(begun) >= tokenizer.size  # else this holds nothing
    asked = predict_first_tokens(translator, ("en", "de"), tokenizer.size // 2)
    assert asked.max() < tokenizer.size
    assert (asked[tokenizer.encode(SOURCES[0])] >= 0).any(1).all()


def test_the_size_of_a_vocabulary_is_not_asked_for_once_per_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tokenizers have to count it: that took hours."""
    translator, kind = Translator(taught(), device="cpu", engine="plain"), type(the_tokenizer())
    real, accesses = the_tokenizer().size, []
    monkeypatch.setattr(kind, "size", property(lambda self: accesses.append(1) or real))
    predict_first_tokens(translator, ("en", "de"), 2)
    batches = -(-real // PREDICTION_BATCH)
    assert len(accesses) <= 2 + 2 * batches


def test_of_many_pairs_some_are_drawn_always_the_same() -> None:
    one, other = (learn_shortlist(the_tokenizer(), iter(PAIRS * 20), most=60)[0] for _ in range(2))
    assert one.pairs == other.pairs == 54
    assert np.array_equal(one.targets, other.targets)


def test_nothing_is_learnt_from_nothing() -> None:
    for pairs in ([], [("", "")], [("a", "")], [("house " * 300, "Haus")]):
        with pytest.raises(DataError, match="no pairs"):
            learn_shortlist(the_tokenizer(), pairs)


# --- on disk -------------------------------------------------------------------------------------------


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    lists = learnt()
    lists.save(tmp_path / "s")
    again = read_shortlists(tmp_path / "s", the_tokenizer())
    assert again.digest == lists.digest
    assert again.tables.keys() == lists.tables.keys()
    for direction, one in lists.tables.items():
        other = again.tables[direction]
        assert other.pairs == one.pairs
        for name in ("offsets", "targets", "always"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    assert learnt(best=1).digest != lists.digest


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    learnt().save(path)
    whole = path.read_bytes()
    for content in (whole[:-1], whole[:100], b"", whole[:-50] + bytes([whole[-50] ^ 1]) + whole[-49:]):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="damaged"):
            read_shortlists(path, the_tokenizer())


def test_a_table_of_another_vocabulary_is_refused(tmp_path: Path) -> None:
    learnt().save(tmp_path / "s")
    other = taught("bpe").tokenizer
    assert other is not None
    with pytest.raises(CheckpointError, match="another tokenizer"):
        read_shortlists(tmp_path / "s", other)
    one = learnt().tables["en", "de"]
    for wrong in (
        replace(one, targets=one.targets + the_tokenizer().size),
        replace(one, offsets=one.offsets[::-1].copy()),
        replace(one, always=one.always[::-1].copy()),
    ):
        Shortlists(the_tokenizer(), {("en", "de"): wrong}).save(tmp_path / "s")
        with pytest.raises(CheckpointError, match="damaged"):
            read_shortlists(tmp_path / "s", the_tokenizer())


@pytest.mark.parametrize("name", ["0.offsets", "0.targets", "0.always"])
@pytest.mark.parametrize(
    "wrong", [lambda ids: ids + 0.5, torch.Tensor.bfloat16, lambda ids: ids[None], lambda ids: ids[0]]
)
def test_what_is_no_list_of_whole_numbers_is_refused(name: str, wrong: Any, tmp_path: Path) -> None:
    """With a digest that fits: one made to deceive."""
    tensors = {key: torch.from_numpy(array) for key, array in learnt().arrays().items()}
    save_tensors(tmp_path / "s", {**tensors, name: wrong(tensors[name].int())})
    with pytest.raises(CheckpointError, match="damaged"):
        read_shortlists(tmp_path / "s", the_tokenizer())


@needs_native
def test_converting_keeps_it(tmp_path: Path) -> None:
    save_model(tmp_path / "model", taught(shape=FITTING))
    lists = learnt()
    lists.save(tmp_path / "model" / "shortlist.safetensors")
    convert(tmp_path / "model", tmp_path / "int8", "headwise", precision="int8")
    assert Translator(tmp_path / "int8", device="cpu", shortlist=True).shortlist.digest == lists.digest  # type: ignore[union-attr]


# --- searching -----------------------------------------------------------------------------------------


class Masked:
    """The oracle: all log-probabilities that a stepper has, of which those that are not allowed are taken out, unless
    no other is likely."""

    def __init__(self, stepper: Any, allowed: list[Allowed]) -> None:
        self._stepper = stepper
        self._mask = torch.full((len(allowed), VOCABULARY), -math.inf)
        for row, each in zip(self._mask, allowed, strict=True):
            row[torch.from_numpy(each.tokens)] = 0.0

    def start(self, source: Tensor) -> tuple[Any, Tensor]:
        return self._stepper.start(source), torch.arange(len(source))

    def step(self, tokens: Tensor, state: tuple[Any, Tensor]) -> tuple[Tensor, tuple[Any, Tensor]]:
        log_probabilities, inner = self._stepper.step(tokens, state[0])
        listed = (log_probabilities + self._mask[state[1]]).log_softmax(-1)
        unsure = listed.amax(-1, keepdim=True) < math.log(shortlist.SURE or 1e-30)
        return torch.where(unsure, log_probabilities, listed), (inner, state[1])

    def select(self, state: tuple[Any, Tensor], rows: Tensor) -> tuple[Any, Tensor]:
        return self._stepper.select(state[0], rows), state[1][rows]


@cache
def model() -> Any:
    made = model_of(tie="none", output__bias=True, output__scale=0.5)
    with torch.no_grad():
        made.output_projection.weight.mul_(20)  # so that no two tokens are equally likely but for rounding
    quantised = to_int8(copy.deepcopy(made))
    quantised.config = made.config
    return quantised


@cache
def engine() -> NativeEngine:
    return NativeEngine(native_model(model()))


def sentences(count: int = 7) -> list[list[int]]:
    chance = np.random.default_rng(5)
    return [chance.integers(4, VOCABULARY, chance.integers(1, 20)).tolist() for _ in range(count)]


def lists(count: int = 7, always: int = 5) -> list[Allowed]:
    """Of any size; one sentence has no tokens of its own, one has all."""
    chance = np.random.default_rng(6)
    common = np.array([EOS, *range(4, 4 + always)])
    rest = np.setdiff1d(np.arange(VOCABULARY), common)
    own = [np.sort(chance.choice(rest, chance.integers(1, 60), replace=False)) for _ in range(count - 2)]
    return [Allowed(common, each) for each in (*own, rest[:0], rest)]


def close(found: list[list[Hypothesis]], wanted: list[list[Hypothesis]], tolerance: float) -> None:
    for some, others in zip(found, wanted, strict=True):
        assert [one.tokens for one in some] == [one.tokens for one in others]
        assert all(
            math.isclose(one.score, other.score, abs_tol=tolerance) for one, other in zip(some, others, strict=True)
        )


@needs_native
@pytest.mark.parametrize("options", OPTIONS)
def test_with_all_tokens_it_is_the_search_of_the_whole_vocabulary(options: str) -> None:
    whole = Allowed(np.arange(0, VOCABULARY, 3), np.setdiff1d(np.arange(VOCABULARY), np.arange(0, VOCABULARY, 3)))
    request = SearchRequest(sentences(), [15] * 7, OPTIONS[options], [[]] * 7)
    close(engine().search_within(request, [whole] * 7), engine().search(request), 1e-4)


@needs_native
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("sure", [0.0, 0.5])
def test_a_search_is_that_of_a_model_without_the_other_tokens(
    options: str, sure: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortlist, "SURE", sure)
    allowed = lists()
    prefixes = [[4, 5], [], [6], [], [], [], [int(allowed[6].own[40])]]
    request = SearchRequest(sentences(), [12] * 7, OPTIONS[options], prefixes)
    found = engine().search_within(request, allowed)
    oracle = Masked(engine().stepping().stepper, allowed)
    wanted = SteppingEngine("oracle", oracle, PAD, torch.device("cpu")).search(request)
    close(found, wanted, 1e-4)
    strangers = [
        set(one.tokens) - set(own.tokens.tolist()) for some, own in zip(found, allowed, strict=True) for one in some
    ]
    assert any(strangers) == (sure > 0)


@needs_native
@pytest.mark.parametrize("options", OPTIONS)
def test_a_sentence_comes_out_the_same_whatever_is_in_its_batch(options: str) -> None:
    request = SearchRequest(sentences(), [5, 18, 9, 12, 15, 10, 3], OPTIONS[options], [[]] * 7)
    allowed = lists()
    together = engine().search_within(request, allowed)
    for number in range(7):
        alone = engine().search_within(request.select([number]), [allowed[number]])
        close(alone, [together[number]], 0.0)


@needs_native
def test_threads_and_many_rows_change_nothing() -> None:
    """More rows than are ranked at once; bit for bit."""
    count = 45
    request = SearchRequest(sentences(count), [8] * count, OPTIONS["beam"], [[]] * count)
    engines = (NativeEngine(native_model(model(), threads)) for threads in (1, 3))
    one, three = (each.search_within(request, lists(count)) for each in engines)
    close(one, three, 0.0)


@needs_native
@pytest.mark.parametrize("options", OPTIONS)
def test_where_nothing_is_sure_it_is_the_search_of_the_whole_vocabulary(
    options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortlist, "SURE", 1.1)
    request = SearchRequest(sentences(), [15] * 7, OPTIONS[options], [[]] * 7)
    found = engine().search_within(request, lists())
    close(found, engine().search(request), 0.0)


@needs_native
def test_those_without_a_list_have_all_tokens_and_keep_their_places() -> None:
    allowed: list[Allowed | None] = [*lists()]
    for number in (0, 3, 6):
        allowed[number] = None
    request = SearchRequest(sentences(), [10, 11, 12, 13, 14, 15, 16], OPTIONS["beam"], [[]] * 7)
    found = search_restricted(engine(), request, allowed)
    within = engine().search_within(request, lists())
    whole = engine().search(request)
    wanted = [whole[n] if allowed[n] is None else within[n] for n in range(7)]
    close(found, wanted, 0.0)
    close(search_restricted(engine(), request, [None] * 7), whole, 0.0)


@needs_native
def test_what_is_no_list_of_tokens_is_refused() -> None:
    request = SearchRequest(sentences(1), [5], OPTIONS["greedy"], [[]])
    with pytest.raises(IndexError, match="not in the vocabulary"):
        engine().search_within(request, [Allowed(np.array([2]), np.array([VOCABULARY]))])
    with pytest.raises(IndexError, match="not in the vocabulary"):
        engine().search_within(request, [Allowed(np.array([-1]), np.array([2]))])
    with pytest.raises(ValueError, match="a list of tokens each"):
        engine().search_within(request, lists())


# --- in a translator -----------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model with a shortlist of which all is used."""
    monkeypatch.setattr(shortlist, "LARGEST", 1.1)
    save_model(tmp_path / "model", taught(shape=FITTING))
    learnt(best=20, frequent=3).save(tmp_path / "model" / "shortlist.safetensors")
    return tmp_path / "model"


@needs_native
def test_who_uses_it(folder: Path, tmp_path: Path) -> None:
    assert Translator(folder, device="cpu").shortlist is None
    assert Translator(folder, device="cpu", engine="int8").shortlist is not None
    assert Translator(folder, device="cpu", engine="int8", shortlist=True).shortlist is not None
    assert Translator(folder, device="cpu", engine="int8", shortlist=False).shortlist is None
    with pytest.raises(ConfigError, match="the engine plain does not support shortlists"):
        Translator(folder, device="cpu", engine="plain", shortlist=True)
    loaded = taught(shape=FITTING)
    with pytest.raises(ConfigError, match="has no shortlist: make one"):
        Translator(loaded, device="cpu", engine="int8", shortlist=True)
    other = taught("bpe", shape=FITTING)
    with pytest.raises(ConfigError, match="another tokenizer"):
        Translator(other, device="cpu", engine="int8", shortlist=learnt())
    assert Translator(loaded, device="cpu", engine="int8", shortlist=learnt()).shortlist is not None
    (folder / "shortlist.safetensors").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="damaged"):
        Translator(folder, device="cpu", engine="int8")
    Translator(folder, device="cpu", engine="int8", shortlist=False)
    Translator(folder, device="cpu", engine="plain")


@pytest.mark.skipif(not int8.is_fast_here(), reason="no int8 here")
def test_without_the_native_engine_there_is_none(tmp_path: Path) -> None:
    """Heads of 8, which that engine does not know."""
    save_model(tmp_path / "model", taught())
    learnt().save(tmp_path / "model" / "shortlist.safetensors")
    assert Translator(tmp_path / "model", device="cpu", engine="int8").shortlist is None
    with pytest.raises(ConfigError, match="the engine int8 does not support shortlists"):
        Translator(tmp_path / "model", device="cpu", engine="int8", shortlist=True)


@needs_native
def test_translations_are_made_of_what_is_allowed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator(folder, device="cpu", engine="int8", shortlist=True)
    assert translator.shortlist is not None
    for beam in (1, 4):
        assert [one.text for one in translator.translate(SOURCES, beam=beam)] == TARGETS
    # With a table that has forgotten all translations, none can come out but where all tokens are looked at.
    monkeypatch.setattr(shortlist, "SURE", 0.0)
    forgotten = learnt(best=1, frequent=1)
    forgotten.tables["en", "de"].targets[:] = the_tokenizer().eos
    lost = Translator(folder, device="cpu", engine="int8", shortlist=forgotten)
    for source, found in zip(SOURCES, lost.translate(SOURCES, beam=1), strict=True):
        [allowed] = forgotten.allowed([lost.source_ids(source)], [[]], ("en", "de"))
        assert allowed is not None
        assert found.text not in TARGETS
        assert set(the_tokenizer().piece_ids(found.tokens)) <= set(allowed.tokens.tolist())
    monkeypatch.setattr(shortlist, "SURE", 1.1)
    assert [one.text for one in lost.translate(SOURCES, beam=1)] == TARGETS
    monkeypatch.setattr(shortlist, "SURE", 0.0)
    # A prefix that it does not allow is obeyed all the same, and what follows is searched for among all tokens.
    start = TARGETS[0].split()[0]
    exact = Translator(folder, device="cpu", engine="int8", shortlist=False)
    assert lost.translate(SOURCES[:3], prefix=start) == exact.translate(SOURCES[:3], prefix=start)
    # So is what is drawn at random.
    hot = TranslateOptions(sampling=SamplingOptions(temperature=2.0), seed=3)
    assert lost.translate(SOURCES[:3], options=hot) == exact.translate(SOURCES[:3], options=hot)
    assert len({each.model_digest() for each in (lost, exact, translator)}) == 3


@needs_native
def test_a_table_is_for_its_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortlist, "LARGEST", 1.1)
    both = taught(both_directions=True, shape=FITTING)
    assert both.tokenizer is not None
    made, _ = learn_shortlist(both.tokenizer, PAIRS * 5, best=20, frequent=3)
    lists = Shortlists(both.tokenizer, {("en", "de"): made})
    translator = Translator(both, device="cpu", engine="int8", shortlist=lists)
    assert [one.text for one in translator.translate(SOURCES, source="en", target="de")] == TARGETS
    assert [one.text for one in translator.translate(TARGETS, source="de", target="en")] == SOURCES
