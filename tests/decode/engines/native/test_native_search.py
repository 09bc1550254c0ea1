"""The search in C++ finds what `search.py` finds with the same steps: the same hypotheses, to the last bit."""

import math
import random
import signal
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from headwise.decode.engines.native.library import supported, why_not
from headwise.decode.engines.native.native_decoder import NativeDecoder
from headwise.decode.engines.native.native_engine import NativeEngine
from headwise.decode.engines.native.native_model import NativeModel
from headwise.decode.search.beam import beam_search
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import Prefixes, SamplingOptions, SearchOptions, SearchRequest
from headwise.errors import ConfigError, HeadwiseError
from headwise.nn.int8 import to_int8
from tests.decode.engines.native.test_native_model import EOS, PAD, SOS, model_of, native_model

pytestmark = pytest.mark.skipif(
    not supported() and "failed" not in why_not(), reason=f"no native engine here: {why_not()}"
)

VOCABULARY = 67


def speaking(seed: int, **changes: object) -> Any:
    """A random model that prefers some tokens to others, and ends after a while."""
    model = model_of(VOCABULARY, tie="none", output__bias=True, output__scale=1.2, **changes)
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(1 + 0.5 * torch.randn(()).abs())
        model.output_projection.bias.normal_().mul_(1.5)
        model.output_projection.bias[EOS] = 3.0 + 0.5 * (seed % 4)
    return model


def alone(native: NativeModel, source: list[int], limit: int, options: SearchOptions, prefix: list[int]) -> Any:
    """What `search.py` finds for one sentence."""
    decoder = NativeDecoder(native)
    with torch.inference_mode():
        state = decoder.start(torch.tensor([source]))
        return beam_search(decoder, state, torch.tensor([limit]), options, [prefix])[0]


def plain(hypotheses: list[Hypothesis]) -> list[tuple[object, ...]]:
    return [(one.tokens, one.score, one.log_probability, one.finished) for one in hypotheses]


def drawn_options(draw: random.Random) -> SearchOptions:
    beam = draw.choice([1, 1, 2, 3, 4, 5, 8])
    return SearchOptions(
        sos=SOS,
        eos=EOS,
        beam=beam,
        nbest=draw.randint(1, beam),
        length_penalty=draw.choice([0.0, 0.6, 1.0, 1.0, 2.5, -0.7]),
        min_length=draw.choice([0, 0, 3, 9]),
        forbidden=draw.choice([(), (PAD, SOS), tuple(draw.sample(range(3, VOCABULARY), 30))]),
        exact=draw.random() < 0.5,
        other_ends=draw.choice([(), (), (7,), (5, 9)]),
        unscored=draw.choice([0, 0, 1, 2]),
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_same_hypotheses_and_scores(seed: int) -> None:
    draw = random.Random(seed)
    shape = draw.choice([{}, {"norm.order": "pre"}, {"positions.kind": "rotary"}, {"positions.kind": "learned"}])
    native = native_model(speaking(seed, **shape), threads=draw.choice([1, 2]))
    for _ in range(3):
        options = drawn_options(draw)
        count = draw.randint(1, 7)
        sources = [[draw.randrange(3, VOCABULARY) for _ in range(draw.randint(1, 20))] for _ in range(count)]
        limits = [draw.randint(6, 40) for _ in sources]
        ends = set(options.ends)
        allowed = [token for token in range(3, VOCABULARY) if token not in ends]
        prefixes = [draw.sample(allowed, options.unscored + draw.choice([0, 0, 1, 4])) for _ in sources]
        found = native.search(SearchRequest(sources, limits, options, prefixes))
        for i, hypotheses in enumerate(found):
            wanted = alone(native, sources[i], limits[i], options, prefixes[i])
            assert plain(hypotheses) == plain(wanted), (options, limits[i], prefixes[i])


def test_the_models_are_not_all_alike() -> None:
    """Else the test above would hold little: some searches end at once, some after a while, some at the limit."""
    options = SearchOptions(SOS, EOS, beam=4, nbest=4, length_penalty=1.0, exact=False)
    request = SearchRequest([[5, 6, 7], [9, 8]], [40, 40], options, [[], []])
    models = [native_model(speaking(seed), 1) for seed in range(16)]
    found = [one for native in models for each in native.search(request) for one in each]
    assert 0.2 < sum(one.finished for one in found) / len(found) < 0.8
    assert len({len(one.tokens) for one in found}) > 10
    exactly = request._replace(options=replace(options, exact=True))
    others = [one for native in models for each in native.search(exactly) for one in each]
    assert plain(others) != plain(found)


def test_positions_are_made_as_they_are_needed() -> None:
    """Longer than the first table of positions, twice over."""
    native = native_model(speaking(1), 1)
    options = SearchOptions(SOS, EOS, beam=2, min_length=150)
    [found] = native.search(SearchRequest([[5, 6, 7]], [160], options, [[]]))
    assert len(found[0].tokens) >= 150
    assert plain(found) == plain(alone(native, [5, 6, 7], 160, options, []))


def test_learned_positions_end() -> None:
    native = native_model(speaking(1, positions__kind="learned", positions__max_positions=6), 1)
    options = SearchOptions(SOS, EOS, min_length=9)
    assert len(native.search(SearchRequest([[5, 6]], [6], options, [[]]))[0][0].tokens) == 6
    with pytest.raises(ValueError, match="only 6 were learned"):
        native.search(SearchRequest([[5, 6]], [7], options, [[]]))


def test_nothing_to_do_and_empty_sources() -> None:
    native = native_model(speaking(1), 1)
    options = SearchOptions(SOS, EOS, beam=3)
    assert native.search(SearchRequest([], [], options, [])) == []
    [found] = native.search(SearchRequest([[]], [5], options, [[]]))
    assert found[0].tokens == alone(native, [PAD], 5, options, [])[0].tokens


def test_a_model_that_leaves_no_way_on_is_loud() -> None:
    everything = tuple(token for token in range(VOCABULARY) if token != EOS)
    for beam in (1, 3):
        native = native_model(speaking(1), 1)
        options = SearchOptions(SOS, EOS, beam, forbidden=everything, min_length=2)
        with pytest.raises(HeadwiseError, match="no possible next token"):
            native.search(SearchRequest([[5, 6]], [7], options, [[]]))
        broken = speaking(1)
        broken.source_embedding.weight.data[9] = math.nan
        with pytest.raises(HeadwiseError, match="no possible next token"):
            native_model(broken, 1).search(SearchRequest([[5, 9]], [7], SearchOptions(SOS, EOS, beam), [[]]))


@pytest.mark.parametrize(
    ("limits", "prefixes", "error", "message"),
    [
        ([0], [[]], ConfigError, "at least 1"),
        ([5, 5], [[]], ConfigError, "1 prefixes for 2"),
        ([2], [[5, 6, 7]], ConfigError, "does not fit"),
        ([9], [[EOS]], ConfigError, "other than <eos>"),
        ([9], [[VOCABULARY]], ConfigError, "not in a vocabulary"),
        ([9, 9], [[], []], ValueError, "1 sentences"),
    ],
)
def test_what_is_wrong_is_said(limits: list[int], prefixes: Prefixes, error: type[Exception], message: str) -> None:
    native = native_model(speaking(1), 1)
    with pytest.raises(error, match=message):
        native.search(SearchRequest([[5, 6]], limits, SearchOptions(SOS, EOS), prefixes))
    with pytest.raises(IndexError, match="vocabulary"):
        native.search(SearchRequest([[5, VOCABULARY]], [4], SearchOptions(SOS, EOS), [[]]))
    with pytest.raises(IndexError, match="vocabulary"):
        native.search(SearchRequest([[5]], [4], SearchOptions(VOCABULARY, EOS), [[]]))


def test_what_it_does_not_know_is_searched_in_pytorch() -> None:
    native = native_model(speaking(2), 1)
    engine = NativeEngine(native)
    options = SearchOptions(SOS, EOS, beam=3, no_repeat=1, min_length=12)
    [found] = engine.search(SearchRequest([[5, 6, 7]], [20], options, [[]]))
    assert len(set(found[0].tokens)) == len(found[0].tokens)
    assert plain(found) == plain(alone(native, [5, 6, 7], 20, options, []))
    one, other = (
        engine.draw(SearchRequest([[5, 6]], [9], SearchOptions(SOS, EOS), [[]]), SamplingOptions(samples=3), generator)
        for generator in (torch.Generator().manual_seed(4) for _ in range(2))
    )
    assert [plain(each) for each in one] == [plain(each) for each in other]
    assert len(one[0]) == 3


def test_arrays_of_another_kind_are_refused() -> None:
    """C++ would read whatever lies there."""
    from headwise.decode.engines.native.library import address

    with pytest.raises(TypeError, match="contiguous"):
        address(np.zeros((4, 4), np.float32)[:, ::2], np.float32)
    with pytest.raises(TypeError, match="int8"):
        address(np.zeros(4, np.int8), np.float32)


@pytest.mark.parametrize("shape", [{}, {"attention.key_value_heads": 2}, {"layers": 1}, {"layers": 4}])
def test_attention_is_that_of_the_model(shape: dict[str, object]) -> None:
    """Of pairs of all lengths, in one pass; that of int8 in PyTorch, up to rounding that goes another way."""
    model = to_int8(speaking(5, **shape))
    draw = random.Random(7)
    sources, targets = (
        [[draw.randrange(3, VOCABULARY) for _ in range(length)] for length in draw.sample(range(1, 40), 6)]
        for _ in range(2)
    )
    found = native_model(model, 2).attention(sources, targets)
    last = model.decoder.depth - 1, 1  # layer and head
    of_one_head = native_model(model, 2).attention(sources, targets, last)
    for source, target, weights, single in zip(sources, targets, found, of_one_head, strict=True):
        assert weights.shape == (len(target), len(source))
        assert np.allclose(weights.sum(1), 1, atol=1e-5)
        with torch.inference_mode():
            seen = model.decode(torch.tensor([target]), model.encode(torch.tensor([source])), capture=True)
        layers = seen.cross_weights
        apart = [np.abs(single - head.numpy()).max() for head in layers[last[0]][0]]
        assert apart[last[1]] < 0.05  # rounding shows more in a single head
        assert len(source) <= 4 or apart[last[1]] == min(apart)
        wanted = layers[max(0, len(layers) - 2)][0].mean(0).numpy()
        assert np.abs(weights - wanted).max() < 0.02
        others = [layer[0].mean(0).numpy() for layer in layers[max(0, len(layers) - 2) + 1 :] if len(source) > 4]
        assert all(np.abs(weights - other).max() > 0.02 for other in others)
    assert native_model(model, 2).attention([], []) == []


def test_a_padding_id_within_a_source_is_text() -> None:
    model = speaking(3)
    native = native_model(to_int8(model))
    options = SearchOptions(sos=SOS, eos=EOS, beam=3)
    source, inside = [5, 6, 7, EOS], [5, PAD, 6, 7, EOS]
    request = SearchRequest([source, inside, [*inside, PAD, PAD]], [9] * 3, options, [[]] * 3)
    first, second, padded = native.search(request)
    assert plain(second) == plain(padded)
    assert [one.score for one in first] != [one.score for one in second]


def test_a_long_search_can_be_interrupted() -> None:
    """Though there are positions enough for all of it."""

    def ring(*_: object) -> None:
        raise TimeoutError

    native = native_model(speaking(1), 1)
    limit = 100_000
    native.target_positions.up_to(limit)
    options = SearchOptions(SOS, EOS, beam=4, min_length=limit)
    before = signal.signal(signal.SIGALRM, ring)
    begun = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(TimeoutError):
            native.search(SearchRequest([[5, 6, 7]], [limit], options, [[]]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begun < 5
