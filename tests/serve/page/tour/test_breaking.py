"""Break it: each switch shows the broken model's own numbers, and what becomes of the translation."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from headwise.decode.translator import Translator
from tests.serve.page.tour.test_tour_numbers import computed, same
from tests.serve.page.tour.tour_page import (
    TRANSLATION,
    Reference,
    TourPage,
    numbers_in,
    reference,
    with_memory_of_first_layer,
    without_first_cross_head,
    without_mask,
    without_positions,
    without_scaling,
)

DAMAGES = [
    ("positions", "No positions", without_positions),
    ("attention", "No scaling", without_scaling),
    ("masked-attention", "No mask", without_mask),
    ("encoder-decoder-attention", "One head off", without_first_cross_head),
    ("encoder", "An earlier encoder layer as memory", with_memory_of_first_layer),
]


def break_it(tour: TourPage, station: str, label: str, **state: Any) -> Any:
    page = tour.open(station, **state)
    switch = page.get_by_role("switch", name=label)
    assert switch.get_attribute("aria-checked") == "false"
    switch.click()
    page.locator(".tour-verdict").wait_for()
    tour.settle()
    assert page.get_by_role("switch", name=label).get_attribute("aria-checked") == "true"
    return page


@pytest.mark.parametrize(("station", "label", "damage"), DAMAGES, ids=[each[0] for each in DAMAGES])
def test_the_translation_before_and_after(
    tour: TourPage, model: Reference, tour_translator: Translator, station: str, label: str, damage: Callable[..., None]
) -> None:
    page = break_it(tour, station, label, head_cross=[0, 0])
    before, after = page.locator(".tour-side").all()
    assert before.locator("p").inner_text().strip() == TRANSLATION
    same(tour.data(".tour-side span[data-value]")[:1], model.log_probability.mean()[None])
    broken = reference(tour_translator, damage=damage)
    assert abs(float(broken.log_probability.mean() - model.log_probability.mean())) > 1e-4, "the damage does something"
    same(tour.data(".tour-result > .tour-note[data-value]"), broken.log_probability.mean()[None])
    written = after.locator("p").inner_text().strip()
    own = reference(tour_translator, translation=written, damage=damage)
    same(tour.data(".tour-side span[data-value]")[1:], own.log_probability.mean()[None])
    said = "has not changed" if written == TRANSLATION else "changes"
    assert said in page.locator(".tour-verdict").inner_text()
    page.get_by_role("switch", name=label).click()
    tour.settle()
    assert page.locator(".tour-side").count() == 0


def test_without_the_mask_the_leak_is_visible(tour: TourPage, tour_translator: Translator) -> None:
    page = break_it(tour, "masked-attention", "No mask", head_decoder=[1, 0])
    broken = reference(tour_translator, damage=without_mask)
    weights = broken.weights["decoder"][1][0]
    same(tour.grid(), weights)
    T = len(weights)
    assert page.locator(".tour-figure td.tour-leak").count() == T * (T - 1) // 2
    assert page.locator(".tour-figure td.tour-hidden").count() == 0
    assert float(weights.triu(1).sum()) > 0
    text = tour.point(0, 2)
    assert "A leak" in text
    computed(text, float(weights[0, 2]))
    same(tour.grid(1)[1], broken.log_probability.exp())


def test_without_scaling_the_product_is_the_score(tour: TourPage, tour_translator: Translator) -> None:
    page = break_it(tour, "attention", "No scaling", kind="encoder", head_encoder=[1, 1], row=0)
    broken = reference(tour_translator, damage=without_scaling)
    query, key = (broken.heads("encoder", 1, part)[1] for part in ("query", "key"))
    same(tour.data(".tour-table tbody td:nth-child(4)"), key @ query[0])
    same(tour.data(".tour-table tbody td:nth-child(5)"), (key @ query[0]).softmax(-1))
    assert "switched off" in tour.computation()
    assert math.sqrt(key.size(-1)) not in list(numbers_in(page.locator(".tour-table thead").inner_text()))


def test_without_positions_nothing_is_added(tour: TourPage) -> None:
    break_it(tour, "positions", "No positions")
    same(tour.grid(), torch.zeros(len(tour.grid()), 8))
    assert "nothing is added" in tour.point(1, 1)


def test_a_head_that_is_off_is_marked_and_another_can_be_chosen(tour: TourPage) -> None:
    page = break_it(tour, "multi-head-attention", "One head off", kind="cross", head_cross=[0, 0])
    assert "switched off" in page.locator("#tour-head-0").inner_text()
    first = tour.data(".tour-result > .tour-note[data-value]")
    page.get_by_role("group", name="Head to switch off").get_by_role("radio", name="2").check()
    page.locator(".tour-verdict").wait_for()
    tour.settle()
    assert "switched off" in page.locator("#tour-head-1").inner_text()
    assert tour.data(".tour-result > .tour-note[data-value]") != first


def test_damage_ends_with_its_station_and_is_part_of_the_address(tour: TourPage) -> None:
    page = tour.open("positions", damage="positions")
    page.locator(".tour-verdict").wait_for()
    page.locator(".tour-next").click()
    tour.settle()
    assert page.locator(".tour-broken").count() == 0


def test_the_whole_model_can_be_broken_in_every_way(tour: TourPage) -> None:
    page = tour.open("model")
    assert page.get_by_role("switch").all_inner_texts() == [
        "No positions", "No scaling", "No mask", "One head off", "An earlier encoder layer as memory",
    ]  # fmt: skip
