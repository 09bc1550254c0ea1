"""What small models never answer: 512 tokens, right-to-left text, emoji and markup, on wide pages and on phones."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.serve.page.conftest import Watched
from tests.serve.page.inside.conftest import fragment, kept_answers, settled

HARMLESS = ["▁</script>", "▁<img", "▁src=x", "▁onerror=alert(1)>", "▁שלום", "▁مرحبا", "▁🙂", "</s>"]


def made_trace(pieces: list[str], trace: Any, **changes: Any) -> Any:
    """A trace of these pieces on both sides: every head looks at the same position, half, and at the first, half."""
    size = len(pieces)
    tokens = [{"piece": piece, "id": index, "word": index} for index, piece in enumerate(pieces)]

    def weights(causal: bool) -> list[list[float]]:
        rows = [[0.0] * size for _ in range(size)]
        for at, row in enumerate(rows):
            row[at] += 0.5
            row[0] += 0.5
        return rows

    kinds = {"encoder": False, "decoder": True, "cross": False}
    words = [piece.lstrip("▁") for piece in pieces]
    return {
        **trace,
        "text": " ".join(words),
        "translation": " ".join(words),
        "source_tokens": tokens,
        "target_tokens": tokens,
        "shown_tokens": tokens,
        "source_words": words,
        "target_words": words,
        "log_probability": [-0.5] * size,
        "attention": {kind: [[weights(causal)] * 2] for kind, causal in kinds.items()},
        "value_norms": {kind: [[[1.0] * size] * 2] for kind in kinds},
        "lens": [],
        "roles": [],
        "opening": {"kind": "cross", "layer": 0, "head": 0},
        **changes,
    }


def test_markup_and_right_to_left_text_are_only_text(watched: Watched, trace: Any) -> None:
    kept_answers(watched.page, "trace", made_trace(HARMLESS, trace))
    page = watched.open(fragment("heads"))
    settled(page)
    assert page.locator("[data-view] img, [data-view] script").count() == 0
    words = page.locator(".word-lines .word").all_text_contents()
    assert words[: len(HARMLESS)] == [piece.lstrip("▁") for piece in HARMLESS]
    box = page.locator(".word-lines svg").bounding_box()
    for word in page.locator(".word-lines .word text").all():
        inner = word.bounding_box()
        assert box["x"] - 1 <= inner["x"], "a word is cut off"
        assert inner["x"] + inner["width"] <= box["x"] + box["width"] + 1, "a word is cut off"


def test_512_tokens_remain_usable(watched: Watched, trace: Any) -> None:
    """One layer at a time, on a canvas: the others of the trace are not there until they are asked for."""
    pieces = [f"▁w{index}" for index in range(511)] + ["</s>"]
    long = made_trace(pieces, trace)
    only = {kind: [*layers, None] for kind, layers in long["attention"].items()}
    long = {
        **long,
        "attention": only,
        "value_norms": {kind: [*each, None] for kind, each in long["value_norms"].items()},
    }
    kept_answers(watched.page, "trace", long)
    page = watched.open(fragment("heads"))
    page.wait_for_selector(".heat-map canvas", timeout=30_000)
    assert page.get_by_label("one layer at a time").is_visible()
    assert page.locator(".layer").count() == 1
    assert "up to 128 tokens" in page.locator(".lines-part").inner_text()
    page.locator(".heat-map .stage").focus()
    page.keyboard.press("ArrowDown")
    took = page.evaluate(
        """() => {
            const stage = document.querySelector(".heat-map .stage");
            const start = performance.now();
            for (let i = 0; i < 5; i += 1) stage.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown" }));
            return (performance.now() - start) / 5;
        }"""
    )
    assert took < 200, "milliseconds for a key"
    assert page.locator(".heat-map output").inner_text() == "“w5” looks at “w0”: 0.50000"


@pytest.mark.parametrize("view", ["heads", "effect", "decoding", "compare", "positions"])
def test_a_phone_does_not_scroll_sideways(watch: Callable[..., Watched], view: str) -> None:
    watched = watch(viewport={"width": 360, "height": 740}, color_scheme="dark", has_touch=True)
    page = watched.open(fragment(view))
    settled(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_pictures_follow_the_theme(watch: Callable[..., Watched]) -> None:
    """Canvases do not follow custom properties: they are painted anew."""
    page = watch().open(fragment("heads"))
    settled(page)
    read = """() => {
        const canvas = document.querySelector(".thumbnail");
        return canvas.toDataURL();
    }"""
    before = page.evaluate(read)
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate(read) != before
