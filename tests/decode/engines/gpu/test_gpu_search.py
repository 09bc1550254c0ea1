"""The search for GPUs, which runs anywhere: in slots that are filled again, with the results of the plain one."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise.config import ModelConfig
from headwise.decode.engines.engine import MemoryHolder
from headwise.decode.engines.gpu import gpu_engine
from headwise.decode.engines.gpu import gpu_search as gpu
from headwise.decode.engines.gpu.gpu_engine import GpuEngine
from headwise.decode.engines.gpu.gpu_search import GpuSearch, can_search, knows_all_parts
from headwise.decode.engines.plain import DecoderStepper
from headwise.decode.search.beam import beam_search
from headwise.decode.search.options import SamplingOptions, SearchOptions, SearchRequest
from headwise.errors import ConfigError, HeadwiseError
from headwise.nn.kernels import row_product
from tests.kernels import DEVICE, needs_kernels
from tests.shapes import PAD, VARIANTS, random_model, sentences, small

pytestmark = pytest.mark.filterwarnings("ignore:Conversion of an array")  # of Triton's interpreter

FITTING = {name: config for name, config in VARIANTS.items() if knows_all_parts(random_model(config))}


def ragged(count: int, longest: int) -> list[list[int]]:
    rows = sentences(count, longest, shortest=2).tolist()
    return [[token for token in row if token != PAD] for row in rows]


def agree(config: ModelConfig, count: int, options: SearchOptions, prefixes: list[list[int]], longest: int = 6) -> None:
    model = random_model(config).to(DEVICE)
    sources = ragged(count, longest)
    limits = [1 + 3 * i % 8 + len(prefixes[i]) for i in range(count)]
    plain = DecoderStepper(model)
    found = GpuSearch(model, torch.float32)(SearchRequest(sources, limits, options, prefixes))
    with torch.inference_mode():
        for i, source in enumerate(sources):
            state = plain.start(torch.tensor([source], device=DEVICE))
            limit = torch.tensor([limits[i]], device=DEVICE)
            [wanted] = beam_search(plain, state, limit, options, [prefixes[i]])
            assert [one.tokens for one in found[i]] == [one.tokens for one in wanted]
            assert [one.finished for one in found[i]] == [one.finished for one in wanted]
            assert all(abs(one.score - two.score) < 1e-4 for one, two in zip(found[i], wanted, strict=True))


@pytest.mark.parametrize("config", FITTING.values(), ids=FITTING)
@pytest.mark.parametrize("beam", [1, 3])
def test_every_shape_is_searched_as_by_the_model(config: ModelConfig, beam: int) -> None:
    agree(config, 5, SearchOptions(1, 2, beam, beam, 1.0, forbidden=(0, 1), exact=False), [[]] * 5)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5])
def test_slots_are_filled_again(beam: int, exact: bool, alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "SLOTS", 4)
    options = SearchOptions(1, 2, beam, max(1, beam - 1), alpha, forbidden=(0, 1), exact=exact)
    prefixes = [[3, 4] if i % 5 == 2 else [5] if i % 5 == 3 else [] for i in range(23)]
    agree(small(), 23, options, prefixes)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_prefix_may_hold_what_the_search_may_not_say(beam: int) -> None:
    options = SearchOptions(1, 2, beam, beam, 1.0, forbidden=(0, 1, 3), exact=False)
    agree(small(), 6, options, [[3, 4], [], [3], [5, 3], [], [3, 3]])


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_language_code_is_not_scored(beam: int, alpha: float, exact: bool) -> None:
    options = SearchOptions(1, 2, beam, beam, alpha, forbidden=(0, 1, 3), unscored=1, exact=exact)
    agree(small(), 6, options, [[3, 4], [3], [3], [5, 3], [4], [3, 3]])


def test_recordings_are_kept_as_long_as_there_is_room_for_their_caches() -> None:
    model = random_model(small()).to(DEVICE)
    search = GpuSearch(model, torch.float32)
    one, other = SearchOptions(1, 2, 1), SearchOptions(1, 2, 2)
    sources = ragged(9, 6)

    def run(options: SearchOptions, count: int) -> list[list[int]]:
        request = SearchRequest(sources[:count], [5] * count, options, [[]] * count)
        return [each[0].tokens for each in search(request)]

    first = run(one, 3)
    kept = list(search._runs.values())
    run(other, 3)
    assert len(search._runs) == 2
    assert run(one, 3) == first
    assert list(search._runs.values())[-1] is kept[0], "used again, and the last one to go now"
    search._room = sum(each.size for each in search._runs.values())
    run(one, 9)
    assert [asked.options.beam for asked in search._runs] == [1], "the larger of the two made room, and the other too"
    search.release()
    assert not search._runs
    assert run(one, 3) == first


def test_an_engine_gives_its_memory_back() -> None:
    engine = GpuEngine(random_model(small()).to(DEVICE), DEVICE)
    assert isinstance(engine, MemoryHolder)
    engine.search(SearchRequest([[3, 4, 2]], [4], SearchOptions(1, 2, 1), [[]]))
    assert engine._graph_search._runs
    engine.release()
    assert not engine._graph_search._runs


def test_what_a_recording_reads_stays_where_it_is() -> None:
    """An encoder that the engine leaves to the model reads a table that longer sources have replaced."""
    search = GpuSearch(
        random_model(small(attention__key_value_heads=2, positions__kind="sinusoidal")).to(DEVICE), torch.float32
    )
    assert search.model._encoder is None
    options = SearchOptions(1, 2, 1)
    for _ in range(2):  # the first time there is no graph of the encoder yet
        search(SearchRequest([[3, 4, 2]], [4], options, [[]]))
    table = search.model.cached_position_table()
    assert table is not None
    search(SearchRequest([[3] * 40 + [2]], [4], options, [[]]))
    assert search.model.cached_position_table() is not table, "so whoever needs it has to hold it"
    held = next(iter(search._runs.values()))._read
    assert DEVICE.type != "cuda" or any(each is table for each in held)


def test_after_an_error_the_same_slots_serve_the_next_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "SLOTS", 4)
    search = GpuSearch(random_model(small()).to(DEVICE), torch.float32)
    request = SearchRequest(ragged(11, 6), [7] * 11, SearchOptions(1, 2, 2, 2, forbidden=(0, 1)), [[]] * 11)

    def run() -> list[list[list[int]]]:
        return [[one.tokens for one in each] for each in search(request)]

    wanted = run()
    [kept] = search._runs.values()
    for failing in ("step", "look", "enter"):
        calls = iter(range(100))
        original = getattr(kept, failing)

        def fail(*given: object, calls: Iterator[int] = calls, original: Callable[..., None] = original) -> None:
            if next(calls) == 1:
                raise OSError("no more")
            original(*given)

        monkeypatch.setattr(kept, failing, fail)
        with pytest.raises(OSError, match="no more"):
            run()
        monkeypatch.undo()
        monkeypatch.setattr(gpu, "SLOTS", 4)
        assert run() == wanted


def test_limits_and_prefixes_that_cannot_be_are_refused() -> None:
    search = GpuSearch(random_model(small()).to(DEVICE), torch.float32)
    for limit, prefix in ((2, [3, 4, 5]), (0, []), (4, [2])):
        with pytest.raises(ConfigError):
            search(SearchRequest([[3, 4, 2]], [limit], SearchOptions(1, 2, 1), [prefix]))


def test_more_sentences_than_few_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "SLOTS", 2)
    monkeypatch.setattr(gpu, "STEPS_AT_ONCE", 1)
    agree(small(), 9, SearchOptions(1, 2, 1, 1, 1.0, forbidden=(0, 1)), [[]] * 9)


def test_long_and_short_sources_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "SLOTS", 8)
    monkeypatch.setattr(gpu, "ENCODED", 100)
    monkeypatch.setattr(gpu, "UNDIVIDED", 64)
    agree(small(), 30, SearchOptions(1, 2, 2, 1, 1.0, forbidden=(0, 1), exact=False), [[]] * 30, longest=80)


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:All-NaN")  # of Triton's interpreter
@pytest.mark.parametrize("beam", [1, 3])
def test_a_model_that_gives_no_numbers_is_refused(beam: int) -> None:
    model = random_model(small()).to(DEVICE)
    torch.nn.init.constant_(model.output_projection.weight, torch.nan)
    with pytest.raises(HeadwiseError, match="no possible next token"):
        GpuSearch(model, torch.float32)(SearchRequest([[4, 2]], [3], SearchOptions(1, 2, beam, exact=False), [[]]))


KINDS: dict[str, dict[str, Any]] = {
    "as in the paper": {},
    "norms before": {"norm.order": "pre", "feed_forward.activation": "gelu"},
    "as in Llama": {
        "norm.order": "pre",
        "norm.kind": "rms",
        "feed_forward.kind": "gated",
        "feed_forward.activation": "silu",
        "bias": False,
    },
}


@needs_kernels
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_products_of_few_rows_are_those_of_the_library(kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(small(width=48, feed_forward__hidden=64, **kind)).to(DEVICE)
    request = SearchRequest(ragged(3, 5), [3] * 3, SearchOptions(1, 2, 2, exact=False), [[]] * 3)
    made: list[str] = []

    def first_logits() -> Tensor:
        search, logits = GpuSearch(model, torch.float16), []
        step = search.model.step
        monkeypatch.setattr(search.model, "step", lambda *given: logits.append(step(*given).clone()) or logits[-1])
        search(request)
        return logits[0].float()

    monkeypatch.setattr(row_product, "PART_DEPTH", 32)
    kernels = row_product._kernels()
    monkeypatch.setattr(row_product, "_kernels", lambda: made.append("here") or kernels)
    found = first_logits()
    assert made
    monkeypatch.setattr(row_product, "MOST_MULTIPLICATIONS", 0)
    assert (found - first_logits()).abs().max() < 0.01 * found.abs().max()


@pytest.mark.parametrize("drawn", [True, False])
def test_what_the_model_does_itself_is_done_in_parts(drawn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given as many sentences as can take turns in slots, far more than the model has the memory for."""
    monkeypatch.setattr(gpu_engine, "GPU_BATCH_TOKENS", 40)
    engine = GpuEngine(random_model(small()).to(DEVICE), DEVICE)
    sizes: list[int] = []
    start = engine.stepper.start
    monkeypatch.setattr(engine.stepper, "start", lambda source: (sizes.append(source.numel()), start(source))[1])
    options = SearchOptions(1, 2, no_repeat=2, forbidden=(0, 1))
    request = SearchRequest(ragged(30, 6), [5] * 30, options, [[]] * 30)
    if drawn:
        generator = torch.Generator(DEVICE).manual_seed(0)
        found = engine.draw(request, SamplingOptions(samples=2), generator)
    else:
        found = engine.search(request)
        for i, each in enumerate(found):
            [alone] = engine.search(request.select([i]))
            assert [one.tokens for one in each] == [one.tokens for one in alone]
    assert [len(each) for each in found] == [2 if drawn else 1] * 30
    assert max(sizes) <= 40 // (2 if drawn else 1)


def test_several_threads_may_search_at_once() -> None:
    search = GpuSearch(random_model(small()).to(DEVICE), torch.float32)
    options = SearchOptions(1, 2, 3, 2, 1.0, forbidden=(0, 1), exact=False)

    def found(sources: list[list[int]]) -> list[list[list[int]]]:
        request = SearchRequest(sources, [8] * 9, options, [[]] * 9)
        return [[one.tokens for one in each] for each in search(request)]

    work = [ragged(9, longest) for longest in (4, 5, 6, 7)]
    wanted = [found(sources) for sources in work]
    with ThreadPoolExecutor(len(work)) as pool:
        assert list(pool.map(found, work * 3)) == wanted * 3


def test_what_it_cannot_do_is_known() -> None:
    assert can_search(SearchOptions(1, 2))
    assert not can_search(SearchOptions(1, 2, no_repeat=2))
    assert not can_search(SearchOptions(1, 2, min_length=2))
    assert not knows_all_parts(random_model(small(positions__kind="rotary")))
