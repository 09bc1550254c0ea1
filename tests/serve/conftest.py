"""A server with a small model, within the process of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from headwise.serve.app import make_app
from headwise.serve.service import Service
from headwise.serve.settings import ServeSettings


def ready_client(service: Service) -> TestClient:
    """A client of an application that has been started; `with` ends it."""
    return TestClient(make_app(service), raise_server_exceptions=False)


@pytest.fixture(scope="session")
def shared_service(small_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Service:
    """A service with usual settings and the small model; do not change it."""
    state = tmp_path_factory.mktemp("state")
    settings = ServeSettings(
        models=str(small_folder), state=str(state), workers=1, threads=1, suggestions=True, char_limit=5_000
    )
    return Service(settings)


@pytest.fixture(scope="session")
def client(shared_service: Service) -> Iterator[TestClient]:
    """A client of that service."""
    with ready_client(shared_service) as made:
        yield made
