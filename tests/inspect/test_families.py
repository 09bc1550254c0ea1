"""Every family that reads text is looked at as it reads: the maps are what the model itself attends to."""

import dataclasses
from functools import cache
from pathlib import Path

import pytest
import torch

from headwise.config import ModelConfig, TextConfig
from headwise.decode.generator import Generator
from headwise.decode.translator import Translator
from headwise.errors import ConfigError, DataError
from headwise.inspect.attention_capture import capture_attention, capture_text
from headwise.inspect.picture import draw_attention
from headwise.models.build import build
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.recipe import model_config, replaced
from headwise.text.kinds import train_tokenizer
from tests.taught import SOURCES, TARGETS

SHAPE = model_config(
    {
        "width": 16,
        "attention.heads": 4,
        "feed_forward.hidden": 32,
        "layers": 2,
        "dropout": 0.0,
        "norm.order": "pre",
        "init": "normal",
    }
)
FAMILIES = {
    "causal_lm": dataclasses.replace(SHAPE, family="causal_lm"),
    "causal_lm classifier": replaced(SHAPE, {"family": "causal_lm", "classes": 2, "pooling.kind": "last"}),
    "grouped": replaced(SHAPE, {"family": "causal_lm", "attention.key_value_heads": 2, "positions.kind": "rotary"}),
    "parallel": replaced(SHAPE, {"family": "causal_lm", "norm.order": "parallel"}),
    "masked_lm": replaced(SHAPE, {"family": "masked_lm", "embedding.segments": 2}),
    "masked_lm classifier": replaced(SHAPE, {"family": "masked_lm", "embedding.segments": 2, "classes": 3}),
    "shared": replaced(SHAPE, {"family": "masked_lm", "layers": 3, "shared_layers": 1}),
}
TEXT = "The cat sees an apple."


@cache
def model(shape: ModelConfig) -> LoadedModel:
    tokenizer = train_tokenizer(TextConfig(kind="wordpiece", vocabulary=200), SOURCES + TARGETS, [])
    kind = "classify" if shape.classes else "translation" if shape.family == "encoder_decoder" else shape.family
    directions = (("en", "de"),) if kind == "translation" else ()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        built = build(shape, tokenizer.size, tokenizer.pad)
    return LoadedModel(
        built, Description(shape, tokenizer, Task(directions=directions, kind=kind, labels=("a", "b", "c")))
    )


def family(name: str) -> LoadedModel:
    return model(FAMILIES[name])


@pytest.mark.parametrize("name", FAMILIES)
def test_the_map_is_what_the_model_captures(name: str, tmp_path: Path) -> None:
    loaded = family(name)
    maps = capture_text(loaded, TEXT, device="cpu")
    shown = maps[maps.kind]
    assert loaded.tokenizer is not None
    tokens = torch.tensor([loaded.tokenizer.piece_ids(maps.labels["tokens"])])
    body = loaded.model.body if loaded.config.classes else loaded.model
    if loaded.config.family == "causal_lm":
        assert maps.kind == "decoder"
        captured = body.decode(tokens, capture=True).self_weights
    else:
        assert maps.kind == "encoder"
        captured = body.encode(tokens, capture=True).self_weights
    torch.testing.assert_close(shown.weights, torch.cat(captured))
    assert shown.weights.shape == (len(captured), loaded.config.attention.heads, tokens.size(1), tokens.size(1))
    torch.testing.assert_close(shown.weights.sum(-1), torch.ones(shown.weights.shape[:-1]))
    assert shown.rows == shown.columns == maps.labels["tokens"]
    draw_attention(maps, tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000
    assert set(maps.as_dict()) == {"tokens", "text", maps.kind}


def test_a_decoder_looks_only_back_and_an_encoder_around() -> None:
    future = {
        name: capture_text(family(name), TEXT, device="cpu").maps[kind].weights.triu(1).sum()
        for name, kind in (("causal_lm", "decoder"), ("masked_lm", "encoder"))
    }
    assert future["causal_lm"] == 0
    assert future["masked_lm"] > 0


def test_generated_tokens_are_looked_at_too() -> None:
    loaded = family("causal_lm")
    before = capture_text(loaded, TEXT, device="cpu")
    maps = capture_text(loaded, TEXT, generate=5, device="cpu")
    start, tokens = before.labels["tokens"], maps.labels["tokens"]
    assert tokens[: len(start)] == start
    assert len(start) < len(tokens) <= len(start) + 5
    # What was written before is looked at as before: the future does not change the past.
    weights = maps["decoder"].weights[..., : len(start), : len(start)]
    torch.testing.assert_close(weights, before["decoder"].weights)
    generator = Generator(loaded, device="cpu")
    assert generator.prompt_ids(TEXT) == generator.tokenizer.piece_ids(start)


def test_a_pair_and_its_segments() -> None:
    loaded = family("masked_lm classifier")
    pair = capture_text(loaded, "A dog", "The cat", device="cpu")
    tokenizer = loaded.tokenizer
    assert tokenizer is not None
    ids, segments = tokenizer.frame(tokenizer.encode("A dog"), tokenizer.encode("The cat"))
    assert pair.labels["tokens"] == tokenizer.pieces(ids)
    captured = loaded.model.body.encode(torch.tensor([ids]), torch.tensor([segments]), capture=True).self_weights
    torch.testing.assert_close(pair["encoder"].weights, torch.cat(captured))


def test_a_blank_is_the_model_s_mask() -> None:
    loaded = family("masked_lm")
    assert loaded.tokenizer is not None
    assert loaded.tokenizer.mask is not None
    mask = loaded.tokenizer.pieces([loaded.tokenizer.mask])[0]
    assert capture_text(loaded, "The cat ___ an apple.", device="cpu").labels["tokens"].count(mask) == 1


def test_an_lstm_has_cross_attention_alone(tmp_path: Path) -> None:
    translator = Translator(model(dataclasses.replace(SHAPE, stack="lstm")), device="cpu")
    maps = capture_attention(translator, "A dog", "Ein Hund")
    assert list(maps.maps) == ["cross"]
    weights = maps["cross"].weights
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    draw_attention(maps, tmp_path / "map.png")
    for kind in ("encoder", "decoder"):
        with pytest.raises(ConfigError, match=f"no {kind} attention: .*LSTMs.*there is: cross"):
            draw_attention(maps, tmp_path / "map.png", kind)
    for name in ("causal_lm", "masked_lm"):
        with pytest.raises(ConfigError, match=r"no attention to inspect.*LSTMs"):
            capture_text(model(dataclasses.replace(FAMILIES[name], stack="lstm")), TEXT, device="cpu")


def test_what_cannot_be_looked_at_is_said() -> None:
    with pytest.raises(DataError, match="empty"):
        capture_text(family("causal_lm"), " \n", device="cpu")
    with pytest.raises(ConfigError, match="does not generate text"):
        capture_text(family("masked_lm"), TEXT, generate=3, device="cpu")
    with pytest.raises(ConfigError, match="not a model that generates text"):
        capture_text(family("causal_lm classifier"), TEXT, generate=3, device="cpu")
    with pytest.raises(ConfigError, match="reads one text"):
        capture_text(family("causal_lm"), TEXT, "other", device="cpu")
    with pytest.raises(ConfigError, match="translates"):
        capture_text(model(SHAPE), TEXT, device="cpu")
    with pytest.raises(ConfigError, match="no cross attention; there is: decoder"):
        capture_text(family("causal_lm"), TEXT, device="cpu")["cross"]
    short = replaced(FAMILIES["masked_lm"], {"positions.kind": "learned", "positions.max_positions": 8})
    with pytest.raises(DataError, match="at most 8"):
        capture_text(model(short), TEXT * 4, device="cpu")
