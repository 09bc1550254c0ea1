"""The native engine computes what the model does with the same int8 weights, whatever else it computes meanwhile."""

import copy
import gc
import math
import multiprocessing
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headwise.decode.batching import padded
from headwise.decode.engines.native.describe import UnknownWeightsError, native_fits
from headwise.decode.engines.native.library import supported, why_not
from headwise.decode.engines.native.native_decoder import NativeDecoder, NativeState
from headwise.decode.engines.native.native_model import NativeModel
from headwise.decode.engines.plain import DecoderStepper
from headwise.decode.search.beam import beam_search
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchOptions, SearchRequest
from headwise.decode.translator import Translator
from headwise.errors import HeadwiseError
from headwise.models.build import build
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.folder.weights import weights_of
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.cache import KeyValues
from headwise.nn.int8 import to_int8
from headwise.recipe import model_config
from tests.shapes import replaced, with_dots
from tests.taught import SHAPE, SOURCES, taught

# Sources that a compiler refuses are no reason to skip: then all fails.
pytestmark = pytest.mark.skipif(
    not supported() and "failed" not in why_not(), reason=f"no native engine here: {why_not()}"
)

PAD, SOS, EOS, VOCABULARY = 0, 1, 2, 101

SHAPES: dict[str, dict[str, object]] = {
    "paper": {},
    "pre-norm": {"norm.order": "pre"},
    "rms": {"norm.kind": "rms", "norm.order": "pre"},
    "post-rms": {"norm.kind": "rms", "norm.epsilon": 0.1},
    "gelu": {"feed_forward.activation": "gelu"},
    "gelu-tanh": {"feed_forward.activation": "gelu_tanh"},
    "gated-silu-no-bias": {"feed_forward.activation": "silu", "feed_forward.kind": "gated", "bias": False},
    "gated-gelu": {"feed_forward.activation": "gelu", "feed_forward.kind": "gated"},
    "attention-bias-alone": {"bias": False, "attention.bias": True},
    "two-key-heads": {"attention.key_value_heads": 2},
    "one-key-head": {"attention.key_value_heads": 1},
    "heads-of-48": {"attention.head_width": 48},
    "heads-of-128": {"attention.heads": 2, "attention.head_width": 128},
    "width-of-48": {"width": 48, "attention.heads": 3},
    "attention-scale": {"attention.scale": 0.3},
    "untied": {"tie": "none", "output.bias": True, "output.scale": 0.5},
    "output-tied-and-scaled": {"tie": "decoder", "output.scale": 0.25},
    "embedding-norm": {"embedding.norm": True, "embedding.scale": False},
    "learned": {"positions.kind": "learned", "positions.max_positions": 40, "positions.offset": 2},
    "sines-in-halves": {"positions.kind": "sinusoidal_halves"},
    "no-positions": {"positions.kind": "none"},
    "rotary": {"positions.kind": "rotary"},
    "rotary-in-part": {"positions.kind": "rotary", "positions.rotary.width": 8, "attention.key_value_heads": 2},
    "other-encoder": {"encoder.width": 96, "encoder.heads": 6, "encoder.hidden": 160, "tie": "decoder"},
    "shared-layers": {"shared_layers": 1, "layers": 3},
    "deep-encoder": {"encoder.layers": 4, "layers": 1},
}


def model_of(vocabulary: int = VOCABULARY, **changes: object) -> Any:
    """A small model in float32 with its config, none of whose biases is zero."""
    shape = {"width": 64, "attention.heads": 4, "feed_forward.hidden": 96, "layers": 2, "dropout": 0.0}
    torch.manual_seed(1)
    config = model_config({**shape, **with_dots(changes)})
    model: Any = build(config, vocabulary, PAD).eval()
    model.config = config
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    assert isinstance(model, EncoderDecoder)
    return model


def native_model(model: Any, threads: int | None = None, **changes: Any) -> NativeModel:
    """In the engine, rounded if it is not yet."""
    if all(parameter.dtype != torch.int8 for parameter in model.parameters()):
        model = to_int8(copy.deepcopy(model))
    weights = {name: tensor.detach().numpy() for name, tensor in weights_of(model).items()}
    weights.update(changes)
    return NativeModel(model.config, weights, model.output_projection.weight.shape[0], PAD, threads)


def native_decoder(model: Any, threads: int | None = None) -> NativeDecoder:
    return NativeDecoder(native_model(model, threads))


@cache
def usual() -> EncoderDecoder:
    model = to_int8(model_of())
    assert isinstance(model, EncoderDecoder)
    return model


def with_short_keys(model: Any) -> Any:
    """The model itself, with keys and values rounded to half precision, as the engine keeps them."""
    for attention in [each for each in model.modules() if isinstance(each, MultiHeadAttention)]:

        def rounded(memory: Tensor, rotation: Any = None, own: Any = attention.keys_values) -> KeyValues:
            key, value = own(memory, rotation)
            return KeyValues(key.half().float(), value.half().float())

        attention.keys_values = rounded
    return model


def sources(count: int = 6, longest: int = 21) -> Tensor:
    """Sentences of all lengths; one has a single token."""
    torch.manual_seed(2)
    tokens = torch.randint(4, VOCABULARY, (count, longest))
    for sentence in range(1, count):
        tokens[sentence, 1 + torch.randint(0, longest, (1,)).item() :] = PAD
    tokens[-1, 1:] = PAD
    return tokens


def rehearse(steppers: list[Any], source: Tensor, steps: int) -> list[list[Tensor]]:
    """The log-probabilities of each stepper on the same way: a beam of three is reordered, and sentences leave."""
    torch.manual_seed(3)
    states = [stepper.start(source) for stepper in steppers]
    rows = len(source)
    found: list[list[Tensor]] = [[] for _ in steppers]
    for step in range(steps):
        tokens = torch.randint(4, VOCABULARY, (rows,))
        for index, stepper in enumerate(steppers):
            made, states[index] = stepper.step(tokens, states[index])
            found[index].append(made)
        if step == 1:
            chosen = torch.arange(rows).repeat_interleave(3)
        elif step > 1:
            chosen = torch.arange(rows) // 3 * 3 + torch.randint(0, 3, (rows,))
            if step % 7 == 0 and rows > 3:  # the sentence in the middle is done
                middle = rows // 6 * 3
                chosen = torch.cat((chosen[:middle], chosen[middle + 3 :]))
        else:
            continue
        rows = len(chosen)
        states = [stepper.select(state, chosen) for stepper, state in zip(steppers, states, strict=True)]
    return found


@pytest.mark.parametrize("name", SHAPES)
@torch.inference_mode()
def test_as_the_model_itself(name: str) -> None:
    """Where no input lies on the border between two whole numbers, all is equal; one that does makes others go
    another way, as far as int8 is from float32. Of small models many never do."""
    exact = model_of(**SHAPES[name])
    assert native_fits(exact.config)
    model = to_int8(copy.deepcopy(exact))
    native = native_decoder(model, threads=2)
    steppers = [native, DecoderStepper(with_short_keys(model)), DecoderStepper(exact)]
    ours, wanted, unrounded = rehearse(steppers, sources(), 24)
    apart = torch.cat([(one - other).abs().amax(1) for one, other in zip(ours, wanted, strict=True)])
    of_rounding = torch.cat([(one - other).abs().amax(1) for one, other in zip(wanted, unrounded, strict=True)])
    assert apart.quantile(0.25) < 1e-5, f"three of four rows are {apart.quantile(0.25):.1e} off"
    assert apart.max() < 2 * of_rounding.max()
    assert all(bool((table <= 0).all()) for table in ours)
    for table in ours:
        torch.testing.assert_close(table.exp().sum(1), torch.ones(len(table)), atol=1e-5, rtol=0)


@torch.inference_mode()
def test_short_keys_cost_nothing() -> None:
    """As near to the model in float32 as the same int8 weights are with all keys and values in float32."""
    exact = model_of()
    model = to_int8(copy.deepcopy(exact))
    steppers = [native_decoder(model, threads=1), DecoderStepper(model), DecoderStepper(exact)]
    ours, others, wanted = rehearse(steppers, sources(), 30)
    errors = [
        torch.cat([(one - right).flatten() for one, right in zip(each, wanted, strict=True)]).pow(2).mean().sqrt()
        for each in (ours, others)
    ]
    assert errors[0] < 1.05 * errors[1]


@pytest.mark.parametrize("beam", [1, 4])
@torch.inference_mode()
def test_searches_find_the_same(beam: int) -> None:
    """Of a random model, whose tokens are nearly alike, nearly all; and with the same scores."""
    model = to_int8(model_of(output__scale=4.0))
    native = native_decoder(model, 2)
    oracle = DecoderStepper(with_short_keys(copy.deepcopy(model)))
    source = sources(40, 30)
    limits = torch.full((len(source),), 30)
    options = SearchOptions(SOS, EOS, beam=beam, nbest=beam, length_penalty=0.6, exact=False, forbidden=(PAD, SOS))
    found = beam_search(native, native.start(source), limits, options)
    wanted = beam_search(oracle, oracle.start(source), limits, options)
    same = [one[0].tokens == other[0].tokens for one, other in zip(found, wanted, strict=True)]
    assert sum(same) >= 0.95 * len(same)
    for one, other, equal in zip(found, wanted, same, strict=True):
        if equal:
            assert math.isclose(one[0].score, other[0].score, abs_tol=0.1)


@pytest.mark.parametrize("beam", [1, 4])
def test_a_trained_model_translates_as_in_pytorch(beam: int) -> None:
    """All of it, with keys and values in float32 there: where a model knows what it says, no rounding changes it."""
    loaded = taught(shape=replaced(SHAPE, {"attention.heads": 2}))
    tokenizer, translator = loaded.tokenizer, Translator(loaded, device="cpu", engine="plain")
    model: Any = to_int8(copy.deepcopy(loaded.model))
    model.config = loaded.config
    rows = [translator.source_ids(text, source="en", target="de") for text in SOURCES]
    source = padded(rows, tokenizer.pad, translator.device)
    limits = torch.full((len(source),), 32)
    options = SearchOptions(tokenizer.sos, tokenizer.eos, beam=beam, length_penalty=1.0, exact=False)
    with torch.inference_mode():
        found = [
            beam_search(stepper, stepper.start(source), limits, options)  # type: ignore[type-var]
            for stepper in (native_decoder(model, 2), DecoderStepper(model))
        ]
    for one, other in zip(*found, strict=True):
        assert one[0].finished
        assert one[0].tokens == other[0].tokens
        assert math.isclose(one[0].score, other[0].score, abs_tol=0.02)


@pytest.mark.parametrize("beam", [1, 4])
@torch.inference_mode()
def test_a_batch_is_its_sentences_bit_for_bit(beam: int) -> None:
    native = native_decoder(usual(), 2)
    source = sources(9, 40)
    options = SearchOptions(SOS, EOS, beam=beam, nbest=beam, length_penalty=1.0, exact=False)
    together = beam_search(native, native.start(source), torch.full((len(source),), 25), options)
    for sentence, found in zip(source, together, strict=True):
        [alone] = beam_search(native, native.start(sentence[None]), torch.tensor([25]), options)
        assert [one.tokens for one in alone] == [one.tokens for one in found]
        assert [one.log_probability for one in alone] == [one.log_probability for one in found]


@torch.inference_mode()
def test_threads_change_nothing() -> None:
    source = sources(7, 50)
    found = rehearse([native_decoder(usual(), threads) for threads in (1, 2, 3)], source, 20)
    assert all(torch.equal(one, other) for one, other in zip(found[0], found[1], strict=True))
    assert all(torch.equal(one, other) for one, other in zip(found[0], found[2], strict=True))


@torch.inference_mode()
def test_padding_changes_nothing() -> None:
    native = native_decoder(usual(), 1)
    source = sources()
    wider = torch.cat((source, torch.full((len(source), 30), PAD)), 1)
    found = [native.step(torch.full((len(source),), SOS), native.start(each))[0] for each in (source, wider)]
    assert torch.equal(*found)


@torch.inference_mode()
def test_empty_sources_and_no_sources() -> None:
    """Of nothing comes something, in its own sentence alone; and of no sentences come no rows."""
    native = native_decoder(usual(), 2)
    source = sources(3, 9)
    source[1] = PAD
    table, _ = native.step(torch.full((3,), SOS), native.start(source))
    assert table.isfinite().all()
    wanted, _ = native.step(torch.full((2,), SOS), native.start(source[[0, 2]]))
    assert torch.equal(table[[0, 2]], wanted)
    nothing, _ = native.step(torch.empty(0, dtype=torch.int64), native.start(source[:0]))
    assert nothing.shape == (0, VOCABULARY)


@torch.inference_mode()
def test_very_long() -> None:
    """Caches of many blocks, 500 tokens in, 500 out: as near to float32 as int8 gets in the model itself."""
    exact = model_of()
    model = to_int8(copy.deepcopy(exact))
    source = torch.randint(4, VOCABULARY, (2, 500))
    source[1, 333:] = PAD
    steppers: list[Any] = [native_decoder(model, 2), DecoderStepper(with_short_keys(model)), DecoderStepper(exact)]
    states = [stepper.start(source) for stepper in steppers]
    squares = torch.zeros(2)
    for _ in range(500):
        tokens = torch.randint(4, VOCABULARY, (2,))
        made = [stepper.step(tokens, state) for stepper, state in zip(steppers, states, strict=True)]
        states = [state for _, state in made]
        squares += torch.stack([(table - made[2][0]).pow(2).mean() for table, _ in made[:2]])
    assert squares[0] < 1.1 * squares[1]


@torch.inference_mode()
def test_a_long_beam_keeps_what_it_stems_from() -> None:
    """Slots are used again: after 200 steps of a reordered beam each row must still be what its own tokens make."""
    native = native_decoder(usual(), 2)
    source = sources(3, 12)
    state = native.select(native.start(source), torch.arange(3).repeat_interleave(4))
    tokens = torch.full((12, 1), SOS)
    for _ in range(200):
        table, state = native.step(tokens[:, -1], state)
        rows = torch.arange(12) // 4 * 4 + torch.randint(0, 4, (12,))
        state = native.select(state, rows)
        tokens = torch.cat((tokens[rows], torch.randint(4, VOCABULARY, (12, 1))), 1)
    table, _ = native.step(tokens[:, -1], state)
    again = native.select(native.start(source), torch.arange(3).repeat_interleave(4))
    for column in tokens.T:
        wanted, again = native.step(column, again)
    # In which slots entries lie decides in which order they are added up, and that the last bits of the sums.
    assert (table - wanted).abs().amax(1).median() < 1e-5
    assert (table - wanted).abs().max() < 0.15


@torch.inference_mode()
def test_rows_in_any_order() -> None:
    """Hypotheses of different sentences need not stand together, nor be as many."""
    native = native_decoder(usual(), 2)
    source = sources(4, 15)
    first = torch.tensor([5, 6, 7, 8])
    _, state = native.step(first, native.start(source))
    chosen = torch.tensor([3, 0, 0, 2, 3, 0])
    table, _ = native.step(torch.arange(10, 16), native.select(state, chosen))
    for row, sentence in enumerate(chosen.tolist()):
        _, alone = native.step(first[sentence, None], native.start(source[sentence, None]))
        wanted, _ = native.step(torch.tensor([10 + row]), alone)
        torch.testing.assert_close(table[row, None], wanted, atol=1e-5, rtol=0)


def likeliest(model: NativeModel, count: int, forbidden: tuple[int, ...] = ()) -> list[list[Hypothesis]]:
    """The first tokens of a search, `<eos>` excluded: more than one, a beam finds as many as it is wide."""
    options = SearchOptions(SOS, EOS, beam=count, nbest=count, forbidden=forbidden, min_length=1)
    return model.search(SearchRequest(sources().tolist(), [1] * 6, options, [[]] * 6))


@pytest.mark.parametrize("count", [1, 8, 60, 500])
@torch.inference_mode()
def test_the_likeliest_tokens_are_the_largest_of_the_table(count: int) -> None:
    forbidden = (7, 0, 100, 3)
    for threads in (1, 2):
        native = native_decoder(usual(), threads)
        table, _ = native.step(torch.full((6,), SOS), native.start(sources()))
        table[:, [*forbidden, EOS]] = -math.inf
        wanted, places = table.sort(dim=1, descending=True, stable=True)
        found = min(count, VOCABULARY - 5)
        for row, hypotheses in enumerate(likeliest(native.model, count, forbidden)):
            assert [one.log_probability for one in hypotheses] == wanted[row, :found].tolist()
            assert [one.tokens for one in hypotheses] == places[row, :found, None].tolist()


@torch.inference_mode()
def test_of_equals_the_first_of_the_vocabulary() -> None:
    """However many threads look for them, and in whichever order."""
    model = model_of(tie="none", vocabulary=1500)
    model.output_projection.weight.data[:] = model.output_projection.weight.data[:7].repeat(215, 1)[:1500]
    for threads in (1, 2, 3):
        for hypotheses in likeliest(native_model(model, threads), 300):
            tokens = [one.tokens[0] for one in hypotheses[:213]]
            assert len({one.log_probability for one in hypotheses[:213]}) == 1
            assert tokens == list(range(tokens[0], tokens[0] + 7 * 213, 7))
            assert tokens[0] < 7 or tokens[0] == EOS + 7


@torch.inference_mode()
def test_two_engines_at_once() -> None:
    engines = [native_decoder(usual(), 2), native_decoder(to_int8(model_of(norm__order="pre")), 2)]
    wanted = [rehearse([engine], sources(), 12)[0] for engine in engines]
    # In turns from one thread, and each from a thread of its own.
    mixed = rehearse(engines, sources(), 12)
    source, found = sources(), {}

    def run(index: int) -> None:
        with torch.inference_mode():
            state, tables = engines[index].start(source), []
            for token in range(4, 40):
                table, state = engines[index].step(torch.full((6,), token), state)
                tables.append(table)
            found[index] = tables

    workers = [threading.Thread(target=run, args=(index,)) for index in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    beside = dict(found)
    for index in (0, 1):
        assert all(torch.equal(one, other) for one, other in zip(mixed[index], wanted[index], strict=True))
        run(index)
        assert all(torch.equal(one, other) for one, other in zip(beside[index], found[index], strict=True))


@torch.inference_mode()
def test_two_searches_at_once() -> None:
    native = native_decoder(usual(), 2)
    [wanted] = rehearse([native], sources(), 12)
    found = rehearse([native, native], sources(), 12)
    for tables in found:
        assert all(torch.equal(one, other) for one, other in zip(tables, wanted, strict=True))


def tasks() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


@torch.inference_mode()
def test_nothing_is_left_behind() -> None:
    """Threads end with their engine, and a state may outlive it."""
    gc.collect()
    before = tasks()
    native: NativeDecoder | None = native_decoder(usual(), 4)
    assert native is not None
    _, state = native.step(torch.full((6,), SOS), native.start(sources()))
    assert tasks() == before + 3
    native = None
    gc.collect()
    assert isinstance(state, NativeState)
    assert tasks() == before + 3
    del state
    gc.collect()
    assert tasks() == before


def step_in_a_child(native: NativeDecoder, state: NativeState, answers: Any) -> None:
    with torch.inference_mode():
        table, _ = native.step(torch.full((6,), SOS), state)
        fresh, _ = native.step(torch.full((6,), SOS), native.start(sources()))
        answers.put((table.sum().item(), fresh.sum().item()))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@torch.inference_mode()
def test_a_forked_process_has_threads_of_its_own() -> None:
    native = native_decoder(usual(), 2)
    state = native.start(sources())
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=step_in_a_child, args=(native, state, answers))
    child.start()
    found = answers.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    table, _ = native.step(torch.full((6,), SOS), state)
    assert found == (table.sum().item(), table.sum().item())


@torch.inference_mode()
def test_what_is_wrong_is_said() -> None:
    native = native_decoder(usual(), 1)
    state = native.start(sources())
    with pytest.raises(IndexError, match="vocabulary"):
        native.step(torch.full((6,), VOCABULARY), state)
    with pytest.raises(IndexError, match="vocabulary"):
        native.start(torch.full((1, 3), VOCABULARY))
    with pytest.raises(IndexError, match="row"):
        native.select(state, torch.tensor([6]))
    with pytest.raises(ValueError, match="6 rows"):
        native.step(torch.full((5,), SOS), state)
    native.step(torch.full((6,), SOS), state)
    with pytest.raises(ValueError, match="used already"):
        native.step(torch.full((6,), SOS), state)
    with pytest.raises(ValueError, match="thread"):
        native_decoder(usual(), -1)


@torch.inference_mode()
def test_learned_positions_end() -> None:
    model = to_int8(model_of(positions__kind="learned", positions__max_positions=5))
    native = native_decoder(model, 1)
    with pytest.raises(ValueError, match="only 5 were learned"):
        native.start(torch.full((1, 6), 7))
    state = native.start(torch.full((1, 5), 7))
    for _ in range(5):
        _, state = native.step(torch.tensor([SOS]), state)
    with pytest.raises(ValueError, match="only 5 were learned"):
        native.step(torch.tensor([SOS]), state)


@torch.inference_mode()
def test_a_broken_model_is_loud() -> None:
    """Not a number stays one, so that a search can say so; and it stays in its own sentence."""
    model = model_of(tie="none")
    model.source_embedding.weight.data[9] = math.nan
    native = native_decoder(model, 1)
    source = torch.tensor([[5, 6, 7], [5, 9, 7], [5, 6, 7]])
    table, _ = native.step(torch.full((3,), SOS), native.start(source))
    assert table[1].isnan().all()
    assert torch.equal(table[0], table[2])
    assert not table[0].isnan().any()
    # What it left in the caches is not in the way of the next.
    later, _ = native.step(torch.full((3,), SOS), native.start(source[[0, 0, 0]]))
    assert torch.equal(later[1], table[0])


def test_weights_that_are_not_the_configs_are_refused() -> None:
    """C++ reads them as bytes, so each is looked at first."""
    scales = usual().encoder.layers[0].feed_forward.expand.scales.numpy()
    name = "encoder.layers.0.feed_forward.expand"
    for changes in (
        {f"{name}.scales": scales[:-1]},
        {f"{name}.scales": scales.astype(np.float64)},
        {f"{name}.weight": np.zeros((96, 64), np.float32)},
        {f"{name}.weight": np.zeros((64, 96), np.int8)},
        {f"{name}.adapter": scales},
    ):
        with pytest.raises(UnknownWeightsError, match=name):
            native_model(usual(), 1, **changes)
    several = np.asfortranarray(usual().encoder.layers[0].feed_forward.expand.weight.numpy())
    assert native_model(usual(), 1, **{f"{name}.weight": several})  # only laid out in another way


@pytest.mark.parametrize(
    "changes",
    [
        {"positions.kind": "relative"},
        {"attention.window": 3},
        {"stack": "lstm"},
        {"attention.heads": 8},  # of width 8
        {"feed_forward.hidden": 90},
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, object]) -> None:
    model = model_of(**changes)
    assert not native_fits(model.config)
    with pytest.raises(HeadwiseError, match="parts"):
        native_decoder(model)
