"""What is shown of a translation is what the model computes, for encoder-decoders of every kind."""

from typing import Any

import pytest
import torch
from torch import Tensor

from headwise.decode.scoring import cross_attention
from headwise.inspect.inside.as_json import numbers
from headwise.inspect.inside.logit_lens import lens
from headwise.inspect.inside.one_translation import OneTranslation, Question, translate_inside
from headwise.inspect.inside.recording import CROSS, DECODER, ENCODER, KINDS
from headwise.inspect.inside.tour_numbers import heads_of
from headwise.inspect.inside.translation_trace import trace_json
from headwise.nn.masks import additive
from tests.inspect.inside.models import random_pair, taught_inside, translated
from tests.shapes import VARIANTS, max_difference, small
from tests.taught import SOURCES, TARGETS

LSTM = small(stack="lstm", positions__kind="none", attention__heads=1)


@pytest.fixture(params=VARIANTS)
def pair(request: pytest.FixtureRequest) -> OneTranslation:
    return random_pair(VARIANTS[request.param])


@torch.inference_mode()
def test_rows_sum_to_one_and_masked_cells_are_zero(pair: OneTranslation) -> None:
    for kind in KINDS:
        for layer, weights in enumerate(pair.recording.attention[kind]):
            assert max_difference(weights.sum(-1), torch.ones(weights.shape[:-1])) < 1e-5
            shown = torch.tensor(numbers(weights))
            if kind == DECODER:
                pattern = pair.recording.layers(DECODER)[layer].pattern
                hidden = ~pattern.mask(weights.size(1), weights.size(2), weights.device)
                assert bool((shown[:, hidden] == 0).all())
                assert bool((shown[:, ~hidden] > 0).all())
            else:
                assert bool((shown > 0).all())


@torch.inference_mode()
def test_queries_and_keys_give_the_attention(pair: OneTranslation) -> None:
    for kind in KINDS:
        for layer, weights in enumerate(pair.recording.attention[kind]):
            _, _, value, scores = heads_of(pair.recording, kind, layer)
            if kind == DECODER:
                mask = pair.recording.layers(DECODER)[layer].pattern.mask(*weights.shape[1:], weights.device)
                scores = scores + additive(mask, scores.dtype)
            assert max_difference(scores.softmax(-1), weights) < 1e-5
            joined = (weights @ value).transpose(0, 1).flatten(1)
            assert max_difference(joined, pair.recording.contexts(kind, layer)) < 1e-5
            assert max_difference(value, pair.recording.values(kind, layer)) < 1e-6


@torch.inference_mode()
def test_the_last_row_of_the_logit_lens_is_the_prediction(pair: OneTranslation) -> None:
    rows = lens(pair.recording)
    assert len(rows) == len(pair.recording.layers(DECODER)) + 1
    assert max_difference(rows[-1], pair.recording.log_probabilities) < 1e-5


def test_probabilities_are_those_of_scoring(pair: OneTranslation) -> None:
    translator = pair.inside.translator
    [wanted] = translator.reference_log_probabilities(["a dog"], ["ein Hund"])
    assert pair.chosen.tolist() == pytest.approx(wanted, abs=1e-4)
    assert pair.score == pytest.approx(translator.score("a dog", "ein Hund"), abs=1e-4)


def test_residuals_add_up(pair: OneTranslation) -> None:
    """What the sublayers add to what enters a layer is what leaves it, up to post-norm."""
    steps = trace_json(pair, "all")["steps"]
    for side in (ENCODER, DECODER):
        for residual, added, norm in zip(
            steps["residual"][side], steps["added"][side], steps["norm"][side], strict=True
        ):
            before = residual["in"]
            for block, more in added.items():
                total = torch.tensor(before) + torch.tensor(more)
                if pair.inside.translator.config.norm.order == "post":
                    total = _normed(total, norm[block])
                after = residual[f"after_{block}"]
                assert max_difference(total, torch.tensor(after)) < 1e-4
                before = after


def _normed(total: Tensor, norm: dict[str, Any]) -> Tensor:
    mean, deviation, rms = (torch.tensor(norm[name])[:, None] for name in ("mean", "deviation", "rms"))
    gain = torch.tensor(norm["gain"])
    if norm["bias"] is None:  # RMSNorm
        return total / (rms.square() + norm["epsilon"]).sqrt() * gain
    return (total - mean) / (deviation.square() + norm["epsilon"]).sqrt() * gain + torch.tensor(norm["bias"])


def test_the_embedding_and_the_positions_are_what_enters_the_first_layer() -> None:
    steps = trace_json(translated(), "all")["steps"]
    for side, name in ((ENCODER, "source"), (DECODER, "target")):
        scaled = torch.tensor(steps["embedding"][name]) * steps["embedding"]["scale"]
        entering = torch.tensor(steps["residual"][side][0]["in"])
        assert max_difference(scaled + torch.tensor(steps["positions"][name]), entering) < 1e-5


def test_a_trace_has_the_translation_its_tokens_and_its_words() -> None:
    answer = trace_json(translated())
    assert answer["translation"] == TARGETS[0]
    assert answer["source_words"] == SOURCES[0].split()
    assert answer["target_words"] == TARGETS[0].split()
    source, target = len(answer["source_tokens"]), len(answer["target_tokens"])
    assert answer["target_tokens"][-1]["word"] == -1
    assert len(answer["shown_tokens"]) == len(answer["log_probability"]) == len(answer["candidates"]) == target
    for kind, shape in {
        ENCODER: (1, 4, source, source),
        DECODER: (2, 4, target, target),
        CROSS: (2, 4, target, source),
    }.items():
        assert torch.tensor(answer["attention"][kind]).shape == shape
        assert torch.tensor(answer["value_norms"][kind]).shape == (*shape[:2], shape[3])
    assert answer["alignment"] == [
        list(each) for each in taught_inside().translator.translate(SOURCES[0], alignments=True).alignment
    ]
    best = [row[0] for row in answer["candidates"]]
    assert [each["id"] for each in best] == [each["id"] for each in answer["target_tokens"]]
    assert all(sum(each["probability"] for each in row) <= 1.0001 for row in answer["candidates"])


def test_the_attention_is_that_of_the_model() -> None:
    one = translated(given=True)
    [wanted] = cross_attention(taught_inside().model, [one.source_ids], [one.shown_ids], (1, 2))
    assert trace_json(one)["attention"]["cross"][1][2] == [pytest.approx(row, abs=1e-6) for row in wanted.tolist()]


def test_only_one_layer_is_listed_if_it_is_asked_for_or_the_sentence_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    one = translated()
    answer = trace_json(one, only=("cross", 1))
    assert answer["attention"]["encoder"] == [None]
    assert answer["attention"]["cross"][0] is None
    assert answer["attention"]["cross"][1] == trace_json(one)["attention"]["cross"][1]
    monkeypatch.setattr("headwise.inspect.inside.translation_trace.MOST_WEIGHTS", 100)
    long = trace_json(one)
    opening = long["opening"]
    listed = [
        (kind, layer) for kind in KINDS for layer, weights in enumerate(long["attention"][kind]) if weights is not None
    ]
    assert listed == [(opening["kind"], opening["layer"])]


def test_lstms_have_cross_attention_alone() -> None:
    answer = trace_json(random_pair(LSTM), "all")
    assert answer["attention"]["encoder"] == answer["attention"]["decoder"] == []
    [[weights]] = answer["attention"]["cross"]
    assert [sum(row) for row in weights] == pytest.approx([1.0] * len(weights), abs=1e-5)


def test_the_code_of_each_concept_is_in_the_file_that_is_named(pair: OneTranslation) -> None:
    from pathlib import Path

    import headwise

    root = Path(headwise.__file__).parent.parent.parent
    for each in trace_json(pair, "all")["code"]:
        lines = (root / each["file"]).read_text("utf-8").splitlines()[each["first"] - 1 : each["last"]]
        assert [line.strip() for line in lines] == [line.strip() for line in each["lines"]]
        assert 1 <= len(lines) <= 20


@pytest.mark.parametrize("text", ["", "  ", "x" * 4000])
def test_texts_that_cannot_be_looked_into_are_refused(text: str) -> None:
    from headwise.errors import DataError

    question = Question(text, "en", "de", translation="Hund")
    inside = random_pair(small(positions__kind="learned", positions__max_positions=9)).inside
    with pytest.raises(DataError, match=r"empty|too long"):
        translate_inside(inside, question)


def test_numbers_keep_seven_digits_and_zeros() -> None:
    values = torch.tensor([0.0, 1 / 3, -1234.5678, 0.00123456789, 3e5])
    shown = numbers(values)
    assert shown[0] == 0
    assert shown == pytest.approx(values.tolist(), rel=1e-6)
    assert all(len(repr(each).replace("-", "").replace(".", "").split("e")[0].strip("0")) <= 7 for each in shown)
