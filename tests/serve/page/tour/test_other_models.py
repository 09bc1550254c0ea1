"""The tour of models of other parts: it says and computes what each of them does."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass
class OtherTour:
    """The tour of each of these models, on a server of its own: of several for one direction a server offers one."""

    tour: TourPage
    servers: dict[str, RunningServer]

    def show(self, model: str, station: str, **state: Any) -> str:
        """Open a station of a model and read all of it."""
        self.tour.watched.url = self.servers[model].url
        text: str = self.tour.open(station, **state).locator(".tour-main").inner_text()
        return text


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RunningServer]]:
    folder = tmp_path_factory.mktemp("kinds")
    with contextlib.ExitStack() as stack:
        found = {}
        for kind in KINDS:
            save_model(folder / kind, loaded(kind))
            (folder / f"{kind}-state").mkdir()
            found[kind] = stack.enter_context(running_server(folder / kind, folder / f"{kind}-state"))
        yield found


@pytest.fixture
def other(browser: Any, servers: dict[str, RunningServer]) -> Iterator[OtherTour]:
    for tour in opened(browser, servers["rotary"]):
        yield OtherTour(tour, servers)


@pytest.mark.parametrize("kind", KINDS)
def test_every_station_can_be_shown(other: OtherTour, kind: str) -> None:
    for station in STATIONS:
        text = other.show(kind, station)
        assert not [word for word in ("undefined", "NaN", "tour.") if word in text], station
        assert other.tour.page.locator(".tour-main .error").count() == 0, station
        assert other.tour.computation(), station


def test_rotary_positions_are_angles(other: OtherTour) -> None:
    assert "turns pairs of numbers" in other.show("rotary", "positions")
    width = 32 // 4
    angles = [[t * 10000 ** (-2 * pair / width) for pair in range(width // 2)] for t in range(len(other.tour.grid()))]
    same(other.tour.grid(), torch.tensor(angles))
    computed(other.tour.point(2, 1), angles[2][1], math.cos(angles[2][1]))


def test_relative_positions_are_added_to_the_scores(other: OtherTour) -> None:
    assert "adds a learned number to its scores" in other.show("relative", "positions")
    model = reference(Translator(loaded("relative"), device="cpu"))
    length = len(model.source)
    bias = model.model.source_positions.bias(length, length)
    assert bias is not None
    bias = bias.detach()
    same(other.tour.grid(), bias[0, :, 0])
    other.show("relative", "self-attention", head_encoder=[1, 2])
    same(other.tour.grid(), model.weights["encoder"][1][2])
    query, key = (model.heads("encoder", 1, part)[2] for part in ("query", "key"))
    product = float(query[3] @ key[1]) / math.sqrt(key.size(-1))
    computed(
        other.tour.point(3, 1), product, product + float(bias[0, 2, 3, 1]), float(model.weights["encoder"][1][2, 3, 1])
    )


def test_learned_positions_are_rows_of_a_table(other: OtherTour) -> None:
    assert "a vector that it learned for the position" in other.show("learned", "positions")
    model = reference(Translator(loaded("learned"), device="cpu"))
    table = model.model.source_positions.get_parameter("weight").detach()
    same(other.tour.grid(), table[: len(model.source), :8])


def test_gated_units_and_rms_norms(other: OtherTour) -> None:
    assert "a gate that decides how much passes" in other.show(
        "rotary", "feed-forward", kind="encoder", head_encoder=[1, 0]
    )
    model = reference(Translator(loaded("rotary"), device="cpu"))
    hidden = model.seen["encoder.layers.1.feed_forward.contract"][0]
    best = hidden.abs().topk(5, -1).indices
    same(other.tour.grid(), hidden.gather(-1, best))
    other.show("rotary", "add-norm", kind="encoder", head_encoder=[1, 0], sublayer=1)
    normed = model.seen["encoder.layers.1.feed_forward_norm.norm"][1]
    computed(other.tour.point(1, 2, 2), float(normed[1, 2]))


def test_post_norm_norms_the_sum(other: OtherTour) -> None:
    text = other.show("learned", "add-norm", kind="decoder", head_decoder=[0, 0], sublayer=2)
    assert "a norm follows each sum" in text
    model = reference(Translator(loaded("learned"), device="cpu"))
    given, made = model.seen["decoder.layers.0.feed_forward_norm.norm"]
    computed(other.tour.point(1, 2, 2), float(given[1, 2]), float(made[1, 2]))
    assert "add & norm" in other.tour.page.locator(".tour-machine").text_content()
