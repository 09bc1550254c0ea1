"""A server with a small taught translator of two encoder layers, and the tour of one of its sentences in a browser."""

from collections.abc import Iterator
from typing import Any

import pytest

from headwise.decode.translator import Translator
from headwise.models.folder.load import save_model
from tests.serve.page.tour.tour_page import SHAPE_OF_TOUR, Reference, TourPage, opened, reference
from tests.serve.running import RunningServer, running_server
from tests.taught import taught


@pytest.fixture(scope="session")
def tour_translator() -> Translator:
    """The translator that the tour shows."""
    return Translator(taught(shape=SHAPE_OF_TOUR), device="cpu")


@pytest.fixture(scope="session")
def tour_server(tour_translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("tour")
    save_model(folder / "small", taught(shape=SHAPE_OF_TOUR))
    (folder / "state").mkdir()
    with running_server(folder / "small", folder / "state") as server:
        yield server


@pytest.fixture(scope="session")
def model(tour_translator: Translator) -> Reference:
    """A pass of the sentence and its translation through the model, by the model alone."""
    return reference(tour_translator)


@pytest.fixture
def tour(browser: Any, tour_server: RunningServer, request: pytest.FixtureRequest) -> Iterator[TourPage]:
    """The tour in a page of its own, with the options of a parameter; afterwards nothing may have gone wrong."""
    yield from opened(browser, tour_server, **getattr(request, "param", {}))
