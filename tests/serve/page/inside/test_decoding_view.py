"""The tree of a beam search in a real browser: every candidate, step by step, next to greedy search."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.serve.page.conftest import Watched, axe_findings, until
from tests.serve.page.inside.conftest import SENTENCE, fragment, numbers, opened, saved

CLOSE = 1e-5


@pytest.fixture
def tree(ask: Callable[..., Any]) -> Any:
    return ask("decode", {**SENTENCE, "beam": 4})


def test_every_candidate_is_in_the_tree(watched: Watched, tree: Any) -> None:
    page = opened(watched, "decoding")
    assert page.locator(".leaf").count() == len(tree["nodes"])
    assert page.locator(".leaf.best").count() == len(tree["best"])
    assert page.locator(".leaf.dropped").count() == sum(not node["kept"] for node in tree["nodes"])
    said = page.locator(".leaf.best").first.get_attribute("aria-label")
    assert numbers(said) == [pytest.approx(tree["nodes"][tree["best"][0]]["score"], abs=CLOSE)]


def test_the_slider_grows_the_tree_and_lists_what_a_step_considered(watched: Watched, tree: Any) -> None:
    page = opened(watched, "decoding")
    page.get_by_role("slider", name="Step").fill("2")
    assert page.locator(".leaf:not(.unborn)").count() == sum(node["step"] < 2 for node in tree["nodes"])
    rows = page.locator(".candidates tbody tr")
    considered = [tree["nodes"][node] for node in tree["steps"][1]["candidates"]]
    assert rows.count() == len(considered)
    for row, node in zip(rows.all(), considered, strict=True):
        expected = [math.exp(node["log_probability"]), node["score"]]
        assert numbers(" ".join(row.locator("td").all_inner_texts()[:2])) == pytest.approx(expected, abs=CLOSE)


def test_playing_ends_with_the_whole_tree(watched: Watched, tree: Any) -> None:
    page = opened(watched, "decoding", step=0)
    assert page.locator(".leaf.unborn").count()
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(1_000 * len(tree["steps"]))
    assert page.locator(".leaf.unborn").count() == 0
    assert page.get_by_role("button", name="Play").is_visible()


def test_a_node_shows_its_attention_and_what_else_was_likely(watched: Watched, tree: Any) -> None:
    page = opened(watched, "decoding")
    page.locator(".leaf.best").nth(1).click()
    node = tree["nodes"][tree["best"][1]]
    page.locator(".heat-map .stage").focus()
    page.keyboard.press("ArrowDown")
    shown = numbers(page.locator(".heat-map output").inner_text())
    assert shown == [pytest.approx(tree["attention"][str(node["id"])][0], abs=CLOSE)]
    siblings = [tree["nodes"][each] for each in tree["steps"][1]["candidates"]]
    likely = sorted(
        (math.exp(each["log_probability"]) for each in siblings if each["parent"] == node["parent"]), reverse=True
    )
    assert numbers(page.locator(".bars").inner_text()) == pytest.approx(likely, abs=CLOSE)


def test_arrow_keys_walk_along_branches(watched: Watched, tree: Any) -> None:
    page = opened(watched, "decoding", step=0)
    page.locator(".leaf.chosen").focus()
    page.get_by_role("slider", name="Step").fill(str(len(tree["steps"])))
    page.locator(".leaf.best").nth(1).focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => document.activeElement.classList.contains('best')")
    assert "step 1" in page.evaluate("() => document.activeElement.getAttribute('aria-label')")


def test_greedy_search_stands_next_to_beam_search(watched: Watched, tree: Any) -> None:
    page = opened(watched, "decoding")
    greedy, beam = page.locator(".outcome").all()
    assert tree["greedy"]["translation"] in greedy.inner_text()
    assert tree["translation"] in beam.inner_text()
    assert numbers(greedy.inner_text())[0] == pytest.approx(tree["greedy"]["score"], abs=CLOSE)
    assert greedy.locator("li").count() == len(tree["greedy"]["nodes"])


def test_the_width_of_the_beam_is_a_slider(watched: Watched, ask: Callable[..., Any]) -> None:
    from playwright.sync_api import expect

    page = opened(watched, "decoding")
    page.get_by_role("slider", name="Beam width").fill("2")
    expected = len(ask("decode", {**SENTENCE, "beam": 2})["nodes"])
    expect(page.locator(".leaf")).to_have_count(expected)


def test_the_tree_is_saved_as_svg(watched: Watched, tree: Any, tmp_path: Path) -> None:
    page = opened(watched, "decoding")
    data = saved(page, page.locator(".save").first.get_by_role("button", name="SVG"), tmp_path)
    drawing = ElementTree.fromstring(data)
    assert sum(each.tag.endswith("rect") for each in drawing.iter()) > len(tree["nodes"])


def test_axe_finds_nothing(watched: Watched) -> None:
    assert not axe_findings(opened(watched, "decoding"))


@pytest.mark.parametrize(("view", "asked"), [("decoding", "decode"), ("tour", "trace")])
def test_a_note_says_that_the_numbers_are_being_computed(watched: Watched, view: str, asked: str) -> None:
    held: list[Any] = []
    watched.page.route(f"**/api/inside/{asked}", lambda route: held.append(route))
    page = watched.open(fragment(view))
    note = page.get_by_role("status").get_by_text("The numbers are being computed")
    note.wait_for()
    until(page, "!!document.querySelector('main [aria-busy]')")
    held[0].continue_()
    note.wait_for(state="detached")
    assert page.locator("main h2").count()
