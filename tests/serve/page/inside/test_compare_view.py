"""Two translations side by side in a real browser: where they part, and why."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.serve.page.conftest import Watched, axe_findings
from tests.serve.page.inside.conftest import SENTENCE, numbers, opened, settled

CLOSE = 1e-5
YOUNG = {"left": {"model": "taught", "beam": 1}, "right": {"model": "young", "beam": 1}}


@pytest.fixture
def compared(ask: Callable[..., Any]) -> Any:
    sentence = {name: value for name, value in SENTENCE.items() if name != "model"}
    return ask("compare", {**sentence, **YOUNG})


def test_the_first_token_where_two_models_part_is_marked(watched: Watched, compared: Any) -> None:
    diverges = compared["diverges"]
    assert diverges, "both models write the same: the young one has learned too much"
    page = opened(watched, "compare", **YOUNG)
    for side, line in zip(("left", "right"), page.locator(".outcome").all(), strict=True):
        assert line.locator("li").count() == len(compared[side]["target_tokens"])
        assert line.locator("li.parts").count() == 1
        assert line.locator("li").nth(diverges["position"]).get_attribute("class") == "parts"
    assert f"part at token {diverges['position'] + 1}" in page.locator(".note.warn").inner_text()


def test_the_reason_has_the_probabilities_of_both(watched: Watched, compared: Any) -> None:
    page = opened(watched, "compare", **YOUNG)
    rows = page.locator(".reasons tbody tr")
    assert rows.count() == len(compared["diverges"]["reason"])
    for row, reason in zip(rows.all(), compared["diverges"]["reason"], strict=True):
        assert numbers(row.inner_text()) == pytest.approx([reason["left"], reason["right"]], abs=CLOSE)


def test_settings_are_changed_by_menus_and_kept_in_the_address(watched: Watched) -> None:
    page = opened(watched, "compare", left={"beam": 4}, right={"beam": 4})
    assert "Both write the same tokens" in page.locator(".compare-sides ~ .note").inner_text()
    page.locator(".compare-sides section").last.get_by_label("Model").select_option("young")
    page.wait_for_selector(".token-row .parts")
    settled(page)
    page.wait_for_timeout(400)
    assert "young" in page.url


def test_precisions_are_compared(watched: Watched) -> None:
    page = opened(watched, "compare", left={"beam": 4}, right={"beam": 4})
    with page.expect_response("**/api/inside/compare") as waiting:
        page.get_by_role("button", name="float32 and int8").click()
    answer = waiting.value.json()
    assert (answer["left"]["model"]["precision"], answer["right"]["model"]["precision"]) == ("float32", "int8")
    settled(page)
    shown = [numbers(each)[0] for each in page.locator(".outcome").all_inner_texts()]
    assert shown == pytest.approx([answer["left"]["score"], answer["right"]["score"]], abs=CLOSE)


def test_a_model_without_checkpoints_is_said_so(watched: Watched) -> None:
    watched.refused = True
    page = opened(watched, "compare")
    page.get_by_role("button", name="Show the checkpoints").click()
    page.wait_for_selector(".note.error")
    assert "checkpoints" in page.locator(".note.error").inner_text()


def test_checkpoints_have_a_slider(watched: Watched) -> None:
    page = opened(watched, "compare")
    steps = [(100, "Die Die", -4.25), (800, "Die Katze isst.", -0.5)]
    answer = [
        {"step": step, "translation": text, "score": score, "score_of_last": score - 1, "alignment": [[0, 0], [1, 1]]}
        for step, text, score in steps
    ]
    page.route("**/api/inside/checkpoints", lambda route: route.fulfill(json=answer))
    page.get_by_role("button", name="Show the checkpoints").click()
    page.wait_for_selector(".learned")
    assert page.locator(".learned").inner_text() == "Die Katze isst."
    page.get_by_role("slider", name="Checkpoint").fill("0")
    assert page.locator(".learned").inner_text() == "Die Die"
    assert page.locator(".word-lines .lines path").count() == 2


def test_axe_finds_nothing(watched: Watched) -> None:
    assert not axe_findings(opened(watched, "compare", **YOUNG))
