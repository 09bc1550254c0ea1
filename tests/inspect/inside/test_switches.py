"""Switches do what they say, to a copy of the model."""

from typing import Any

import pytest
import torch
from torch import Tensor

from headwise.errors import ConfigError
from headwise.inspect.inside.logit_lens import residual_states
from headwise.inspect.inside.one_translation import Question, translate_inside
from headwise.inspect.inside.open_inside import copy_parts
from headwise.inspect.inside.recording import CROSS, DECODER, ENCODER, KINDS, record
from headwise.inspect.inside.switches import Head, Switches, read_switches, switched
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.positions import POSITIONS
from tests.inspect.inside.models import taught_inside, translated
from tests.shapes import VARIANTS, max_difference, random_model, sentences, small
from tests.taught import SOURCES, TARGETS

EVERY_SWITCH: list[dict[str, Any]] = [
    {"positions": False},
    {"mask": False},
    {"scaling": False},
    {"heads_off": [["encoder", 0, 1], ["decoder", 1, 0], ["cross", 1, 3]]},
    {"memory_layer": 0},
    {"patch": {"text": SOURCES[5], "heads": [["encoder", 0, 0], ["cross", 0, 2]]}},
]


def logits(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    with torch.inference_mode():
        made: Tensor = model(source, target)
    return made


@pytest.mark.parametrize("given", EVERY_SWITCH, ids=lambda given: next(iter(given)))
def test_a_switch_changes_the_translation_s_probability_and_never_the_model(given: dict[str, Any]) -> None:
    before = translated(given=True)
    switches = read_switches(given)
    assert switches.as_dict() == given
    changed = translated(switches, given=True)
    assert max_difference(changed.recording.logits, before.recording.logits) > 1e-3
    assert torch.equal(translated(given=True).recording.logits, before.recording.logits)


@pytest.mark.parametrize("kind", POSITIONS)
@torch.inference_mode()
def test_without_positions_the_encoder_cannot_tell_the_order(kind: str) -> None:
    model = random_model(small(positions__kind=kind))
    source, order = sentences(1, 7), torch.randperm(7)
    without = switched(model, Switches(positions=False))
    shuffled = without.encode(source[:, order]).memory
    assert max_difference(shuffled, without.encode(source).memory[:, order]) < 1e-5
    if kind != "none":
        assert max_difference(model.encode(source[:, order]).memory, model.encode(source).memory[:, order]) > 1e-3


def test_without_the_mask_earlier_positions_see_later_tokens() -> None:
    model = random_model(small())
    source, target = sentences(1, 5), sentences(1, 6)
    other = target.clone()
    other[0, -1] = target[0, -1] % 30 + 5
    without = switched(model, Switches(mask=False))
    assert max_difference(logits(model, source, target)[:, :-1], logits(model, source, other)[:, :-1]) < 1e-5
    assert max_difference(logits(without, source, target)[:, :-1], logits(without, source, other)[:, :-1]) > 1e-3
    weights = record(without, source[0].tolist(), target[0].tolist()).attention[DECODER]
    assert all(bool((each > 0).all()) for each in weights)


def test_without_scaling_the_scores_are_the_plain_products() -> None:
    model = random_model(small())
    without = switched(model, Switches(scaling=False))
    found = [each.score_scale for each in without.modules() if isinstance(each, MultiHeadAttention)]
    assert len(found) == 8
    assert set(found) == {1.0}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", ["sinusoidal-layer-post-4kv", "shared-layers", "feed-forward-gated"])
def test_a_head_that_is_off_is_a_head_whose_values_are_zero(kind: str, shape: str) -> None:
    config = VARIANTS.get(shape) or small()
    model = random_model(config)
    off = switched(model, Switches(heads_off=(Head(kind, 1, 2),)))
    by_hand = copy_parts(model)
    stack: Any = by_hand.encoder if kind == ENCODER else by_hand.decoder
    attention = stack.layers[1].cross_attention if kind == CROSS else stack.layers[1].self_attention
    rows = slice(2 * attention.head_width, 3 * attention.head_width)
    weight, bias = attention.value.weight.detach().clone(), attention.value.bias.detach().clone()
    weight[rows], bias[rows] = 0, 0
    attention.value = torch.nn.Linear(*reversed(weight.shape))
    attention.value.weight.data, attention.value.bias.data = weight, bias
    source, target = sentences(1, 5), sentences(1, 6)
    assert max_difference(logits(off, source, target), logits(by_hand, source, target)) < 1e-5
    assert max_difference(logits(off, source, target), logits(model, source, target)) > 1e-4


@pytest.mark.parametrize("order", ["pre", "post"])
@torch.inference_mode()
def test_an_earlier_memory_is_the_residual_path_after_that_layer(order: str) -> None:
    model = random_model(small(norm__order=order))
    source, target = sentences(1, 5), sentences(1, 6)
    states = residual_states(record(copy_parts(model), source[0].tolist(), target[0].tolist()), ENCODER)
    norm: Any = model.encoder.final_norm
    for layers, state in enumerate(states):
        memory = switched(model, Switches(memory_layer=layers)).encode(source).memory[0]
        assert max_difference(memory, norm(state) if norm is not None else state) < 1e-5


def test_heads_patched_from_the_same_sentence_change_nothing() -> None:
    heads = tuple(Head(kind, 0, head) for kind in KINDS for head in range(4))
    same = Switches(patch_text=SOURCES[0], patched=heads)
    assert max_difference(translated(same, given=True).recording.logits, translated(given=True).recording.logits) < 1e-5


def test_with_all_heads_of_the_encoder_patched_the_model_translates_the_other_sentence() -> None:
    """Only the embedding itself, and what the feed-forward network makes of it, is left of the first."""
    inside, other = taught_inside(), SOURCES[4]
    heads = tuple(
        Head(kind, layer, head) for kind, layers in ((CROSS, 2),) for layer in range(layers) for head in range(4)
    )
    question = Question(SOURCES[0], "en", "de", switches=Switches(patch_text=other, patched=heads))
    assert translate_inside(inside, question).text == TARGETS[4]


def test_without_a_mask_the_model_reads_its_whole_translation_again_at_each_step() -> None:
    """Its own search is greedy search in which every step sees all tokens so far, without a cache."""
    one = translated(Switches(mask=False))
    model, ids = one.recording.model, one.shown_ids
    question = Question(SOURCES[0], "en", "de", beam=1, switches=Switches(mask=False))
    found = translate_inside(taught_inside(), question)
    with torch.inference_mode():
        encoded = model.encode(torch.tensor([found.source_ids]))
        tokens = [ids[0]]
        for wanted in found.target_ids:
            hidden = model.decode(torch.tensor([tokens]), encoded).hidden[:, -1]
            scores = model.output_projection(hidden)[0]
            scores[list(found.inside.tokenizer.specials)] = -torch.inf
            assert int(scores.argmax()) == wanted
            tokens.append(wanted)


@pytest.mark.parametrize(
    "wrong",
    [
        {"positions": 1},
        {"unknown": True},
        {"heads_off": "all"},
        {"heads_off": [["cross", 0]]},
        {"heads_off": [["sideways", 0, 0]]},
        {"heads_off": [["cross", "0", 0]]},
        {"heads_off": [["cross", 2, 0]]},
        {"heads_off": [["cross", 0, -1]]},
        {"heads_off": [["encoder", 0, 4]]},
        {"memory_layer": 2},
        {"memory_layer": True},
        {"patch": "x"},
        {"patch": {"heads": []}},
        {"patch": {"text": 1, "heads": [["cross", 0, 0]]}},
        {"patch": {"text": " ", "heads": [["cross", 0, 0]]}},
    ],
)
def test_switches_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        translated(read_switches(wrong))


def test_an_lstm_has_no_heads_to_switch_off() -> None:
    model = random_model(small(stack="lstm", positions__kind="none", attention__heads=1))
    with pytest.raises(ConfigError, match="LSTM"):
        switched(model, Switches(heads_off=(Head(ENCODER, 0, 0),)))
