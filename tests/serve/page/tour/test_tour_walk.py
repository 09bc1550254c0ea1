"""The tour as it is walked: every station in order, by buttons, keys and links, in all languages, themes and sizes."""

import re
from typing import Any

import pytest

from tests.serve.page.conftest import axe_findings, until
from tests.serve.page.tour.tour_page import SENTENCE, STATIONS, TourPage

TITLES = [
    "Tokenisation", "Embeddings", "Positions", "Query, key, value", "Attention", "Self-attention",
    "Multi-head attention", "Feed-forward", "Add & norm", "Encoder", "Masked attention",
    "Encoder-decoder attention", "Linear", "Softmax", "Decoder", "The whole model", "Teacher forcing",
    "Greedy search", "Beam search",
]  # fmt: skip
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def heading(page: Any) -> str:
    text: str = page.locator(".tour-main > h2").inner_text()
    return text


def test_the_whole_tour_is_walked_by_its_buttons(tour: TourPage) -> None:
    page = tour.open("tokenisation")
    for number, title in enumerate(TITLES, 1):
        tour.settle()
        assert heading(page) == title
        assert page.get_by_text(f"Station {number} of 19", exact=True).first.is_visible()
        assert page.locator(".tour-list [aria-current=step]").inner_text().endswith(title)
        assert len(page.locator(".tour-text").inner_text()) > 100
        assert page.locator(".tour-formula math").count() >= 1
        assert page.locator(".tour-lit").count() >= 1, "the machine shows where this is"
        assert re.match(r"src/headwise/\S+\.py", page.locator(".tour-card summary code").first.inner_text())
        assert tour.computation()
        following = page.locator(".tour-next")
        assert following.is_disabled() == (number == 19)
        if number < 19:
            following.click()
    page.locator(".tour-previous").click()
    tour.settle()
    assert heading(page) == TITLES[-2]


def test_arrow_keys_go_on_and_back_but_not_while_a_cell_is_chosen(tour: TourPage) -> None:
    page = tour.open("embeddings")
    page.locator(".tour-main > h2").focus()
    page.keyboard.press("ArrowRight")
    tour.settle()
    assert heading(page) == "Positions"
    assert page.evaluate("document.activeElement.tagName") == "H2", "a screen reader goes on at the new station"
    page.keyboard.press("ArrowLeft")
    tour.settle()
    assert heading(page) == "Embeddings"
    page.locator(".tour-figure td[tabindex='0']").focus()
    before = tour.computation()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert heading(page) == "Embeddings"
    assert tour.computation() != before


def test_a_station_is_a_link_and_the_list_and_the_machine_lead_to_it(tour: TourPage) -> None:
    page = tour.open("softmax", row=2)
    assert heading(page) == "Softmax"
    assert page.locator(".tour-token[aria-pressed=true]").get_attribute("id") == "tour-token-2"
    page.get_by_role("navigation", name="Stations of the tour").get_by_role(
        "button", name="Encoder", exact=True
    ).click()
    tour.settle()
    until(page, "location.hash.includes('tour.station=encoder')")
    page.locator(".tour-machine [data-part=cross]").click()
    tour.settle()
    assert heading(page) == "Encoder-decoder attention"


def test_another_sentence_is_shown_everywhere(tour: TourPage) -> None:
    page = tour.open("tokenisation")
    page.get_by_role("textbox", name="Sentence").fill("A dog finds the house.")
    until(page, "document.querySelector('.tour-machine')?.textContent.includes('A dog')")
    tour.settle()
    assert "dog" in page.locator(".tour-figure").inner_text()
    assert "Hund" in page.locator(".tour-figure").inner_text()


@pytest.mark.parametrize("text", ["</script><b>\\^_{}$~", "שלום 🍏 the cat", "<sos> {0} The cat"])
def test_any_text_is_only_text(tour: TourPage, text: str) -> None:
    page = tour.open("tokenisation")
    page.get_by_role("textbox", name="Sentence").fill(text)
    until(page, f"document.querySelector('.tour-machine')?.textContent.includes({text[:8]!r})")
    for station in ("tokenisation", "embeddings", "query-key-value", "linear", "teacher-forcing"):
        page.get_by_role("navigation", name="Stations of the tour").locator("button").nth(
            STATIONS.index(station)
        ).click()
        tour.settle()
        assert heading(page) == TITLES[STATIONS.index(station)]
        assert page.locator(".tour-main b:has-text('$')").count() == 0


@pytest.mark.parametrize(
    ("language", "title"),
    [("de", "Tokenisierung"), ("fr", "Tokenisation"), ("it", "Tokenizzazione"), ("hi", "टोकन बनाना")],
)
def test_the_tour_speaks_all_languages(tour: TourPage, language: str, title: str) -> None:
    page = tour.open("tokenisation")
    page.locator("#interface-language").select_option(language)
    until(page, f"document.documentElement.lang === '{language}'")
    until(page, f"document.querySelector('.tour-main > h2')?.textContent === '{title}'")
    for number in range(19):
        tour.settle()
        text = page.locator(".tour-main").inner_text()
        assert "tour." not in text
        assert "undefined" not in text
        assert not re.search(r"\{\d\}", text)
        if number < 18:
            page.locator(".tour-next").click()


@pytest.mark.parametrize("tour", [{}, {"color_scheme": "dark"}, PHONE], indirect=True, ids=["light", "dark", "phone"])
def test_no_barrier_at_any_station(tour: TourPage) -> None:
    page = tour.open("tokenisation")
    for number, station in enumerate(STATIONS):
        tour.settle()
        assert axe_findings(page) == [], station
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), station
        if number < 18:
            page.locator(".tour-next").click()


def test_a_sentence_too_long_for_all_numbers_is_refused_in_words(tour: TourPage) -> None:
    page = tour.open("tokenisation")
    page.get_by_role("textbox", name="Sentence").fill(" ".join([SENTENCE] * 200))
    until(page, "!!document.querySelector('.tour-main .error')")
    assert page.locator(".tour-main .error").inner_text()
    tour.watched.problems.clear()  # the browser notes the refusal of the server in its console


@pytest.mark.parametrize("tour", [{"viewport": {"width": 1280, "height": 600}}, PHONE], indirect=True)
def test_a_new_station_begins_in_sight(tour: TourPage) -> None:
    page = tour.open("greedy")
    page.locator(".tour-next").click()
    tour.settle()
    covered = page.locator(".top").bounding_box()["height"]
    assert covered <= page.locator(".tour-main > h2").bounding_box()["y"] < 300
    if page.viewport_size["width"] > 1000:
        page.wait_for_timeout(50)
        entry, listed = (page.locator(each).bounding_box() for each in (".tour-list [aria-current]", ".tour-list"))
        assert listed["y"] <= entry["y"] <= listed["y"] + listed["height"] - entry["height"] + 1


def test_another_address_opens_its_station(tour: TourPage) -> None:
    page = tour.open("encoder", damage="memory")
    assert page.get_by_role("switch").get_attribute("aria-checked") == "true"
    page.evaluate("location.hash = location.hash.replace(/&tour.station.*/, '&tour.station=positions')")
    until(page, "document.querySelector('.tour-main > h2')?.textContent === 'Positions'")
    tour.settle()
    assert page.get_by_role("switch").get_attribute("aria-checked") == "false"


def test_the_columns_of_a_compact_table_take_no_room(tour: TourPage) -> None:
    page = tour.open("query-key-value")
    assert page.locator(".tour-compact thead").evaluate_all("(all) => all.map((each) => each.offsetWidth)") == [1] * 3


@pytest.mark.parametrize("tour", [{"viewport": {"width": 700, "height": 900}}], indirect=True)
def test_the_tree_goes_along_with_the_steps(tour: TourPage) -> None:
    page = tour.open("beam")
    chosen, stage = page.locator(".leaf.chosen"), page.locator(".search-tree .stage")
    assert (chosen.text_content() or "").startswith("<eos>")
    assert tour.computation().startswith("▁")
    until(page, "document.querySelector('.search-tree .stage').scrollLeft > 0")
    page.get_by_role("slider", name="Step").fill("1")
    assert not (chosen.text_content() or "").startswith("<eos>")
    until(page, "document.querySelector('.search-tree .stage').scrollLeft === 0")
    assert stage.bounding_box()["x"] <= chosen.bounding_box()["x"]
