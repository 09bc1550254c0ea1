"""The shell of the page in a real browser: views, languages, themes, sizes, and no barrier in any of them."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from headwise.serve.page.page_routes import FOLDER
from tests.serve.page.conftest import Watched, axe_findings, until
from tests.taught import SOURCES, TARGETS

VIEWS = [path.name for path in sorted((FOLDER / "views").iterdir()) if (path / "view.js").is_file()]
TEXT = f"#translate?source=en&target=de&text={SOURCES[0].replace(' ', '+')}"


def test_each_view_has_a_link_and_an_address(watched: Watched) -> None:
    page = watched.open(TEXT)
    watched.refused = True
    links = page.get_by_role("navigation", name="Views").get_by_role("link")
    assert links.count() == len(VIEWS) == 8
    titles: set[str] = set()
    for number in range(links.count()):
        links.nth(number).click()
        view = page.url.split("#")[1].split("?")[0]
        page.wait_for_selector(f"[data-view='{view}']")
        assert links.nth(number).get_attribute("aria-current") == "page"
        assert page.title().endswith(" – Headwise")
        titles.add(page.title())
    assert len(titles) == len(VIEWS)
    page.go_back()
    page.wait_for_selector("[data-view='positions']")
    assert "text=" in page.url


def test_the_address_brings_a_text_and_its_languages_back(watched: Watched) -> None:
    page = watched.open(TEXT)
    page.locator(".word").first.wait_for()
    assert page.get_by_label("Translate to").input_value() == "de"
    other = watched.page.context.new_page()
    other.goto(page.url)
    other.locator(".word").first.wait_for()
    assert other.get_by_role("textbox", name="Text to translate").input_value() == SOURCES[0]


@pytest.mark.parametrize(
    ("language", "heading"), [("de", "Übersetzen"), ("fr", "Traduire"), ("it", "Traduci"), ("hi", "अनुवाद")]
)
def test_the_interface_changes_its_language_and_keeps_it(watched: Watched, language: str, heading: str) -> None:
    page = watched.open(TEXT)
    page.get_by_label("Language of this page").select_option(language)
    page.get_by_role("heading", name=heading, level=1).wait_for()
    page.reload()
    page.get_by_role("heading", name=heading, level=1).wait_for()
    assert page.locator("html").get_attribute("lang") == language
    assert not re.findall(r"\b(?:nav|shell|translate|error)\.\w+", page.inner_text("body"))


def test_the_browsers_language_is_the_first_choice(watch: Callable[..., Watched]) -> None:
    page = watch(locale="fr-CA").open()
    assert page.get_by_role("link", name="Traduire").is_visible()


def test_the_theme_follows_the_system_until_it_is_chosen(watch: Callable[..., Watched]) -> None:
    def ground(page: Any) -> Any:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    dark, light = watch(color_scheme="dark").open(), watch(color_scheme="light").open()
    colours = ground(dark), ground(light)
    assert colours[0] != colours[1]
    light.get_by_role("button", name=re.compile("Theme")).click()  # light
    light.get_by_role("button", name=re.compile("Theme")).click()  # dark
    assert ground(light) == colours[0]
    light.reload()
    assert ground(light) == colours[0]


@pytest.mark.parametrize("width", [320, 360, 768, 1280, 2200])
def test_nothing_is_wider_than_the_screen(watch: Callable[..., Watched], width: int) -> None:
    page = watch(viewport={"width": width, "height": 700}).open(TEXT)
    page.locator(".word").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_is_pressed_is_large_enough_for_a_finger(watch: Callable[..., Watched]) -> None:
    page = watch(viewport={"width": 360, "height": 740}, has_touch=True).open(TEXT)
    page.locator(".word").first.wait_for()
    small = page.locator("button, select, a[href], input:not([type=file])").evaluate_all(
        """all => all.filter((each) => each.checkVisibility() && !each.matches(".skip"))
            .map((each) => [each, each.getBoundingClientRect()])
            .filter(([, box]) => box.height < 43.5 || box.width < 24)
            .map(([each, box]) => each.outerHTML.slice(0, 80) + box.height)"""
    )
    assert not small


def test_a_keyboard_reaches_the_content_and_sees_where_it_is(watched: Watched) -> None:
    watched.refused = True
    page = watched.open("#positions")  # the translator goes to its text
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    assert page.locator("main:focus").count() == 1


def test_shortcuts_are_listed_and_work(watched: Watched) -> None:
    page = watched.open(TEXT)
    page.locator(".word").first.focus()
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keyboard shortcuts").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+KeyS")
    until(page, f"document.querySelector('#source-text').value === '{TARGETS[0]}'")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_in_the_translator(watch: Callable[..., Watched], theme: str, width: int) -> None:
    page = watch(color_scheme=theme, viewport={"width": width, "height": 800}, bypass_csp=True).open(
        "#translate?source=en&target=de&text=A+bird+sings+in+the+old+tree."
    )
    page.wait_for_selector(".legend")
    assert not axe_findings(page)
    page.locator(".word").first.click()
    page.wait_for_selector(".choice")
    assert not axe_findings(page)
    page.keyboard.press("Escape")
    for name in ("Glossary", "History", "Keyboard shortcuts"):
        page.get_by_role("button", name=name).click()
        assert not axe_findings(page)
        page.keyboard.press("Escape")


def test_reduced_motion_is_respected(watch: Callable[..., Watched]) -> None:
    page = watch(reduced_motion="reduce").open(TEXT)
    slow = page.evaluate(
        """[...document.querySelectorAll("*")].filter((each) => {
            const style = getComputedStyle(each);
            const all = `${style.transitionDuration},${style.animationDuration}`.split(",");
            return all.some((each) => parseFloat(each) > 0.01);
        }).length"""
    )
    assert slow == 0
