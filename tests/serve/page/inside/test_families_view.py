"""GPT, BERT and a Vision Transformer in a real browser."""

import base64
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kinds import picture
from tests.serve.page.conftest import Watched, axe_findings
from tests.serve.page.inside.conftest import numbers, opened, settled

CLOSE = 1e-5
TEXT = "A dog sees the"


def test_a_language_model_shows_what_comes_next(watched: Watched, ask: Callable[..., Any]) -> None:
    page = opened(watched, "families", model="gpt", text=TEXT)
    page.wait_for_selector(".family-token")
    answer = ask("family", {"model": "gpt", "text": TEXT})
    shown = numbers(page.locator(".family-tokens").inner_text())
    assert shown == pytest.approx([math.exp(each) for each in answer["log_probability"]], abs=CLOSE)
    likely = numbers(page.locator(".bars").inner_text())
    assert likely == pytest.approx([each["probability"] for each in answer["candidates"][-1]], abs=CLOSE)
    assert page.locator(".leaf").count() == len(answer["tree"])


def test_its_heads_are_causal(watched: Watched, ask: Callable[..., Any]) -> None:
    page = opened(watched, "families", model="gpt", text=TEXT)
    page.wait_for_selector(".enlarged details")
    answer = ask("family", {"model": "gpt", "text": TEXT})
    size = len(answer["tokens"])
    assert page.locator(".enlarged rect.masked").count() == size * (size - 1) // 2
    page.locator(".enlarged summary").click()
    pressed = page.locator(".head[aria-pressed=true] .head-name").inner_text()
    layer, head = (int(each) - 1 for each in pressed.split("."))
    page.locator(".enlarged tbody tr").first.wait_for()
    rows = page.locator(".enlarged tbody tr").all()
    for row, expected in zip(rows, answer["attention"][layer][head], strict=True):
        cells = [0.0 if each in ("masked", "0") else numbers(each)[0] for each in row.locator("td").all_inner_texts()]
        assert cells[:-1] == pytest.approx(expected, abs=CLOSE)


def test_bert_fills_in_the_blank(watched: Watched, ask: Callable[..., Any]) -> None:
    text = "A dog ___ the house."
    page = opened(watched, "families", model="bert", text=text)
    page.wait_for_selector(".bars")
    answer = ask("family", {"model": "bert", "text": text})
    shown = numbers(page.locator(".bars").inner_text())
    assert shown == pytest.approx([each["probability"] for each in answer["blanks"][0]], abs=CLOSE)
    page.get_by_label("Text, with ___ for a blank").fill("A dog sees the house.")
    page.wait_for_selector(".note")
    assert "three underscores" in page.locator(".note").inner_text()


def test_a_vision_transformer_shows_patches_and_rollout(
    watched: Watched, ask: Callable[..., Any], tmp_path: Path
) -> None:
    file = picture(tmp_path / "red.png", (200, 40, 20))
    page = watched.open("#families?families.model=vit")
    page.get_by_label("Picture", exact=True).set_input_files(file)
    page.wait_for_selector(".over-image")
    settled(page)
    answer = ask("family", {"model": "vit", "image": base64.b64encode(Path(file).read_bytes()).decode()})
    assert answer["label"] in page.locator(".family-label").inner_text()
    rollout = page.locator(".over-image").last
    rollout.locator(".stage").focus()
    page.keyboard.press("ArrowDown")
    assert numbers(rollout.locator("output").inner_text()) == [pytest.approx(answer["rollout"][1], abs=CLOSE)]


@pytest.mark.parametrize("model", ["gpt", "bert"])
def test_axe_finds_nothing(watched: Watched, model: str) -> None:
    page = opened(watched, "families", model=model, text="A dog ___ the")
    page.wait_for_selector(".enlarged h2")
    assert not axe_findings(page)
