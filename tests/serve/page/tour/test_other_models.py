"""The tour of models of other parts: it says and computes what each of them does."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from headwise.decode.translator import Translator
from headwise.models.folder.load import save_model
from headwise.recipe import replaced
from tests.serve.page.tour.test_tour_numbers import computed, same
from tests.serve.page.tour.tour_page import STATIONS, TourPage, opened, reference
from tests.serve.running import RunningServer, running_server
from tests.taught import SHAPE, taught

STEPS = 30
KINDS: dict[str, dict[str, Any]] = {
    "rotary": {
        "positions.kind": "rotary",
        "norm.kind": "rms",
        "feed_forward.kind": "gated",
        "feed_forward.activation": "silu",
    },
    "learned": {"positions.kind": "learned", "norm.order": "post", "tie": "none"},
    "relative": {"positions.kind": "relative", "attention.heads": 8},
}


def loaded(kind: str) -> Any:
    return taught(shape=replaced(SHAPE, {"encoder.layers": 2, **KINDS[kind]}), steps=STEPS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("kinds")
    for kind in KINDS:
        save_model(folder / "models" / kind, loaded(kind))
    (folder / "state").mkdir()
    with running_server(folder / "models", folder / "state") as running:
        yield running


@pytest.fixture
def other(browser: Any, server: RunningServer) -> Iterator[TourPage]:
    """The tour on the server of these models."""
    yield from opened(browser, server)


def shown(other: TourPage, model: str, station: str, **state: Any) -> str:
    """Open a station of a model and read all of it."""
    text: str = other.open(station, model=model, **state).locator(".tour-main").inner_text()
    return text


@pytest.mark.parametrize("kind", KINDS)
def test_every_station_can_be_shown(other: TourPage, kind: str) -> None:
    for station in STATIONS:
        text = shown(other, kind, station)
        assert not [word for word in ("undefined", "NaN", "tour.") if word in text], station
        assert other.page.locator(".tour-main .error").count() == 0, station
        assert other.computation(), station


def test_rotary_positions_are_angles(other: TourPage) -> None:
    assert "turns pairs of numbers" in shown(other, "rotary", "positions")
    width = 32 // 4
    angles = [[t * 10000 ** (-2 * pair / width) for pair in range(width // 2)] for t in range(len(other.grid()))]
    same(other.grid(), torch.tensor(angles))
    computed(other.point(2, 1), angles[2][1], math.cos(angles[2][1]))


def test_relative_positions_are_added_to_the_scores(other: TourPage) -> None:
    assert "adds a learned number to its scores" in shown(other, "relative", "positions")
    model = reference(Translator(loaded("relative"), device="cpu"))
    length = len(model.source)
    bias = model.model.source_positions.bias(length, length)
    assert bias is not None
    same(other.grid(), bias[0, :, 0])
    shown(other, "relative", "self-attention", head_encoder=[1, 2])
    same(other.grid(), model.weights["encoder"][1][2])
    query, key = (model.heads("encoder", 1, part)[2] for part in ("query", "key"))
    product = float(query[3] @ key[1]) / math.sqrt(key.size(-1))
    computed(other.point(3, 1), product, product + float(bias[0, 2, 3, 1]), float(model.weights["encoder"][1][2, 3, 1]))


def test_learned_positions_are_rows_of_a_table(other: TourPage) -> None:
    assert "a vector that it learned for the position" in shown(other, "learned", "positions")
    model = reference(Translator(loaded("learned"), device="cpu"))
    table = model.model.source_positions.get_parameter("weight")
    same(other.grid(), table[: len(model.source), :8])


def test_gated_units_and_rms_norms(other: TourPage) -> None:
    assert "a gate that decides how much passes" in shown(
        other, "rotary", "feed-forward", kind="encoder", head_encoder=[1, 0]
    )
    model = reference(Translator(loaded("rotary"), device="cpu"))
    hidden = model.seen["encoder.layers.1.feed_forward.contract"][0]
    best = hidden.abs().topk(5, -1).indices
    same(other.grid(), hidden.gather(-1, best))
    shown(other, "rotary", "add-norm", kind="encoder", head_encoder=[1, 0], sublayer=1)
    normed = model.seen["encoder.layers.1.feed_forward_norm.norm"][1]
    computed(other.point(1, 2, 2), float(normed[1, 2]))


def test_post_norm_norms_the_sum(other: TourPage) -> None:
    text = shown(other, "learned", "add-norm", kind="decoder", head_decoder=[0, 0], sublayer=2)
    assert "a norm follows each sum" in text
    model = reference(Translator(loaded("learned"), device="cpu"))
    given, made = model.seen["decoder.layers.0.feed_forward_norm.norm"]
    computed(other.point(1, 2, 2), float(given[1, 2]), float(made[1, 2]))
    assert "add & norm" in other.page.locator(".tour-machine").text_content()
