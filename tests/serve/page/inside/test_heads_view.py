"""Attention heads in a real browser: the numbers are the model's, and the pictures can be walked and saved."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.serve.page.conftest import Watched, axe_findings
from tests.serve.page.inside.conftest import numbers, opened, saved

CLOSE = 1e-5


def table(page: Any) -> list[list[str]]:
    """The cells of the enlarged head's table, without its headers; the last one of a row is its sum."""
    details = page.locator(".enlarged details")
    if not details.evaluate("each => each.open"):
        details.locator("summary").click()
    rows = details.locator("tbody tr")
    rows.first.wait_for()
    return [row.locator("td").all_inner_texts() for row in rows.all()]


def shown_weights(page: Any) -> list[list[float]]:
    return [[0.0 if cell in ("0", "masked") else numbers(cell)[0] for cell in row] for row in table(page)]


def test_it_opens_on_the_head_that_the_trace_recommends(watched: Watched, trace: Any) -> None:
    page = opened(watched, "heads")
    opening = trace["opening"]
    pressed = page.locator(".head[aria-pressed=true]")
    assert pressed.count() == 1
    assert pressed.locator(".head-name").inner_text() == f"{opening['layer'] + 1}.{opening['head'] + 1}"
    assert page.get_by_role("tab", selected=True).inner_text() == "Cross-attention"
    assert page.locator(".enlarged h2").inner_text().endswith(f"head {opening['layer'] + 1}.{opening['head'] + 1}")


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_numbers_are_those_of_the_model_and_rows_sum_to_1(watched: Watched, trace: Any, kind: str) -> None:
    layer = len(trace["attention"][kind]) - 1
    page = opened(watched, "heads", kind=kind, layer=layer, heads=[2])
    weights = trace["attention"][kind][layer][2]
    shown = shown_weights(page)
    assert len(shown) == len(weights)
    for row, expected in zip(shown, weights, strict=True):
        assert row[:-1] == pytest.approx(expected, abs=CLOSE)
        assert row[-1] == pytest.approx(1, abs=CLOSE)


def test_masked_cells_are_exactly_0_and_hatched(watched: Watched, trace: Any) -> None:
    page = opened(watched, "heads", kind="decoder", layer=0, heads=[0])
    size = len(trace["target_tokens"])
    assert page.locator(".enlarged .heat-map rect.masked").count() == size * (size - 1) // 2
    for row, cells in enumerate(table(page)):
        assert cells[row + 1 : -1] == ["masked"] * (size - 1 - row)
        assert trace["attention"]["decoder"][0][0][row][row + 1 :] == [0] * (size - 1 - row)


def test_several_heads_are_averaged(watched: Watched, trace: Any) -> None:
    page = opened(watched, "heads", kind="cross", layer=1, heads=[0])
    page.get_by_label("Choose several").check()
    page.get_by_role("button", name="layer 2, head 4").click()
    assert "mean of heads 2.1, 2.4" in page.locator(".enlarged h2").inner_text()
    one, other = trace["attention"]["cross"][1][0], trace["attention"]["cross"][1][3]
    for row, (a, b) in zip(shown_weights(page), zip(one, other, strict=True), strict=True):
        assert row[:-1] == pytest.approx([(x + y) / 2 for x, y in zip(a, b, strict=True)], abs=CLOSE)
    assert page.locator(".lines-part .legend li").count() == 2


def test_subwords_are_merged_by_sums_over_columns_and_means_over_rows(watched: Watched, trace: Any) -> None:
    page = opened(watched, "heads", kind="cross", layer=1, heads=[1])
    page.get_by_label("Merge subwords").check()

    def groups(tokens: list[Any]) -> list[list[int]]:
        words = [(token["word"], index) for index, token in enumerate(tokens)]
        found: dict[Any, list[int]] = {}
        for word, index in words:
            found.setdefault(word if word >= 0 else -index - 1, []).append(index)
        return list(found.values())

    rows, columns = groups(trace["target_tokens"]), groups(trace["source_tokens"])
    assert len(columns) < len(trace["source_tokens"]), "no word has subwords: choose another sentence"
    weights = trace["attention"]["cross"][1][1]
    for shown, row in zip(shown_weights(page), rows, strict=True):
        expected = [sum(weights[r][c] for r in row for c in column) / len(row) for column in columns]
        assert shown[:-1] == pytest.approx(expected, abs=CLOSE)


def test_weights_can_be_weighed_by_the_norm_of_the_values(watched: Watched, trace: Any) -> None:
    page = opened(watched, "heads", kind="encoder", layer=0, heads=[1])
    page.get_by_label("Weigh by the norm").check()
    weights, norms = trace["attention"]["encoder"][0][1], trace["value_norms"]["encoder"][0][1]
    for shown, row in zip(shown_weights(page), weights, strict=True):
        products = [weight * norm for weight, norm in zip(row, norms, strict=True)]
        assert shown[:-1] == pytest.approx([each / sum(products) for each in products], abs=CLOSE)


def test_arrow_keys_walk_over_cells_and_the_readout_says_the_number(watched: Watched, trace: Any) -> None:
    page = opened(watched, "heads", kind="cross", layer=0, heads=[0])
    page.locator(".heat-map .stage").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    readout = page.locator(".heat-map output").inner_text()
    assert "looks at" in readout
    assert numbers(readout) == [pytest.approx(trace["attention"]["cross"][0][0][1][1], abs=CLOSE)]
    page.keyboard.press("End")
    assert numbers(page.locator(".heat-map output").inner_text()) == [
        pytest.approx(trace["attention"]["cross"][0][0][1][-1], abs=CLOSE)
    ]


def test_arrow_keys_walk_over_heads(watched: Watched) -> None:
    page = opened(watched, "heads", kind="cross", layer=0, heads=[0])
    page.locator(".head[aria-pressed=true]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator(".enlarged h2").inner_text().endswith("head 2.2")


def test_the_lines_of_a_word_are_brought_out(watched: Watched, trace: Any) -> None:
    page = opened(watched, "heads", kind="cross", layer=1, heads=[0])
    word = page.locator(".word-lines .word").nth(len(trace["source_tokens"]))  # the first one of the translation
    word.hover()
    said = page.locator(".lines-part output").inner_text()
    strongest = sorted(trace["attention"]["cross"][1][0][0], reverse=True)[:3]
    assert numbers(said) == pytest.approx(strongest, abs=CLOSE)
    assert page.locator(".word-lines path.dimmed").count() > 0


def test_the_address_shows_the_same_head_again(watched: Watched) -> None:
    page = opened(watched, "heads")
    page.get_by_role("tab", name="Decoder self-attention").click()
    page.get_by_role("button", name="layer 2, head 3").click()
    page.wait_for_timeout(400)
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(".enlarged h2")
    assert page.locator(".enlarged h2").inner_text() == "Decoder self-attention, head 2.3"


def test_the_logit_lens_ends_with_what_the_model_holds_likely(watched: Watched, trace: Any) -> None:
    page = opened(watched, "heads")
    rows = page.locator(".lens tbody tr")
    assert rows.count() == len(trace["lens"])
    rows.last.locator("button").first.click()
    shown = numbers(page.locator(".lens-details").inner_text())
    assert shown == pytest.approx([each["probability"] for each in trace["lens"][-1][0]], abs=CLOSE)
    assert shown[0] == pytest.approx(trace["candidates"][0][0]["probability"], abs=CLOSE)


def test_a_picture_is_saved_as_svg_png_json_and_pharaoh(watched: Watched, trace: Any, tmp_path: Path) -> None:
    page = opened(watched, "heads", kind="cross", layer=1, heads=[0])
    buttons = page.locator(".map-part .save")
    drawing = ElementTree.fromstring(saved(page, buttons.get_by_role("button", name="SVG"), tmp_path))
    texts = [each.text for each in drawing.iter() if each.tag.endswith("text")]
    assert f"{trace['attention']['cross'][1][0][0][0]:.5f}" in texts or len(trace["source_tokens"]) > 10
    assert "var(" not in ElementTree.tostring(drawing, encoding="unicode")
    assert saved(page, buttons.get_by_role("button", name="PNG"), tmp_path).startswith(b"\x89PNG")
    kept = json.loads(saved(page, buttons.get_by_role("button", name="JSON"), tmp_path))
    assert kept["weights"] == trace["attention"]["cross"][1][0]
    pharaoh = saved(page, buttons.get_by_role("button", name="Pharaoh"), tmp_path).decode()
    assert pharaoh == " ".join(f"{a}-{b}" for a, b in trace["alignment"]) + "\n"


def test_axe_finds_nothing(watched: Watched) -> None:
    page = opened(watched, "heads")
    page.locator(".enlarged details summary").click()
    assert not axe_findings(page)
