"""Every engine translates as the plain one does: the same tests for all of them."""

import copy
import dataclasses
import math
from functools import cache
from pathlib import Path

import pytest
import torch

from headwise.decode.engines.native import library
from headwise.decode.engines.native.library import supported
from headwise.decode.engines.native.native_engine import NativeEngine
from headwise.decode.engines.table import ENGINES
from headwise.decode.search.options import SamplingOptions
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import CheckpointError, ConfigError
from headwise.models.folder.config_file import save_description
from headwise.models.folder.description import LoadedModel
from headwise.models.folder.load import convert, load, save_model
from headwise.nn import int8
from headwise.recipe import replaced
from tests.taught import SHAPE, SOURCES, TARGETS, taught

HERE = [name for name in ENGINES if (name != "int8" or int8.is_fast_here()) and name != "gpu"]
NATIVE = "int8 in C++"
if supported():
    HERE.append(NATIVE)
UNSEEN = ["My dog sees the small cat.", "A fish eats the apple.", "über ▁ 100 % 日本", "a a a a a a a"]
TEXTS = [*SOURCES, "", *UNSEEN, "   "]


@cache
def engine(name: str) -> Translator:
    """The heads of the usual model are too narrow for the native engine: what it translates is another one."""
    translator = Translator(model_of(name), device="cpu", engine=name.split()[0])
    assert isinstance(translator._engine, NativeEngine) is (name == NATIVE)
    return translator


@cache
def oracle(name: str) -> Translator:
    """The plain engine, with the same model."""
    return Translator(model_of(name), device="cpu", engine="plain")


def model_of(name: str) -> LoadedModel:
    return taught(shape=replaced(SHAPE, {"attention.heads": 2})) if name == NATIVE else taught()


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("beam", [1, 4])
def test_what_was_learned_comes_out(name: str, beam: int) -> None:
    found = engine(name).translate(SOURCES, beam=beam)
    assert [one.text for one in found] == TARGETS
    wanted = oracle(name).translate(SOURCES, beam=beam)
    tolerance = 0.1 if "int8" in name else 1e-3
    assert all(
        math.isclose(one.score, other.score, abs_tol=tolerance) for one, other in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("name", HERE)
def test_a_batch_is_its_sentences_in_order(name: str) -> None:
    together = engine(name).translate(TEXTS, options=TranslateOptions(batch_tokens=400))
    for text, one in zip(TEXTS, together, strict=True):
        [alone] = engine(name).translate([text])
        assert one.text == alone.text
        assert math.isclose(one.score, alone.score, abs_tol=1e-4)
    assert [one.text for one, text in zip(together, TEXTS, strict=True) if not text.strip()] == ["", ""]


@pytest.mark.parametrize("name", HERE)
def test_limits_are_each_sentences_own(name: str) -> None:
    """Nonsense that runs into its limit, beside a sentence that may be much longer."""
    short, long = "fish fish", " ".join(["apple house"] * 6)
    [alone] = engine(name).translate([short])
    beside, _ = engine(name).translate([short, long])
    assert (beside.text, beside.complete) == (alone.text, alone.complete)


@pytest.mark.parametrize("name", HERE)
def test_what_cannot_be_asked_is_refused(name: str) -> None:
    for how in ({"max_ratio": 0.0, "max_extra": 0}, {"no_repeat": -1}):
        with pytest.raises(ConfigError):
            engine(name).translate(SOURCES[0], options=TranslateOptions(**how))


@pytest.mark.parametrize("name", HERE)
def test_n_best_lists_are_ranked_and_different(name: str) -> None:
    for found in engine(name).translate(SOURCES[:6], beam=4, candidates=4):
        assert len(found.candidates) == 4
        assert len({one.text for one in found.candidates}) > 1
        scores = [one.score for one in found.candidates]
        assert scores == sorted(scores, reverse=True)
        assert found.score == scores[0]


@pytest.mark.parametrize("name", HERE)
def test_a_prefix_is_what_a_translation_starts_with(name: str) -> None:
    start = TARGETS[0].split()[0]
    for beam in (1, 3):
        for found in engine(name).translate(SOURCES[:5], beam=beam, prefix=start):
            assert found.text.startswith(start)


@pytest.mark.parametrize("name", HERE)
def test_words_are_aligned(name: str) -> None:
    wanted = oracle(name).translate(SOURCES[:8], alignments=True)
    found = engine(name).translate(SOURCES[:8], alignments=True)
    same = [one.alignment == other.alignment for one, other in zip(found, wanted, strict=True)]
    assert sum(same) >= 7
    assert all(one.alignment for one in found)


@pytest.mark.parametrize("name", HERE)
def test_very_long_texts_are_translated_in_parts_or_whole(name: str) -> None:
    text = " ".join(SOURCES[:4] * 10)
    [found] = engine(name).translate([text])
    assert found.text.count(TARGETS[0]) == 10
    [endless] = engine(name).translate(["house " * 300])
    assert endless.text


@pytest.mark.parametrize("name", HERE)
def test_samples_follow_the_seed(name: str) -> None:
    hot = TranslateOptions(candidates=3, sampling=SamplingOptions(temperature=2.0), seed=5)
    one, other = (engine(name).translate(UNSEEN, options=hot) for _ in range(2))
    assert one == other
    assert any(len({each.text for each in found.candidates}) > 1 for found in one)


def test_an_unknown_engine_and_a_wrong_device_are_named() -> None:
    with pytest.raises(ConfigError, match="no engine 'warp'"):
        Translator(taught(), device="cpu", engine="warp")


# --- int8 on the disk ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in HERE if name.startswith("int8")])
def test_an_int8_folder_is_smaller_and_translates_the_same(name: str, tmp_path: Path) -> None:
    save_model(tmp_path / "whole", model_of(name))
    convert(tmp_path / "whole", tmp_path / "small", "headwise", precision="int8")
    sizes = [(tmp_path / part / "model.safetensors").stat().st_size for part in ("whole", "small")]
    assert sizes[1] < 0.6 * sizes[0]  # norms, biases and names are as they were
    stored = Translator(tmp_path / "small")
    assert isinstance(stored._engine, NativeEngine) is (name == NATIVE)
    assert stored.engine == "int8"
    assert stored.translate(TEXTS) == engine(name).translate(TEXTS)
    hot = TranslateOptions(candidates=2, sampling=SamplingOptions(temperature=2.0), seed=5, no_repeat=3)
    assert stored.translate(TEXTS, options=hot) == engine(name).translate(TEXTS, options=hot)
    assert stored.score(SOURCES, TARGETS) == engine(name).score(SOURCES, TARGETS)
    assert stored._weights_digest() == engine(name)._weights_digest()
    assert stored._weights_digest() != oracle(name)._weights_digest()


def test_an_int8_folder_keeps_what_the_card_says_of_the_data(tmp_path: Path) -> None:
    save_model(tmp_path / "whole", taught())
    (tmp_path / "whole" / "README.md").write_text("# A model\n\n## Data\n\nCC-BY 2.0\n")
    convert(tmp_path / "whole", tmp_path / "small", "headwise", precision="int8")
    card = (tmp_path / "small" / "README.md").read_text()
    assert "CC-BY 2.0" in card
    assert "weights in int8" in card


def test_an_int8_folder_is_for_translating_alone(tmp_path: Path) -> None:
    save_model(tmp_path / "whole", taught())
    convert(tmp_path / "whole", tmp_path / "small", "headwise", precision="int8")
    with pytest.raises(CheckpointError, match="for translation only"):
        load(tmp_path / "small")
    convert(tmp_path / "small", tmp_path / "again", "huggingface")
    assert load(tmp_path / "again").description.precision == "float32"


@pytest.mark.parametrize("name", [name for name in HERE if name.startswith("int8")])
def test_a_damaged_int8_folder_is_refused(name: str, tmp_path: Path) -> None:
    save_model(tmp_path / "whole", model_of(name))
    convert(tmp_path / "whole", tmp_path / "small", "headwise", precision="int8")
    path = tmp_path / "small" / "model.safetensors"
    whole = path.read_bytes()
    for damaged in (whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:], whole[:-1], whole[:7], b"", whole + b"more"):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            Translator(tmp_path / "small")
    path.unlink()
    with pytest.raises(CheckpointError, match="missing"):
        Translator(tmp_path / "small")


@pytest.mark.parametrize(
    "change", [{"attention.heads": 1}, {"layers": 3}, {"feed_forward.hidden": 48}, {"bias": False}]
)
def test_weights_of_another_config_are_refused(change: dict[str, object], tmp_path: Path) -> None:
    """The native engine reads them as bytes: none may be of another size than it takes it for."""
    loaded = model_of(NATIVE)
    save_model(tmp_path / "whole", loaded)
    convert(tmp_path / "whole", tmp_path / "small", "headwise", precision="int8")
    described = dataclasses.replace(loaded.description, precision="int8")
    save_description(tmp_path / "small", dataclasses.replace(described, config=replaced(SHAPE, change)))
    if change == {"attention.heads": 1}:  # which no shape tells from the right one
        assert Translator(tmp_path / "small").translate(SOURCES[0])
        return
    with pytest.raises(CheckpointError, match=r"weights do not match the config|has the shape"):
        Translator(tmp_path / "small")


def test_a_used_int8_model_can_be_opened_again(tmp_path: Path) -> None:
    save_model(tmp_path / "whole", taught())
    convert(tmp_path / "whole", tmp_path / "small", "headwise", precision="int8")
    loaded = load(tmp_path / "small", int8=True)
    first = Translator(loaded, device="cpu", engine="plain")
    wanted = first.translate(SOURCES[:3])
    assert [one.text for one in Translator(loaded, device="cpu", engine="int8").translate(SOURCES[:3])] == [
        one.text for one in wanted
    ]


def test_a_cpu_without_the_instructions_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "is_fast_here", lambda: False)
    monkeypatch.setattr(library, "_found", lambda: "no compiler")
    said: list[str] = []
    fallen = Translator(taught(), device="cpu", engine="int8", say=said.append)
    assert "VNNI" in said[0]
    rounded = int8.to_int8(copy.deepcopy(taught().model))
    described = dataclasses.replace(taught().description, precision="int8")
    Translator(LoadedModel(rounded, described), device="cpu", say=said.append)
    assert "VNNI" in said[1]
    assert fallen.translate(SOURCES) == engine("plain").translate(SOURCES)


def test_the_callers_model_is_not_rounded() -> None:
    loaded = dataclasses.replace(taught(), model=copy.deepcopy(taught().model))
    Translator(loaded, device="cpu", engine="int8")
    assert all(parameter.dtype == torch.float32 for parameter in loaded.model.parameters())
