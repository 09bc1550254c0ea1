"""A browser that looks at the page of a running server, and notes whatever goes wrong in it."""

import asyncio
import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.serve.running import RunningServer, running_server

CHROMIUM = os.environ.get("HEADWISE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
AXE = [
    Path(os.environ.get("HEADWISE_AXE") or "axe.min.js"),
    Path(__file__).parents[3] / "node_modules" / "axe-core" / "axe.min.js",
]


@pytest.fixture(scope="session")
def session_browser() -> Iterator[tuple[Any, asyncio.AbstractEventLoop]]:
    """Chromium, driven by Playwright, with the event loop that Playwright runs in this thread."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (headwise[browser])")
    if not CHROMIUM:
        pytest.skip("there is no chromium here (HEADWISE_CHROMIUM names one)")
    with contextlib.ExitStack() as stack:
        playwright = stack.enter_context(api.sync_playwright())
        loop = asyncio.get_running_loop()
        stack.push(lambda *_: asyncio._set_running_loop(loop))  # for Playwright's own end
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        asyncio._set_running_loop(None)
        yield made, loop
        asyncio._set_running_loop(loop)
        made.close()


@pytest.fixture
def browser(session_browser: tuple[Any, asyncio.AbstractEventLoop]) -> Iterator[Any]:
    """The browser, for one test.

    Playwright's loop stays the running one of the thread between its calls, where `asyncio.run` refuses to work: so
    it is so for tests with a browser only.
    """
    made, loop = session_browser
    asyncio._set_running_loop(loop)
    yield made
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def page_server(small_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with the small model, in a process of its own; it stores corrections."""
    state = tmp_path_factory.mktemp("page")
    with running_server(small_folder, state, suggestions=True, char_limit=5_000) as server:
        yield server


@dataclass
class Watched:
    """A page of a browser, with the address of its server and what went wrong on it."""

    page: Any
    url: str
    problems: list[str] = field(default_factory=list)
    refused: bool = False
    """Whether the server may refuse requests; the browser writes that to its console, too."""

    def open(self, fragment: str = "") -> Any:
        """Open the page at a fragment such as `#heads`, and wait for its view."""
        self.page.goto(f"{self.url}/{fragment}")
        self.page.wait_for_selector("[data-view]")
        return self.page

    def note_console(self, message: Any) -> None:
        if message.type in ("error", "warning") and not (self.refused and "Failed to load resource" in message.text):
            self.problems.append(f"console: {message.text}")

    def note_request(self, request: Any) -> None:
        if not re.match(rf"{re.escape(self.url)}/|data:|blob:", request.url):
            self.problems.append(f"a request left the server: {request.url}")


@pytest.fixture
def watch(browser: Any, page_server: RunningServer) -> Iterator[Callable[..., Watched]]:
    """Opens pages in contexts of their own: `watch(color_scheme="dark")`. Afterwards nothing may have gone wrong."""
    opened: list[tuple[Any, Watched]] = []

    def new(**options: Any) -> Watched:
        context = browser.new_context(**{"locale": "en-GB", **options})
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        watched = Watched(context.new_page(), page_server.url)
        watched.page.on("console", watched.note_console)
        watched.page.on("pageerror", lambda error: watched.problems.append(f"error: {error}"))
        watched.page.on("request", watched.note_request)
        opened.append((context, watched))
        return watched

    yield new
    for context, watched in opened:
        context.close()
        assert not watched.problems


@pytest.fixture
def watched(watch: Callable[..., Watched]) -> Watched:
    """A page of usual size in English."""
    return watch()


def until(page: Any, condition: str, seconds: float = 20.0) -> None:
    """Wait until an expression of JavaScript is true. Playwright's own way evaluates it in the page, which refuses."""
    ends = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < ends, condition
        page.wait_for_timeout(50)


def axe_findings(page: Any) -> list[str]:
    """What axe finds against the rules of WCAG 2.2 AA on a page, and its own best practices."""
    source = next((each for each in AXE if each.is_file()), None)
    if source is None:
        pytest.skip("axe-core is not here (HEADWISE_AXE names axe.min.js, or node_modules has it)")
    page.evaluate(source.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document)")
    return [
        f"{each['id']}: {node['target']} {node.get('failureSummary', '')}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
