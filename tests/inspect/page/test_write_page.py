"""The page in a single file: complete, harmless whatever the sentence holds, and not too large."""

import base64
import gzip
import itertools
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from headwise.cli import main
from headwise.errors import DataError
from headwise.inspect.inside.one_translation import OneTranslation, Question, translate_inside
from headwise.inspect.inside.translation_trace import trace_json
from headwise.inspect.page.inlined_page import PREFIX, inlined, page_modules, page_texts
from headwise.inspect.page.page_answers import PageAnswer, page_answers
from headwise.inspect.page.write_page import LARGEST, few_heads, page_text, without_tour, write_page
from headwise.models.folder.load import save_model
from tests.inspect.inside.models import random_inside, taught_inside
from tests.shapes import small
from tests.taught import SOURCES, TARGETS, taught

NASTY = "</script><script>alert(1)</script><!-- </style> مرحبا 😀 \u2028 ' \" ${x}"
CHROMIUM = os.environ.get("HEADWISE_CHROMIUM") or shutil.which("chromium")


def translated(text: str = SOURCES[0], translation: str | None = None) -> OneTranslation:
    return translate_inside(taught_inside(), Question(text, "en", "de", translation))


@pytest.fixture(scope="module")
def answers() -> list[PageAnswer]:
    return list(page_answers(translated()))


def unpacked(page: str) -> Any:
    [packed] = re.findall(r'id="headwise-packed">([^<]*)</script>', page)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_page_holds_the_trace_and_what_the_views_ask_for(answers: list[PageAnswer]) -> None:
    one = translated()
    content = unpacked(page_text(one, answers))
    found = content["data"]["answers"]
    [whole] = [each for each in found["trace"] if not each["body"].get("switches")]
    assert whole["answer"] == json.loads(json.dumps(trace_json(one, "all")))
    assert found["decode"][0]["body"]["beam"] == 4
    assert found["translate"][0]["answer"]["translations"][0]["text"] == TARGETS[0]
    assert found["compare"][0]["answer"].keys() == {"left", "right", "diverges"}
    switched = [each for each in found["trace"] if each["body"].get("detail") == "brief"]
    off = {tuple(map(tuple, each["body"]["switches"].get("heads_off", []))) for each in switched}
    assert len(off - {()}) == 4 * (1 + 2 + 2)
    for each in switched:
        assert each["answer"]["changed_by"] == each["body"]["switches"]
        assert each["answer"]["translation"] == each["body"].get("translation", each["answer"]["translation"])
    parts = [each["body"]["switches"] for each in switched]
    assert all({name: False} in parts for name in ("positions", "mask", "scaling"))
    assert content["data"]["state"] == {"text": SOURCES[0], "source": "en", "target": "de"}


def test_every_module_imports_only_what_the_page_holds() -> None:
    modules = page_modules()
    assert PREFIX + "app.js" in modules
    for name, source in modules.items():
        assert not re.search(r"""["']\.{1,2}/[^"']*\.js["']""", source), name
        assert set(re.findall(r"""["'](headwise/[^"']*\.js)["']""", source)) <= modules.keys(), name
    assert sum(PREFIX in source for source in modules.values()) > 10
    assert page_texts()["en"]["shell"]


def test_nothing_in_a_sentence_can_end_a_script_or_reach_the_network() -> None:
    one = translated(NASTY, NASTY)
    page = page_text(one, itertools.islice(page_answers(one), 4))
    assert NASTY not in page
    assert "alert(1)" not in page
    assert page.count("</script>") == page.count("<script")
    outside = [each for each in re.findall(r'(?:src|href)="([^"]*)"', page) if not each.startswith(("#", "data:"))]
    assert not outside
    assert "default-src &#x27;none&#x27;" in page
    assert unpacked(page)["data"]["state"]["text"] == NASTY


def test_a_lone_surrogate_is_written() -> None:
    page = inlined({"text": "\ud800 x"})
    page.encode()
    assert unpacked(page)["data"]["text"] == "\ud800 x"


def test_the_file_is_never_too_large(answers: list[PageAnswer]) -> None:
    """What matters least is left out first; a page that cannot hold even one layer is refused."""
    one = translated()
    whole = page_text(one, answers)
    empty = len(inlined({"answers": {}}))
    assert len(whole.encode()) < LARGEST
    seen = set()
    for room in (300_000, 120_000, 90_000, 30_000, 12_000):
        page = page_text(one, answers, largest=empty + room)
        assert len(page.encode()) <= empty + room
        [trace] = [e["answer"] for e in unpacked(page)["data"]["answers"]["trace"] if not e["body"].get("switches")]
        heads = [head for layer in trace.get("steps", {}).get("query_key_value", {}).get("cross", []) for head in layer]
        layers = [layer for kind in trace["attention"].values() for layer in kind]
        seen.add(("steps" in trace, None in heads, None in layers))
        opening = trace["opening"]
        assert trace["attention"][opening["kind"]][opening["layer"]]
    assert seen == {(True, False, False), (True, True, False), (False, False, False), (False, False, True)}
    with pytest.raises(DataError, match="too long for a page"):
        page_text(one, answers, largest=empty + 1_000)


def test_every_kind_of_attention_keeps_a_head_with_numbers(answers: list[PageAnswer]) -> None:
    answer = answers[0].answer
    for per_layer in (True, False):
        heads = few_heads(answer, per_layer=per_layer)["steps"]["query_key_value"]
        with_numbers = {kind: [any(layer) for layer in layers] for kind, layers in heads.items()}
        assert {kind: any(layers) for kind, layers in with_numbers.items()} == dict.fromkeys(answer["attention"], True)
        assert all(all(layers) for layers in with_numbers.values()) == per_layer
    cross = few_heads(answer, per_layer=False)["steps"]["query_key_value"][answer["opening"]["kind"]]
    assert cross[answer["opening"]["layer"]][answer["opening"]["head"]] is not None


def test_sixty_tokens_of_a_small_model_fit_with_all_their_numbers() -> None:
    inside = random_inside(small(width=128, attention__heads=4, layers=2, encoder__layers=3))
    words = inside.tokenizer.encode("The cat sees a small dog. " * 30)
    text = inside.tokenizer.decode(words[:60])
    one = translate_inside(inside, Question(text, "en", "de", translation=text))
    assert len(one.source_ids) >= 60
    assert len(one.shown_ids) >= 60
    first = next(page_answers(one))
    page = page_text(one, [first])
    assert len(page.encode()) <= LARGEST
    assert unpacked(page)["data"]["answers"]["trace"][0]["answer"]["steps"]


def test_the_command_writes_a_page_and_an_alignment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_model(tmp_path / "run", taught())
    save_model(tmp_path / "run" / "checkpoints" / "step-00000040", taught(steps=40))
    save_model(tmp_path / "other", taught(steps=20))
    told = ["inspect", "--model", str(tmp_path / "run"), SOURCES[0]]
    page = tmp_path / "page.html"
    assert main([*told, "--out", str(page), "--checkpoints", "--compare", str(tmp_path / "other")]) == 0
    answers = unpacked(page.read_text("utf-8"))["data"]["answers"]
    assert [each["step"] for each in answers["checkpoints"][0]["answer"]["checkpoints"]] == [40]
    sides = answers["compare"][0]["answer"]
    assert [sides[side]["model"]["name"] for side in ("left", "right")] == ["run", "other"]
    assert main([*told, "--out", str(tmp_path / "x.pharaoh")]) == 0
    assert re.fullmatch(r"(\d+-\d+ ?)+\n", (tmp_path / "x.pharaoh").read_text())
    assert TARGETS[0] in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        ["--layer", "1"],
        ["--kind", "cross"],
        ["--generate", "3"],
        ["--second", "x"],
    ],
)
def test_options_that_a_page_would_ignore_are_refused(wrong: list[str], tmp_path: Path) -> None:
    save_model(tmp_path / "run", taught())
    told = ["inspect", "--model", str(tmp_path / "run"), SOURCES[0], "--out", str(tmp_path / "page.html")]
    assert main([*told, *wrong]) != 0
    picture = [*told[:-1], str(tmp_path / "page.png")]
    assert main([*picture, "--checkpoints"]) != 0
    assert main([*picture, "--compare", str(tmp_path / "run")]) != 0


@pytest.fixture
def chromium() -> Any:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (headwise[browser])")
    if not CHROMIUM:
        pytest.skip("there is no chromium here (HEADWISE_CHROMIUM names one)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize("text", [SOURCES[0], NASTY], ids=["plain", "nasty"])
def test_it_opens_from_disk_without_a_network(chromium: Any, text: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(path, translated(text, None if text == SOURCES[0] else NASTY))
    context = chromium.new_context(offline=True, locale="en-GB")
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append("a dialog: a script of the sentence ran"))
    page.on(
        "request", lambda asked: problems.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None
    )
    for view in ("heads", "effect", "decoding", "compare", "tour", "positions", "translate"):
        page.goto(f"{path.as_uri()}#{view}")
        page.reload()
        page.wait_for_selector(f'[data-view="{view}"] h1')
        page.wait_for_selector("main:not(:has([aria-busy=true]))")
    assert not problems
    page.goto(f"{path.as_uri()}#heads")
    page.reload()
    assert page.input_value(".sentence-text") == text
    context.close()


@pytest.mark.parametrize(("levels", "message"), [(1, ""), (2, ""), (3, "so long a sentence")])
def test_the_tour_of_a_long_sentence_shows_what_there_is(
    chromium: Any, answers: list[PageAnswer], levels: int, message: str, tmp_path: Path
) -> None:
    """The levels of numbers that are left out: all but one head per layer, all but one of a kind, the whole tour."""
    answer = answers[0].answer
    reduced = [few_heads(answer), few_heads(answer, per_layer=False), without_tour(answer)][levels - 1]
    path = tmp_path / "page.html"
    path.write_text(page_text(translated(), [answers[0]._replace(answer=reduced)]), "utf-8")
    page = chromium.new_page(locale="en-GB")
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    for station in (
        "tokenisation",
        "query-key-value",
        "attention",
        "self-attention",
        "multi-head-attention",
        "softmax",
    ):
        page.goto(f"{path.as_uri()}#tour?tour.station={station}")
        page.reload()
        page.wait_for_selector(".tour-main:not([aria-busy])")
        alerts = page.locator("main [role=alert]").all_inner_texts()
        assert len(alerts) == bool(message)
        assert all(message in alert for alert in alerts)
    assert not problems
    page.close()


def test_it_offers_nothing_that_only_a_server_can_do(chromium: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(path, translated())
    page = chromium.new_page(locale="en-GB")
    shown = {}
    for view in ("translate", "compare", "families"):
        page.goto(f"{path.as_uri()}#{view}")
        page.reload()
        page.wait_for_selector(f'[data-view="{view}"] h1')
        page.wait_for_selector("main:not(:has([aria-busy=true]))")
        shown[view] = page.locator("main").inner_text()
    assert "Translate a file" not in shown["translate"]
    assert "NaN" not in shown["translate"]
    assert "Side by side" in shown["compare"]
    assert "checkpoints" not in shown["compare"]
    assert "A saved page" in shown["families"]
    page.close()
