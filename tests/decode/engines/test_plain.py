"""Step by step with the cache is the parallel pass, whatever a search does with the rows in between."""

import pytest
import torch
from torch import Tensor

from headwise.config import ModelConfig
from headwise.decode.engines.plain import DecoderState, DecoderStepper
from headwise.models.encoder_decoder import EncoderDecoder
from tests.shapes import VARIANTS, max_difference, random_model, sentences, small

TIGHT = 2e-5
SOS = 1


def parallel(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    """Log-probabilities [B, T, V] after each target token, by teacher forcing."""
    with torch.no_grad():
        return model(source, target).log_softmax(-1)


def advance(stepper: DecoderStepper, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
    """Feed the columns of `tokens` [R, T] one by one; the log-probabilities after the last."""
    result = torch.empty(0)
    with torch.no_grad():
        for column in tokens.unbind(1):
            result, state = stepper.step(column, state)
    return result, state


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_steps_equal_the_parallel_pass(config: ModelConfig) -> None:
    model = random_model(config)
    stepper = DecoderStepper(model)
    source, target = sentences(3, 6, shortest=2), sentences(3, 5)
    target[:, 0] = SOS
    expected = parallel(model, source, target)
    with torch.no_grad():
        state = stepper.start(source)
        for place, column in enumerate(target.unbind(1)):
            log_probabilities, state = stepper.step(column, state)
            assert max_difference(log_probabilities, expected[:, place]) < TIGHT
    assert log_probabilities.exp().sum(-1).tolist() == pytest.approx([1.0] * 3, abs=1e-5)


# Rows of a state of three: what each search asks for.
SELECTIONS = {
    "reorder": [2, 0, 1],
    "repeat": [0, 0, 1, 1, 2, 2],
    "shrink": [0, 2],
    "one": [1],
    "reorder and repeat": [2, 2, 0],
    "as it is": [0, 1, 2],
}


@pytest.mark.parametrize("rows", SELECTIONS.values(), ids=SELECTIONS)
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_select_takes_sources_and_histories_along(rows: list[int], positions: str) -> None:
    model = random_model(small(positions__kind=positions, attention__key_value_heads=2))
    stepper = DecoderStepper(model)
    source, start, more = sentences(3, 6, shortest=2), sentences(3, 3), sentences(len(rows), 2)
    _, state = advance(stepper, stepper.start(source), start)
    chosen = torch.tensor(rows)
    found, state = advance(stepper, stepper.select(state, chosen), more)
    expected = parallel(model, source[chosen], torch.cat([start[chosen], more], 1))[:, -1]
    assert max_difference(found, expected) < TIGHT
    assert state.sentences.tolist() == rows


def test_select_before_the_first_step() -> None:
    """Sampling several translations of a sentence repeats its row before there is a cache."""
    model = random_model(small())
    stepper = DecoderStepper(model)
    source, rows, tokens = sentences(2, 5), torch.tensor([0, 0, 1, 1]), sentences(4, 2)
    found, _ = advance(stepper, stepper.select(stepper.start(source), rows), tokens)
    assert max_difference(found, parallel(model, source[rows], tokens)[:, -1]) < TIGHT


def test_rows_that_change_places_within_their_sentence() -> None:
    """The way of a beam: two rows a sentence, swapped and doubled, and the source is not copied again."""
    model = random_model(small())
    stepper = DecoderStepper(model)
    source, start, more = sentences(2, 6, shortest=3), sentences(4, 2), sentences(4, 2)
    doubled = torch.tensor([0, 0, 1, 1])
    _, state = advance(stepper, stepper.select(stepper.start(source), doubled), start)
    rows = torch.tensor([1, 0, 3, 3])
    selected = stepper.select(state, rows)
    assert selected.encoded.memory is state.encoded.memory
    found, _ = advance(stepper, selected, more)
    expected = parallel(model, source[doubled], torch.cat([start[rows], more], 1))[:, -1]
    assert max_difference(found, expected) < TIGHT


def test_select_changes_nothing_in_the_state_it_was_given() -> None:
    model = random_model(small())
    stepper = DecoderStepper(model)
    _, state = advance(stepper, stepper.start(sentences(3, 5)), sentences(3, 2))
    before = [layer.past.key.clone() for layer in state.cache if layer.past is not None]
    advance(stepper, stepper.select(state, torch.tensor([2, 1, 0])), sentences(3, 2))
    after = [layer.past.key for layer in state.cache if layer.past is not None]
    assert len(before) == 3
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
