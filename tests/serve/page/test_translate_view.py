"""The translator in a real browser, by its visible labels."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.serve.page.conftest import Watched, until
from tests.taught import SOURCES, TARGETS

ENGLISH = "#translate?source=en&target=de"


def translation(page: Any) -> Any:
    return page.get_by_role("group", name="Translation")


def translated(page: Any, text: str) -> None:
    """Wait until the translation is this."""
    from playwright.sync_api import expect

    expect(translation(page)).to_have_text(text)


def typed(watched: Watched, text: str, fragment: str = ENGLISH) -> Any:
    page = watched.open(fragment)
    page.get_by_role("textbox", name="Text to translate").fill(text)
    return page


def test_a_text_is_translated_while_it_is_typed(watched: Watched) -> None:
    page = watched.open(ENGLISH)
    page.get_by_role("textbox", name="Text to translate").press_sequentially(SOURCES[0], delay=5)
    translated(page, TARGETS[0])
    assert page.locator("#count").inner_text().startswith(f"{len(SOURCES[0])} /")


def test_an_answer_to_an_earlier_text_is_dropped(watched: Watched) -> None:
    """The first answer is held back until the second is there."""
    held: list[Any] = []

    def hold_first(route: Any) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page = watched.open(ENGLISH)
    page.route("**/api/translate", hold_first)
    box = page.get_by_role("textbox", name="Text to translate")
    box.fill(SOURCES[0])
    page.wait_for_timeout(500)
    assert held
    box.fill(SOURCES[5])
    translated(page, TARGETS[5])
    held[0].abort()  # the page has given it up
    page.wait_for_timeout(200)
    translated(page, TARGETS[5])
    watched.problems = [each for each in watched.problems if "ERR_FAILED" not in each]


def test_the_language_is_detected_and_said(watched: Watched) -> None:
    page = typed(watched, SOURCES[0], "#translate?target=de")
    translated(page, TARGETS[0])
    assert page.get_by_label("Translate from").locator("option:checked").inner_text() == "Detected: English"


def test_languages_and_texts_are_swapped(watched: Watched) -> None:
    page = typed(watched, SOURCES[0])
    translated(page, TARGETS[0])
    page.get_by_role("button", name="Swap languages").click()
    translated(page, SOURCES[0])
    assert page.get_by_role("textbox", name="Text to translate").input_value() == TARGETS[0]
    assert page.get_by_label("Translate from").input_value() == "de"


def test_a_word_shows_where_it_came_from_and_can_be_replaced(watched: Watched) -> None:
    page = typed(watched, "The cat sees the house.")
    translated(page, "Die Katze sieht das Haus.")
    page.locator(".word", has_text="sieht").click()
    menu = page.get_by_role("dialog")
    assert page.locator(".translate-behind mark").count() >= 1
    choices = menu.locator(".choice")
    choices.first.wait_for()
    assert "sieht" in choices.first.inner_text()
    other = choices.nth(1).locator(".choice-word").inner_text()
    choices.nth(1).click()
    translated(page, re.compile(rf"^Die Katze {re.escape(other)}"))
    assert page.locator(".word.pinned").inner_text() == other
    page.locator(".word.pinned").click()
    page.get_by_role("button", name="Back to the first translation").click()
    translated(page, "Die Katze sieht das Haus.")


def test_marks_belong_to_the_text_that_is_translated(watched: Watched) -> None:
    page = typed(watched, SOURCES[0])
    translated(page, TARGETS[0])
    page.route("**/api/translate", lambda route: None)  # held: the answer does not come yet
    page.get_by_role("textbox", name="Text to translate").fill(f"Well. {SOURCES[0]}")
    page.locator(".word").last.hover()
    assert page.locator(".translate-behind mark").count() == 0
    page.unroute("**/api/translate")  # which lets go of those that are held


def test_marks_lie_below_a_text_from_right_to_left(watched: Watched) -> None:
    page = typed(watched, "שלום")
    direction = "[...document.querySelectorAll('.translate-box > *')].map((each) => getComputedStyle(each).direction)"
    until(page, f"({direction}).join() === 'rtl,rtl'")


def test_a_word_of_ones_own_is_kept_and_the_rest_follows_it(watched: Watched) -> None:
    page = typed(watched, "The cat sees the house.")
    translated(page, "Die Katze sieht das Haus.")
    page.locator(".word", has_text="sieht").click()
    page.get_by_role("textbox", name="Another word").fill("findet")
    page.get_by_role("button", name="Use", exact=True).click()
    translated(page, re.compile("^Die Katze findet "))


def test_the_keyboard_reaches_and_opens_every_word(watched: Watched) -> None:
    from playwright.sync_api import expect

    page = typed(watched, "The cat sees the house.")
    translated(page, "Die Katze sieht das Haus.")
    page.locator(".word").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".word:focus")).to_have_text("sieht")
    page.keyboard.press("Enter")
    expect(page.locator(".choice").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".choice").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(".word:focus")).to_have_text("sieht")


def test_probabilities_of_words_are_those_of_the_server(watched: Watched) -> None:
    page = typed(watched, "A bird sings in the old tree and flies.")  # the small model was not taught that
    page.wait_for_selector(".legend")
    shown = page.locator(".word:not(.sample)").evaluate_all(
        "all => all.map((e) => [e.textContent, e.className.split(' ')[1]])"
    )
    asked = {
        "text": "A bird sings in the old tree and flies.",
        "translation": translation(page).inner_text(),
        "source": "en",
        "target": "de",
    }
    words = page.request.post(f"{watched.url}/api/words", data=asked).json()["words"]
    level = lambda p: "sure" if p >= 0.5 else "unsure" if p >= 0.2 else "doubtful"  # noqa: E731
    assert shown == [[each["word"], level(each["probability"])] for each in words]
    assert {"unsure", "doubtful"} & {each for _, each in shown}


def test_another_translation_can_be_taken(watched: Watched) -> None:
    page = typed(watched, SOURCES[0])
    translated(page, TARGETS[0])
    other = page.locator(".alternative").first
    text = other.inner_text()
    other.click()
    translated(page, text)


def test_glossary_terms_are_used_and_kept_on_this_device(watched: Watched) -> None:
    page = typed(watched, SOURCES[0])
    page.get_by_role("button", name="Glossary").click()
    page.get_by_label("Term 1", exact=True).fill("cat")
    page.get_by_label("Translation of term 1").fill("Hund")
    page.get_by_role("button", name="Close").click()
    translated(page, re.compile("Hund"))
    assert page.get_by_text("cat → Hund").is_visible()
    page.reload()
    page.get_by_role("button", name="Glossary (1)").wait_for()
    translated(page, re.compile("Hund"))


def test_a_dialog_has_its_heading_and_its_button_in_one_row_of_full_width(watched: Watched) -> None:
    page = typed(watched, SOURCES[0])
    for name in ("Glossary", "History", "Keyboard shortcuts"):
        page.get_by_role("button", name=name).click()
        whole, title, close = (
            page.locator(each).bounding_box() for each in ("dialog", "dialog h2", "dialog [aria-label=Close]")
        )
        assert title["x"] < whole["x"] + 40
        assert close["x"] + close["width"] > whole["x"] + whole["width"] - 40
        assert close["y"] < title["y"] + title["height"]
        page.keyboard.press("Escape")


def test_a_phone_without_keys_offers_no_shortcuts(watch: Callable[..., Watched]) -> None:
    page = watch(viewport={"width": 375, "height": 740}, has_touch=True, is_mobile=True).open(ENGLISH)
    assert page.get_by_role("button", name="History").is_visible()
    assert not page.get_by_role("button", name="Keyboard shortcuts").is_visible()


def test_a_correction_answers_the_same_text_again(watched: Watched) -> None:
    source, better = "A dog finds the house.", "Ein Hund entdeckt das Haus."
    page = typed(watched, source)
    translated(page, "Ein Hund findet das Haus.")
    page.get_by_role("button", name="Correct by hand").click()
    page.get_by_role("textbox", name="Your translation").fill(better)
    page.get_by_role("button", name="Save as correction").click()
    translated(page, better)
    page.reload()
    translated(page, better)
    assert page.get_by_text("Your correction").is_visible()


def test_a_dropped_file_is_translated_for_download(watched: Watched) -> None:
    page = watched.open(ENGLISH)
    data = page.evaluate_handle(
        "text => { const data = new DataTransfer(); data.items.add(new File([text], 'letter.txt')); return data; }",
        SOURCES[0],
    )
    for event in ("dragover", "drop"):
        page.dispatch_event(".panes", event, {"dataTransfer": data})
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download").click()
    assert downloading.value.suggested_filename == "letter.translated.txt"
    assert downloading.value.path().read_text(encoding="utf-8").strip() == TARGETS[0]


def test_a_file_of_an_unknown_kind_is_refused_in_words(watched: Watched) -> None:
    page = watched.open(ENGLISH)
    page.locator("input[type=file]").set_input_files({"name": "x.exe", "mimeType": "", "buffer": b"x"})
    page.get_by_text("This kind of file cannot be translated").wait_for()
    page.get_by_role("button", name="Remove x.exe").click()
    assert not page.locator(".file").count()


def test_history_is_kept_on_this_device_until_it_is_cleared(watched: Watched) -> None:
    page = typed(watched, SOURCES[0])
    translated(page, TARGETS[0])
    until(page, "localStorage.getItem('headwise.history') !== null")
    page.get_by_role("button", name="Clear", exact=True).click()
    page.get_by_role("button", name="History").click()
    page.get_by_role("button", name=re.compile(re.escape(TARGETS[0]))).click()
    translated(page, TARGETS[0])
    page.get_by_role("button", name="History").click()
    page.get_by_role("button", name="Clear the history").click()
    assert page.get_by_text("Nothing yet.").is_visible()
    assert page.evaluate("localStorage.getItem('headwise.history')") is None


def test_a_translation_is_copied(watched: Watched) -> None:
    page = typed(watched, SOURCES[0])
    translated(page, TARGETS[0])
    page.get_by_role("button", name="Copy the translation").click()
    page.wait_for_timeout(100)
    assert page.evaluate("navigator.clipboard.readText()") == TARGETS[0]


def test_too_long_a_text_is_refused_in_words(watched: Watched) -> None:
    page = typed(watched, "x" * 5_001)
    assert page.get_by_text("This is too long: the server takes 5,000 characters.").is_visible()


def test_an_unreachable_server_is_an_error_in_words(watched: Watched) -> None:
    watched.refused = True
    page = watched.open(ENGLISH)
    page.route("**/api/translate", lambda route: route.abort())
    page.get_by_role("textbox", name="Text to translate").fill("Hello")
    page.get_by_text("The server does not answer.").wait_for()


@pytest.mark.parametrize(
    "text",
    [
        "</script><script>window.broken = true</script><img src=x onerror='window.broken = true'>",
        "שלום עולם، مرحبا بالعالم",
        "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 \u202e reversed \u202c",
        "a\nb\n\n  c  ",
        "मैंने एक सेब खाया।",
        "&lt;b&gt; ${x} {0} ~[1]",
    ],
)
def test_no_text_is_more_than_text(watched: Watched, text: str) -> None:
    page = typed(watched, text)
    page.wait_for_selector(".word")
    page.wait_for_timeout(600)  # for the address
    assert not page.evaluate("window.broken")
    assert not page.locator("main script, main img").count()
    page.reload()
    page.wait_for_selector(".word")
    assert page.get_by_role("textbox", name="Text to translate").input_value() == text
