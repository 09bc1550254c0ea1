"""Positions that the page computes are those of nn: sinusoidal and rotary tables, and similarity by distance."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from headwise.nn.positions import Sinusoidal
from headwise.nn.rotary import Frequencies
from tests.serve.page.conftest import Watched, axe_findings
from tests.serve.page.inside.conftest import numbers, opened, saved

CLOSE = 1e-5


def map_of(page: Any, folder: Path) -> Any:
    """What the button below the map saves."""
    return json.loads(saved(page, page.locator(".save").first.get_by_role("button", name="JSON"), folder))


def similarity_of(page: Any, folder: Path) -> list[float]:
    found: list[float] = json.loads(saved(page, page.locator(".save").last.get_by_role("button", name="JSON"), folder))[
        "similarity"
    ]
    return found


@pytest.mark.parametrize(("width", "length"), [(8, 12), (64, 48), (30, 200)])
def test_sinusoidal_positions_are_those_of_nn(watched: Watched, tmp_path: Path, width: int, length: int) -> None:
    page = opened(watched, "positions", kind="sinusoidal", width=width, length=length)
    table = Sinusoidal(width).table(torch.arange(length))
    torch.testing.assert_close(torch.tensor(map_of(page, tmp_path)["table"]), table, atol=CLOSE, rtol=0)
    unit = torch.nn.functional.normalize(table, dim=-1)
    products = unit @ unit.T
    expected = torch.stack([products.diagonal(distance).mean() for distance in range(length)])
    torch.testing.assert_close(torch.tensor(similarity_of(page, tmp_path)), expected, atol=CLOSE, rtol=0)


def test_rotary_angles_are_those_of_nn(watched: Watched, tmp_path: Path) -> None:
    page = opened(watched, "positions", kind="rotary", width=32, length=60)
    angles = torch.arange(60)[:, None] * Frequencies(32).plain()
    found = map_of(page, tmp_path)
    torch.testing.assert_close(torch.tensor(found["angles"]), angles, atol=CLOSE, rtol=0)
    torch.testing.assert_close(torch.tensor(found["table"]), angles.cos(), atol=CLOSE, rtol=0)
    torch.testing.assert_close(torch.tensor(similarity_of(page, tmp_path)), angles.cos().mean(-1), atol=CLOSE, rtol=0)


def test_any_width_and_length_is_chosen_by_sliders(watched: Watched) -> None:
    page = opened(watched, "positions")
    page.get_by_role("slider", name="Width").fill("512")
    page.get_by_role("slider", name="Length").fill("512")
    page.wait_for_selector(".heat-map canvas")
    page.locator(".heat-map .stage").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    readout = page.locator(".heat-map output").inner_text()
    assert readout.startswith("Position 0, dimension 511:")
    assert numbers(readout) == [1.0]


def test_curves_are_walked_by_keys(watched: Watched) -> None:
    page = opened(watched, "positions", width=16, length=20)
    stage = page.locator(".curves .stage").first
    stage.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    shown = page.locator(".curves output").first.inner_text()
    expected = Sinusoidal(16).table(torch.tensor([3]))[0]
    assert numbers(shown)[0] == pytest.approx(float(expected[0]), abs=CLOSE)
    assert shown.startswith("position 3")


def test_axe_finds_nothing(watched: Watched) -> None:
    assert not axe_findings(opened(watched, "positions", kind="rotary"))
