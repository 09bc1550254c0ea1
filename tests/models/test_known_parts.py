"""A part that is added from outside, as docs/add-a-part.md describes, is never left out: every engine and exporter
agrees with the model itself or refuses by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.decode.engines.gpu.gpu_search import knows_all_parts
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from headwise.models.build import build
from headwise.models.export.export import export
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.models.folder.load import convert, load, save_model
from headwise.models.known_parts import unknown_parts
from headwise.nn import feed_forward, norms, positions
from headwise.nn.attention import Attended, MultiHeadAttention
from headwise.nn.feed_forward import FeedForward
from headwise.nn.positions import PositionEncoding, Sinusoidal
from headwise.recipe import replaced
from tests.shapes import DECODER_VARIANTS, VARIANTS, random_model, with_dots
from tests.taught import SHAPE, SOURCES, taught

CONFIG = replaced(SHAPE, {"attention.heads": 2})
"""A shape that the native engine knows: heads of 16."""


class Alibi(PositionEncoding):
    """Scores fall with the distance."""

    def bias(self, queries: int, keys: int) -> Tensor:
        places = torch.arange(keys)
        return -(places[None, :] - places[keys - queries :, None]).abs().float()[None, None]


class LouderSinusoidal(Sinusoidal):
    def embed(self, x: Tensor, positions: Tensor, longest: int | None = None) -> Tensor:
        return super().embed(x, positions, longest) * 2


class LouderNorm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * 2


class SkippingFeedForward(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + x


class SharperAttention(MultiHeadAttention):
    def forward(self, x: Tensor, memory: Any, **context: Any) -> Attended:
        return super().forward(x * 3, memory, **context)


def squared_relu(x: Tensor) -> Tensor:
    return x.relu().square()


Rows = Callable[[pytest.MonkeyPatch], ModelConfig]
"""Adds a row to a table; the config that asks for it."""


def row(table: dict[str, Any], part: Any, **asks: str) -> Rows:
    def add(patch: pytest.MonkeyPatch) -> ModelConfig:
        patch.setitem(table, "mine", part)
        return replaced(CONFIG, with_dots(asks))

    return add


ROWS: dict[str, Rows] = {
    "position encoding Alibi": row(positions.POSITIONS, lambda shape: Alibi(), positions__kind="mine"),
    "position encoding LouderSinusoidal": row(
        positions.POSITIONS, lambda shape: LouderSinusoidal(shape.width), positions__kind="mine"
    ),
    "norm LouderNorm": row(norms.NORMS, lambda width, epsilon: LouderNorm(width), norm__kind="mine"),
    "feed-forward SkippingFeedForward": row(feed_forward.FEED_FORWARDS, SkippingFeedForward, feed_forward__kind="mine"),
    "activation squared_relu": row(feed_forward.ACTIVATIONS, squared_relu, feed_forward__activation="mine"),
}


def random_translator(config: ModelConfig) -> LoadedModel:
    tokenizer = taught().tokenizer
    assert tokenizer is not None
    torch.manual_seed(5)
    model = build(config, tokenizer.size, tokenizer.pad).eval()
    return LoadedModel(model, Description(config, tokenizer, Task((("en", "de"),))))


def with_attention_from_outside() -> LoadedModel:
    """No table has attention in it: a subclass is put into a model that is there."""
    loaded = random_translator(CONFIG)
    for layer in loaded.model.decoder.layers:
        attention = SharperAttention(CONFIG.width, CONFIG.attention.heads)
        attention.load_state_dict(layer.self_attention.state_dict())
        layer.self_attention = attention.eval()
    return loaded


def scores(translator: Translator) -> list[tuple[str, float]]:
    options = TranslateOptions(beam=2, max_ratio=0, max_extra=8)
    return [(each.text, round(each.score, 4)) for each in translator.translate(SOURCES[:6], options=options)]


@pytest.fixture(params=[*ROWS, "attention SharperAttention"])
def extended(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, LoadedModel]:
    """What was added, and a model with it."""
    name = request.param
    loaded = random_translator(ROWS[name](monkeypatch)) if name in ROWS else with_attention_from_outside()
    return name, loaded


def test_the_part_matters_and_is_named(extended: tuple[str, LoadedModel]) -> None:
    """Else the other tests of this file would hold nothing."""
    name, loaded = extended
    assert unknown_parts(loaded.model) == [name]
    assert scores(Translator(loaded, device="cpu", engine="plain")) != scores(
        Translator(random_translator(CONFIG), device="cpu", engine="plain")
    )


@pytest.mark.parametrize("engine", ["auto", "int8"])
def test_every_engine_translates_as_the_model_does(extended: tuple[str, LoadedModel], engine: str) -> None:
    name, loaded = extended
    notes: list[str] = []
    translator = Translator(loaded, device="cpu", engine=engine, say=notes.append)
    assert translator.engine == "plain"
    assert scores(translator) == scores(Translator(loaded, device="cpu", engine="plain"))
    assert all(name in note for note in notes)
    assert bool(notes) is (engine != "auto")


def test_the_gpu_engine_does_not_take_it(extended: tuple[str, LoadedModel]) -> None:
    assert not knows_all_parts(extended[1].model)
    assert knows_all_parts(random_translator(CONFIG).model)


@pytest.mark.parametrize("name", ROWS)
def test_an_int8_folder_translates_as_its_own_model_does(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    save_model(tmp_path / "whole", random_translator(ROWS[name](monkeypatch)))
    convert(tmp_path / "whole", tmp_path / "int8", "headwise", precision="int8")
    model = load(tmp_path / "int8", int8=True)
    assert scores(Translator(tmp_path / "int8")) == scores(Translator(model, device="cpu", engine="plain"))


@pytest.mark.parametrize("name", ROWS)
def test_exporters_refuse_it(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    save_model(tmp_path / "ours", random_translator(ROWS[name](monkeypatch)))
    with pytest.raises(ConfigError, match="no published family"):
        convert(tmp_path / "ours", tmp_path / "theirs", "huggingface")
    pytest.importorskip("ctranslate2")
    with pytest.raises(ConfigError, match=name):
        export(tmp_path / "ours", tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_exporters_refuse_an_attention_from_outside(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    from headwise.models.export.ctranslate2 import write_translator

    with pytest.raises(ConfigError, match="attention SharperAttention"):
        write_translator(with_attention_from_outside(), tmp_path, "float32")


def test_sentences_are_not_packed_where_the_kernel_would_leave_something_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert random_translator(CONFIG).model.can_be_packed
    assert not random_translator(ROWS["position encoding Alibi"](monkeypatch)).model.can_be_packed
    assert not with_attention_from_outside().model.can_be_packed


def test_a_forward_hook_is_a_part_from_outside() -> None:
    loaded = random_translator(CONFIG)
    loaded.model.decoder.layers[0].feed_forward.register_forward_hook(lambda *call: call[-1] * 2)
    assert unknown_parts(loaded.model) == ["forward hook of FeedForward"]


def test_all_own_parts_are_known() -> None:
    variants = VARIANTS | {f"decoder {name}": config for name, config in DECODER_VARIANTS.items()}
    found = {name: unknown_parts(random_model(config)) for name, config in variants.items()}
    assert not {name: unknown for name, unknown in found.items() if unknown}
