"""Comparisons, importance, positions, checkpoints, opening models, and models that do not translate."""

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from PIL import Image

from headwise.decode.translation import TranslateOptions
from headwise.errors import CheckpointError, ConfigError, DataError
from headwise.evaluate import evaluate
from headwise.inspect.inside.divergence import compare_json
from headwise.inspect.inside.importance import bleu_without, head_importance, heads_in
from headwise.inspect.inside.one_translation import Question, translate_inside
from headwise.inspect.inside.open_inside import copy_parts, inside, open_inside
from headwise.inspect.inside.position_numbers import positions_json
from headwise.inspect.inside.run_history import MOST, chosen, history_json
from headwise.inspect.inside.switches import Head, Switches
from headwise.inspect.inside.translation_trace import trace_json
from headwise.inspect.other_families import family_json, image_json
from headwise.models.folder.load import convert, save_model
from headwise.nn.positions import Sinusoidal
from headwise.nn.rotary import Frequencies
from tests.inspect.inside.models import random_inside, taught_inside, translated
from tests.inspect.test_image_attention import model as image_model
from tests.kinds import encoder, language_model
from tests.shapes import VARIANTS, max_difference
from tests.taught import SOURCES, TARGETS, taught


def test_two_settings_part_at_the_first_token_that_differs() -> None:
    heads = tuple(Head("cross", layer, head) for layer in range(2) for head in range(4))
    found = compare_json(translated(), translated(Switches(heads_off=heads), number=0))
    place, reason = found["diverges"]["position"], found["diverges"]["reason"]
    sides = [[each["piece"] for each in found[side]["target_tokens"]] for side in ("left", "right")]
    assert sides[0][:place] == sides[1][:place]
    assert (sides[0][place], sides[1][place]) == (found["diverges"]["left"], found["diverges"]["right"])
    by_piece = {each["piece"]: each for each in reason}
    for side, mine in zip(("left", "right"), (sides[0][place], sides[1][place]), strict=True):
        wanted = math.exp(found[side]["log_probability"][place])
        assert by_piece[mine][side] == pytest.approx(wanted, rel=1e-4)
        assert all(each[side] <= 1 for each in reason)
    assert compare_json(translated(), translated())["diverges"] is None


def test_float32_and_int8_of_a_model_can_be_compared(tmp_path: Path) -> None:
    save_model(tmp_path / "float", taught())
    convert(tmp_path / "float", tmp_path / "int8", "headwise", precision="int8")
    question = Question(SOURCES[0], "en", "de", translation=TARGETS[0])
    wide, narrow = open_inside(tmp_path / "float"), open_inside(tmp_path / "float", "int8")
    stored, widened = open_inside(tmp_path / "int8", "int8"), open_inside(tmp_path / "int8")
    assert [each.precision for each in (wide, narrow, stored, widened)] == ["float32", "int8", "int8", "float32"]
    logits = [translate_inside(each, question).recording.logits for each in (wide, narrow, stored, widened)]
    assert max_difference(logits[1], logits[2]) < 1e-5
    assert 1e-4 < max_difference(logits[0], logits[1]) < 1
    assert 1e-4 < max_difference(logits[0], logits[3]) < 1
    found = compare_json(translate_inside(wide, question), translate_inside(stored, question))
    assert found["right"]["model"]["precision"] == "int8"
    off = dataclasses.replace(question, switches=Switches(positions=False, heads_off=(Head("cross", 0, 0),)))
    assert trace_json(translate_inside(stored, off), "all")["changed_by"]
    with pytest.raises(ConfigError, match="precision"):
        open_inside(tmp_path / "float", "int4")
    with pytest.raises(CheckpointError):
        open_inside(tmp_path / "none")


def test_a_copy_shares_weights_but_not_modules() -> None:
    model = random_inside(VARIANTS["shared-layers"]).model
    copied = copy_parts(model)
    assert {id(each) for each in copied.parameters()} == {id(each) for each in model.parameters()}
    assert not {id(each) for each in copied.modules()} & {id(each) for each in model.modules()}
    assert len(copied.decoder.layers) == model.decoder.depth > len(model.decoder.layers)


def test_importance_is_what_bleu_loses_without_a_head() -> None:
    pairs = list(zip(SOURCES[:6], TARGETS[:6], strict=True))
    translator = taught_inside().translator
    whole = evaluate(translator, SOURCES[:6], TARGETS[:6], options=TranslateOptions(beam=1))[0].bleu
    assert bleu_without(taught_inside(), pairs, "en", "de") == pytest.approx(whole)
    *progress, result = head_importance(taught_inside(), pairs, "en", "de")
    heads = heads_in(taught_inside())
    assert len(progress) == len(heads) == len(set(heads)) == 4 * (1 + 2 * 2)
    assert [each["done"] for each in progress] == list(range(1, len(heads) + 1))
    assert result["bleu"] == pytest.approx(whole)
    for head, each in zip(heads, result["heads"], strict=True):
        assert Head(each["kind"], each["layer"], each["head"]) == head
        assert each["lost"] == pytest.approx(whole - each["bleu"], abs=1e-3)
    assert any(each["lost"] > 0 for each in result["heads"])
    cross = [head for head in heads if head.kind == "cross"]
    assert bleu_without(taught_inside(), pairs, "en", "de", cross) < whole
    for wrong in ([], [("a", "b")] * 201):
        with pytest.raises(DataError):
            bleu_without(taught_inside(), wrong, "en", "de")


def test_positions_are_the_encoding_of_the_model() -> None:
    found = positions_json("sinusoidal", 10, 6)
    assert max_difference(torch.tensor(found["table"]), Sinusoidal(10).table(torch.arange(6))) < 1e-6
    assert found["similarity"][0] == pytest.approx(1)
    angles = torch.tensor(positions_json("rotary", 8, 5)["angles"])
    assert max_difference(angles, torch.arange(5)[:, None] * Frequencies(8).plain()) < 1e-6
    model = random_inside(VARIANTS["positions-from-two"])
    learned = positions_json("learned", 1, 512, model)
    assert learned["length"] == 9
    assert max_difference(torch.tensor(learned["table"]), model.model.source_positions.weight[2:]) < 1e-5
    for kind, width, length in (("learned", 8, 8), ("other", 8, 8), ("rotary", 0, 8), ("rotary", 8, 10**6)):
        with pytest.raises(ConfigError):
            positions_json(kind, width, length, taught_inside())


def test_the_checkpoints_of_a_run_show_a_sentence_being_learned(tmp_path: Path) -> None:
    save_model(tmp_path, taught())
    with pytest.raises(ConfigError, match="no checkpoints"):
        history_json(tmp_path, Question(SOURCES[0], "en", "de"))
    for step, steps in ((10, 10), (80, 80)):
        save_model(tmp_path / "checkpoints" / f"step-{step:08d}", taught(steps=steps))
    first, last = history_json(tmp_path, Question(SOURCES[0], "en", "de"))["checkpoints"]
    assert (first["step"], last["step"]) == (10, 80)
    assert last["translation"] == TARGETS[0]
    assert last["score"] == last["score_of_last"] > first["score_of_last"]
    assert last["alignment"]


def test_of_many_checkpoints_some_are_chosen() -> None:
    folders = [Path(str(number)) for number in range(100)]
    found = chosen(folders)
    assert len(found) == len(set(found)) == MOST
    assert (found[0], found[-1]) == (folders[0], folders[-1])
    assert chosen(folders[:3]) == folders[:3]


def test_a_language_model_shows_what_it_holds_likely_next() -> None:
    loaded = language_model()
    found = family_json(loaded, "The cat sees", generate=3)
    assert found["kind"] == "causal_lm"
    tokens = len(found["tokens"])
    weights = torch.tensor(found["attention"])
    assert weights.shape == (3, 4, tokens, tokens)
    assert bool((weights.triu(1) == 0).all())
    assert max_difference(weights.sum(-1), torch.ones(weights.shape[:-1])) < 1e-5
    assert len(found["candidates"]) == tokens == len(found["log_probability"]) + 1
    # what greedy search generated was the most probable token
    for place in range(tokens - 4, tokens - 1):
        assert found["candidates"][place][0]["piece"] == found["tokens"][place + 1]
        assert math.log(found["candidates"][place][0]["probability"]) == pytest.approx(
            found["log_probability"][place], abs=1e-4
        )
    roots = [node for node in found["tree"] if node["parent"] is None]
    assert [node["piece"] for node in roots] == [each["piece"] for each in found["candidates"][-1][:3]]
    assert len(found["tree"]) == 3 + 9 + 27


def test_a_masked_language_model_fills_its_blanks() -> None:
    found = family_json(encoder(), "The ___ sees ___.")
    assert found["kind"] == "masked_lm"
    assert len(found["blanks"]) == len(found["blank_places"]) == 2
    assert all(found["tokens"][place] == found["tokens"][found["blank_places"][0]] for place in found["blank_places"])
    assert all(row[0]["probability"] >= row[-1]["probability"] for row in found["blanks"])
    assert family_json(encoder(), "The cat sees it.")["blanks"] == []


def test_an_image_classifier_shows_where_it_looks(tmp_path: Path) -> None:
    Image.new("RGB", (40, 30), (200, 10, 10)).save(tmp_path / "red.png")
    found = image_json(image_model(), tmp_path / "red.png")
    assert torch.tensor(found["looks"]).shape == (3, 2, 17)
    assert torch.tensor(found["pixels"]).shape == (16, 16, 3)
    assert found["grid"] == [4, 4]
    assert sum(found["rollout"]) == pytest.approx(1, abs=1e-5)


def test_only_translators_have_this_inside() -> None:
    with pytest.raises(ConfigError, match="not a model that translates"):
        inside(language_model())
    with pytest.raises(ConfigError, match="translates"):
        family_json(taught(), "text")
    with pytest.raises(ConfigError, match="generate"):
        family_json(language_model(), "text", generate=1000)


def test_the_bundled_model_has_its_name(small_bundled: Path) -> None:
    assert open_inside("bundled").name == "bundled"
    assert open_inside(small_bundled).name == "bundled"
