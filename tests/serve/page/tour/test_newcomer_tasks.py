"""Twelve tasks that a newcomer would try, each done from the first page by visible labels only."""

from typing import Any

import pytest

from tests.serve.page.conftest import until
from tests.serve.page.tour.tour_page import SENTENCE, TRANSLATION, TourPage, numbers_in

SECONDS = 60_000  # milliseconds that a newcomer waits


class Newcomer:
    """Somebody who reads labels and clicks on them."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        page.set_default_timeout(SECONDS)
        page.goto(url)

    def visit(self, view: str) -> None:
        self.page.get_by_role("navigation", name="Views").get_by_role("link", name=view, exact=True).click()

    def station(self, title: str) -> Any:
        """Go to the tour, write the sentence, and open a station of the list."""
        self.visit("Tour")
        self.page.get_by_role("textbox", name="Sentence").fill(SENTENCE)
        self.page.get_by_role("navigation", name="Stations of the tour").get_by_role(
            "button", name=title, exact=True
        ).click()
        self.page.get_by_role("article").get_by_role("heading", name=title, exact=True).wait_for()
        until(self.page, f"document.querySelector('main').textContent.includes({SENTENCE[:12]!r})")
        until(self.page, "!document.querySelector('[aria-busy]')")
        return self.page.get_by_role("region", name="The numbers of your sentence")

    @property
    def computation(self) -> str:
        text: str = (
            self.page.get_by_role("region", name="The numbers of your sentence").get_by_role("status").inner_text()
        )
        return text


@pytest.fixture
def newcomer(tour: TourPage) -> Newcomer:
    return Newcomer(tour.page, tour.watched.url)


def test_1_translate_this_sentence(newcomer: Newcomer) -> None:
    newcomer.page.get_by_role("combobox", name="Translate from").select_option(label="English")
    newcomer.page.get_by_role("textbox", name="Text to translate").fill(SENTENCE)
    newcomer.page.get_by_text("Katze").first.wait_for()


def test_2_which_source_word_produced_this_word(newcomer: Newcomer) -> None:
    figure = newcomer.station("Encoder-decoder attention")
    assert figure.get_by_role("heading", name="Words that belong together").is_visible()
    links = figure.get_by_role("list").get_by_role("listitem").all_inner_texts()
    written = [link.split(" ← ")[0] for link in links]
    assert written
    assert set(written) <= set(TRANSLATION.split())
    assert all(link.split(" ← ")[1] in SENTENCE.split() for link in links)


def test_3_what_happens_without_positions(newcomer: Newcomer) -> None:
    newcomer.station("Positions")
    newcomer.page.get_by_role("switch", name="No positions").click()
    newcomer.page.get_by_role("figure", name="Broken").get_by_text("per token").wait_for()
    whole, broken = (newcomer.page.get_by_role("figure", name=name).inner_text() for name in ("Whole", "Broken"))
    assert next(numbers_in(broken)) != next(numbers_in(whole))


def test_4_how_is_my_sentence_cut_into_pieces(newcomer: Newcomer) -> None:
    figure = newcomer.station("Tokenisation")
    figure.get_by_role("button").first.hover()
    assert "The piece “" in newcomer.computation
    assert "is number" in newcomer.computation


def test_5_how_sure_was_the_model_of_a_word_and_what_else_was_likely(newcomer: Newcomer) -> None:
    figure = newcomer.station("Softmax")
    figure.get_by_role("group", name="Writes").get_by_role("button").nth(1).click()
    others = figure.get_by_role("list", name="The likeliest next pieces").get_by_role("listitem")
    assert others.count() == 10
    assert all("%" in text for text in others.all_inner_texts())


def test_6_may_a_word_see_the_words_after_it(newcomer: Newcomer) -> None:
    figure = newcomer.station("Masked attention")
    figure.get_by_role("row").nth(1).get_by_role("gridcell").nth(1).click()
    assert "the weight is exactly 0" in newcomer.computation


def test_7_what_does_one_head_look_at(newcomer: Newcomer) -> None:
    figure = newcomer.station("Self-attention")
    figure.get_by_role("group", name="Layer").get_by_role("radio", name="1").check()
    figure.get_by_role("group", name="Head").get_by_role("radio", name="2").check()
    figure.get_by_role("gridcell").first.click()
    assert "looks at" in newcomer.computation


def test_8_does_anybody_miss_this_head(newcomer: Newcomer) -> None:
    newcomer.station("Multi-head attention")
    newcomer.page.get_by_role("switch", name="One head off").click()
    newcomer.page.get_by_text("the broken model gives it").wait_for()
    usual, without = list(numbers_in(newcomer.page.get_by_text("the broken model gives it").inner_text()))
    assert usual != without


def test_9_where_is_attention_computed(newcomer: Newcomer) -> None:
    newcomer.station("Attention")
    newcomer.page.get_by_role("heading", name="The code that computes it").wait_for()
    assert newcomer.page.get_by_text("src/headwise/nn/attention.py").first.is_visible()
    assert "softmax" in newcomer.page.get_by_role("region", name="src/headwise/nn/attention.py").first.inner_text()


def test_10_what_would_the_model_say_of_my_own_translation(newcomer: Newcomer) -> None:
    figure = newcomer.station("Teacher forcing")
    before = figure.get_by_role("row", name="Mean loss").inner_text()
    figure.get_by_label("Right translation (change it)").fill("Ein Hund isst das Haus.")
    figure.get_by_role("button", name="Score it").click()
    figure.get_by_role("cell", name="▁Hund").first.wait_for()
    after = figure.get_by_role("row", name="Mean loss").inner_text()
    assert next(iter(numbers_in(after))) > next(iter(numbers_in(before)))


def test_11_what_else_did_the_search_consider(newcomer: Newcomer) -> None:
    figure = newcomer.station("Beam search")
    figure.get_by_role("group", name="Beam width").get_by_role("radio", name="2").check()
    figure.get_by_text("Beam search (2) writes:").wait_for()
    assert TRANSLATION in figure.inner_text()
    figure.get_by_role("button", name="Back").click()
    assert "Step" in figure.inner_text()
    figure.get_by_role("group", name="Tree of the beam search").get_by_role("button").last.click(force=True)
    assert "log" in newcomer.computation


def test_12_what_would_an_earlier_layer_have_written(newcomer: Newcomer) -> None:
    figure = newcomer.station("Decoder")
    rows = figure.get_by_role("rowheader").all_inner_texts()
    assert rows == ["Layer 2", "Layer 1", "entrance"]
    figure.get_by_role("gridcell").last.click()
    assert "Were this the last layer" in newcomer.computation
