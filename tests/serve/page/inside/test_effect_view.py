"""Cause and effect in a real browser: switches change the translation and its probability as the model says."""

import json
import re
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.serve.page.conftest import Watched, axe_findings
from tests.serve.page.inside.conftest import SENTENCE, numbers, opened, settled
from tests.taught import SOURCES, TARGETS

CLOSE = 1e-5


def result(page: Any) -> Any:
    return page.locator(".result")


def test_without_cross_attention_the_translation_changes(watched: Watched, ask: Callable[..., Any], trace: Any) -> None:
    page = opened(watched, "effect")
    assert "Nothing is switched yet" in result(page).inner_text()
    for layer in (1, 2):
        page.get_by_role("button", name=f"Layer {layer}", exact=True).last.click()
    page.wait_for_selector(".result .note.warn")
    settled(page)
    heads = [["cross", layer, head] for layer in range(2) for head in range(trace["model"]["heads"])]
    own = ask("trace", {**SENTENCE, "switches": {"heads_off": heads}})
    given = ask("trace", {**SENTENCE, "switches": {"heads_off": heads}, "translation": trace["translation"]})
    assert own["translation"] != trace["translation"]
    shown = result(page).inner_text()
    assert "The translation changes." in shown
    for word in own["translation"].split():
        assert word in shown
    drop = numbers(result(page).locator(".drop").inner_text())
    assert drop == pytest.approx([trace["score"], given["score"], given["score"] - trace["score"]], abs=2 * CLOSE)


def test_each_token_shows_the_change_of_its_log_probability(
    watched: Watched, ask: Callable[..., Any], trace: Any
) -> None:
    page = opened(watched, "effect", off=[["cross", 1, 0], ["decoder", 0, 2]])
    page.wait_for_selector(".result .heat-map")
    switches = {"heads_off": [["cross", 1, 0], ["decoder", 0, 2]]}
    given = ask("trace", {**SENTENCE, "switches": switches, "translation": trace["translation"]})
    page.locator(".result .heat-map .stage").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    before, now = trace["log_probability"][1], given["log_probability"][1]
    shown = numbers(page.locator(".result output").inner_text())
    assert shown == pytest.approx([before, now, now - before], abs=2 * CLOSE)


def test_a_second_click_switches_back(watched: Watched) -> None:
    page = opened(watched, "effect")
    head = page.get_by_role("button", name=re.compile("Cross-attention, layer 1, head 2"))
    head.click()
    page.wait_for_selector(".result .drop")
    assert head.get_attribute("aria-pressed") == "true"
    head.click()
    page.wait_for_selector(".result .drop", state="detached")
    assert "Heads changed: 0" in page.locator(".board").inner_text()


def test_heads_are_taken_from_another_sentence(watched: Watched, ask: Callable[..., Any], trace: Any) -> None:
    from playwright.sync_api import expect

    page = opened(watched, "effect")
    page.get_by_role("button", name="Take heads from another sentence").click()
    page.get_by_label("The other sentence").fill(SOURCES[20])
    for layer in (1, 2):
        page.get_by_role("button", name=f"Layer {layer}", exact=True).last.click()
    heads = [["cross", layer, head] for layer in range(2) for head in range(trace["model"]["heads"])]
    patch = {"patch": {"text": SOURCES[20], "heads": heads}}
    own = ask("trace", {**SENTENCE, "switches": patch})
    expect(page.locator(".outcome-text")).to_have_count(2)
    settled(page)
    new = page.locator(".outcome-text").nth(1).locator("ins").all_inner_texts()
    assert set(new) <= set(own["translation"].split())
    assert own["translation"] != trace["translation"]


def test_without_positions_the_order_is_lost(watched: Watched, ask: Callable[..., Any]) -> None:
    page = opened(watched, "effect")
    page.get_by_label("No positions").check()
    page.wait_for_selector(".result .drop")
    settled(page)
    own = ask("trace", {**SENTENCE, "switches": {"positions": False}})
    assert numbers(page.locator(".outcome").nth(1).inner_text())[0] == pytest.approx(own["score"], abs=CLOSE)


def test_importance_is_measured_and_drawn_as_a_map(watched: Watched, trace: Any) -> None:
    page = opened(watched, "effect")
    pairs = list(zip(SOURCES, TARGETS, strict=True))[:2]
    page.get_by_label("Test set").fill("\n".join("\t".join(pair) for pair in pairs))
    page.get_by_role("button", name="Measure importance").click()
    page.wait_for_selector(".importance-maps .heat-map")
    assert page.locator(".importance-maps .heat-map").count() == 3
    assert "BLEU with all heads: 100.00000" in page.locator(".importance-maps").inner_text()
    body = {**SENTENCE, "pairs": pairs}
    body.pop("text")
    answer = httpx2.post(f"{watched.url}/api/inside/importance", json=body, timeout=120)
    lost = [head["lost"] for head in json.loads(answer.text.splitlines()[-1])["heads"]]
    assert len(lost) == sum(map(len, trace["attention"].values())) * trace["model"]["heads"]
    drawn = page.locator(".importance-maps .numbers text").all_text_contents()
    assert [float(each.replace("−", "-")) for each in drawn] == pytest.approx(lost, abs=CLOSE)


def test_axe_finds_nothing(watched: Watched) -> None:
    page = opened(watched, "effect", off=[["cross", 1, 0]])
    page.wait_for_selector(".result .drop")
    assert not axe_findings(page)


def test_a_switch_back_before_the_answer_leaves_nothing_waiting(watched: Watched) -> None:
    page = opened(watched, "effect")
    held: list[Any] = []
    page.route("**/api/inside/trace", lambda route: held.append(route))
    head = page.get_by_role("button", name=re.compile("Cross-attention, layer 1, head 2"))
    head.click()
    page.wait_for_selector(".result[aria-busy]")
    head.click()
    page.wait_for_selector(".result[aria-busy]", state="detached")
    assert "Nothing is switched yet" in result(page).inner_text()
    assert held


def test_on_a_phone_the_result_is_in_sight_of_the_switches(watch: Callable[..., Watched]) -> None:
    page = opened(watch(viewport={"width": 390, "height": 844}, has_touch=True), "effect")
    page.get_by_role("button", name=re.compile("Encoder self-attention, layer 1, head 1")).scroll_into_view_if_needed()
    box = result(page).bounding_box()
    assert box["y"] + box["height"] <= 845
