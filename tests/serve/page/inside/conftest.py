"""A server with small models of all kinds, and what the views of the inside are asked and answer."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from headwise.models.folder.load import save_model
from tests.kinds import encoder, language_model, seer
from tests.serve.page.conftest import Watched
from tests.serve.running import RunningServer, running_server
from tests.taught import SOURCES, taught

TEXT = SOURCES[16]
SENTENCE = {"text": TEXT, "source": "en", "target": "de", "model": "taught"}
NUMBER = re.compile(r"[-−]?\d+\.\d+")


@pytest.fixture(scope="session")
def page_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with two translators, one of which has learned little, and one model of every other family."""
    models = tmp_path_factory.mktemp("models")
    kinds = {"bert": encoder(), "gpt": language_model(), "taught": taught(), "vit": seer(), "young": taught(steps=8)}
    for name, loaded in kinds.items():
        save_model(models / name, loaded)
    with running_server(models, tmp_path_factory.mktemp("state")) as server:
        yield server


@pytest.fixture
def ask(page_server: RunningServer) -> Callable[..., Any]:
    """Asks the server as the page does: `ask("trace", {...})`."""

    def asked(what: str, body: dict[str, Any]) -> Any:
        answer = httpx2.post(f"{page_server.url}/api/inside/{what}", json=body, timeout=120)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return asked


@pytest.fixture
def trace(ask: Callable[..., Any]) -> Any:
    """The trace of the sentence of these tests."""
    return ask("trace", SENTENCE)


def fragment(view: str, **values: Any) -> str:
    """The address of a view of the sentence; values that are no strings are written as JSON."""
    given = {**SENTENCE, **{f"{view}.{name}": value for name, value in values.items()}}
    written = {name: value if isinstance(value, str) else "~" + json.dumps(value) for name, value in given.items()}
    return f"#{view}?{urlencode(written)}"


def opened(watched: Watched, view: str, **values: Any) -> Any:
    """The view, with its first answer."""
    page = watched.open(fragment(view, **values))
    settled(page)
    return page


def settled(page: Any) -> None:
    """Wait until nothing is being asked."""
    page.wait_for_selector("[data-view] .panel")
    page.wait_for_selector("[aria-busy]", state="detached", timeout=60_000)


def numbers(text: str) -> list[float]:
    """All decimal numbers of a text; the page writes a minus sign as such."""
    return [float(each.replace("−", "-")) for each in NUMBER.findall(text)]


def saved(page: Any, locator: Any, folder: Path) -> bytes:
    """The file that a button saves."""
    with page.expect_download() as waiting:
        locator.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path.read_bytes()


def kept_answers(page: Any, what: str, answer: Any) -> None:
    """Let the page receive this answer: for cases that no small model has, such as 512 tokens."""
    page.route(f"**/api/inside/{what}", lambda route: route.fulfill(json=answer))
