"""What a picture shows is what the model attends to."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from headwise.decode.translator import Translator
from headwise.errors import ConfigError, DataError
from headwise.inspect.attention_capture import capture_attention
from headwise.inspect.maps import AttentionMap, AttentionMaps
from headwise.inspect.picture import draw_attention, labels
from headwise.recipe import replaced
from tests.taught import SHAPE, SOURCES, TARGETS, translator

LABELS = {
    "Arabic": "أكلت تفاحة",
    "Hebrew": "אכלתי תפוח",
    "Chinese": "我吃了一个苹果。",
    "Devanagari": "मैंने सेब खाया।",
    "Thai": "ฉันกินแอปเปิ้ล",
    "Tibetan and Khmer": "བོད ខ្មែរ",
    "emoji": "👩\u200d👩\u200d👧 🏳️\u200d🌈",
    "dollars": r"It costs $5 or $6, \$7 and $x^{2}$ _{",
}


def maps_of(text: str = SOURCES[0], target: str | None = None, **how: object) -> AttentionMaps:
    return capture_attention(translator(**how), text, target)


def pixels_of(path: Path) -> torch.Tensor:
    with Image.open(path) as image:
        return torch.from_numpy(np.array(image.convert("L"))).float()


def test_shapes_and_labels() -> None:
    maps = maps_of()
    read, written, shown = (maps.labels[name] for name in ("source", "target", "shown"))
    source, target = len(read), len(written)
    assert maps["encoder"].weights.shape == (SHAPE.encoder_side.layers, SHAPE.attention.heads, source, source)
    assert maps["decoder"].weights.shape == (SHAPE.layers, SHAPE.attention.heads, target, target)
    assert maps["cross"].weights.shape == (SHAPE.layers, SHAPE.attention.heads, target, source)
    assert read[-1] == written[-1] == "<eos>"
    assert shown == ["<sos>", *written[:-1]]
    assert maps.text == TARGETS[0]
    assert "".join(written[:-1]).replace("▁", " ").strip() == maps.text


@pytest.mark.parametrize("name", ["encoder", "decoder", "cross"])
def test_rows_sum_to_one(name: str) -> None:
    weights = maps_of()[name].weights
    assert weights.min() >= 0
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert weights.std() > 0.01  # and are not simply uniform


def test_the_decoder_looks_only_back() -> None:
    weights = maps_of()["decoder"].weights
    future = torch.ones(weights.shape[-2:]).triu(1).bool()
    assert weights[..., future].abs().max() == 0
    assert weights[..., 1:, :][..., ~future[1:]].min() > 0


def test_a_given_target_is_looked_at_as_it_is() -> None:
    maps = maps_of(target="Ein Hund")
    assert maps.text == "Ein Hund"
    assert len(maps.labels["target"]) == len(translator().tokenizer.encode("Ein Hund")) + 1
    own = maps_of()
    again = maps_of(target=own.text)
    torch.testing.assert_close(own["cross"].weights, again["cross"].weights)


def test_directions_and_tags() -> None:
    engine = translator(both_directions=True)
    maps = capture_attention(engine, SOURCES[0], target="de")
    assert maps.labels["source"][0] == "<2de>"
    assert maps.text == TARGETS[0]
    with pytest.raises(ConfigError):
        capture_attention(engine, SOURCES[0])


def test_nothing_to_look_at() -> None:
    with pytest.raises(DataError, match="empty"):
        maps_of("  \n")


def test_json_holds_every_number() -> None:
    maps = maps_of()
    table = json.loads(json.dumps(maps.as_dict()))
    assert set(table) == {"source", "target", "shown", "text", "encoder", "decoder", "cross"}
    assert table["source"] == maps.labels["source"]
    for name in ("encoder", "decoder", "cross"):
        torch.testing.assert_close(torch.tensor(table[name]), maps[name].weights, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
@pytest.mark.parametrize("layer", [None, 1])
def test_png(kind: str, layer: int | None, tmp_path: Path) -> None:
    path = tmp_path / "map.png"
    draw_attention(maps_of(), path, kind, layer)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.rstrip(b"\0").endswith(b"IEND\xaeB`\x82")


def test_svg_and_pdf(tmp_path: Path) -> None:
    draw_attention(maps_of(), tmp_path / "map.SVG")
    root = ElementTree.parse(tmp_path / "map.SVG").getroot()
    assert root.tag.endswith("svg")
    draw_attention(maps_of(), tmp_path / "map.pdf")
    assert (tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("name", ["map.jpg.exe", "map", "map.txt"])
def test_an_unknown_format_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.png, \.svg, \.pdf"):
        draw_attention(maps_of(), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("layer", [0, 3, -1])
def test_an_unknown_layer_is_an_error(layer: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="1 to 2"):
        draw_attention(maps_of(), tmp_path / "map.png", layer=layer)


@pytest.mark.parametrize("text", LABELS.values(), ids=LABELS)
def test_labels_of_every_script_draw_without_a_warning(text: str, tmp_path: Path) -> None:
    """Warnings are errors here: a missing glyph must not be one, and a dollar is not mathematics."""
    maps = maps_of(text, target=text, kind="characters", steps=0)
    words = [*text.split(), "<eos>"]
    weights = maps["cross"].weights[..., : len(words), : len(words)]
    whole = AttentionMaps(text, {}, {"cross": AttentionMap(text, words, words, weights)})
    draw_attention(whole, tmp_path / "map.png", layer=1)
    draw_attention(whole, tmp_path / "map.svg", layer=1)
    ElementTree.parse(tmp_path / "map.svg")


def test_a_long_sentence(tmp_path: Path) -> None:
    """It is drawn without the small maps, which nobody could read."""
    maps = maps_of(" ".join(["the dog"] * 52), target="der Hund " * 12, steps=0)
    assert 100 < len(maps.labels["source"]) <= 120
    draw_attention(maps, tmp_path / "map.png")
    with Image.open(tmp_path / "map.png") as image:
        assert max(image.size) < 2500


@pytest.mark.parametrize("layer", [None, 1])
def test_tokens_and_scale_stand_beside_every_map_and_the_sentence_above(layer: int | None, tmp_path: Path) -> None:
    maps = maps_of()
    draw_attention(maps, tmp_path / "map.svg", layer=layer)
    text = (tmp_path / "map.svg").read_text("utf-8")
    for piece in {*maps.labels["source"], *maps.labels["target"]} - {"<eos>"}:
        label = piece.removeprefix("▁") or piece
        assert text.count(f"{label} -->") >= 2, f"{label}: beside the large map and the small ones"
    assert text.count("<!-- attention weight -->") == 2
    assert SOURCES[0] in text
    assert TARGETS[0].split()[0] in text


def test_labels_mark_pieces_that_continue_a_word() -> None:
    assert labels(["▁The", "▁ap", "ple", "s", ".", "<eos>"]) == ["The", "ap", "·ple", "·s", ".", "<eos>"]
    assert labels(["[CLS]", "▁un", "able", "[SEP]"]) == ["[CLS]", "un", "·able", "[SEP]"]
    assert labels(["a", "▁", "b"]) == ["a", "▁", "b"], "characters are no pieces of words"


def test_many_heads_of_a_long_text_fit_a_picture(tmp_path: Path) -> None:
    tokens = ["a"] * 50
    weights = torch.full((12, 32, 50, 50), 1 / 50)
    draw_attention(
        AttentionMaps("a", {}, {"encoder": AttentionMap("a", tokens, tokens, weights)}), tmp_path / "map.png"
    )
    with Image.open(tmp_path / "map.png") as image:
        assert max(image.size) < 10_000


def test_more_than_fits_a_picture_is_said(tmp_path: Path) -> None:
    pieces = 121
    weights = torch.full((1, 1, pieces, pieces), 1 / pieces)
    maps = AttentionMaps("a", {}, {"cross": AttentionMap("a", ["a"] * pieces, ["a"] * pieces, weights)})
    with pytest.raises(DataError, match=r"121 tokens.*one sentence at a time.*\.json"):
        draw_attention(maps, tmp_path / "map.png")


def test_a_kind_that_is_not_there_is_said(tmp_path: Path) -> None:
    cross = maps_of()["cross"]
    with pytest.raises(ConfigError, match="no encoder attention; there is: cross"):
        draw_attention(AttentionMaps("a", {}, {"cross": cross}), tmp_path / "map.png", "encoder")


def test_a_column_that_takes_all_does_not_hide_the_others(tmp_path: Path) -> None:
    """Two maps that differ only beside such a column must not look alike."""
    pictures = []
    for place in (2, 3):
        weights = torch.zeros(1, 1, 30, 30)
        weights[..., 0], weights[..., 4, place], weights[..., 5, 5] = 0.95, 0.05, 0.05
        labels = ["a"] * 30
        maps = AttentionMaps("a", {}, {"encoder": AttentionMap("a", labels, labels, weights)})
        draw_attention(maps, tmp_path / "map.png")
        pictures.append(pixels_of(tmp_path / "map.png"))
    assert (pictures[0] - pictures[1]).abs().max() > 20


def test_learned_positions_that_do_not_reach() -> None:
    shape = replaced(SHAPE, {"positions.kind": "learned", "positions.max_positions": 20})
    engine: Translator = translator(shape=shape, steps=0)
    with pytest.raises(DataError, match="20 positions"):
        capture_attention(engine, "the dog " * 30)
