from collections.abc import Iterator
from pathlib import Path

import pytest

from headwise.text.tokenizer import Tokenizer
from tests.text.published.comparing import load
from tests.text.published.published_files import FAMILIES


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: make(tmp_path_factory.mktemp("published") / name) for name, make in FAMILIES.items()}


@pytest.fixture(scope="session")
def published(folders: dict[str, Path]) -> dict[str, Tokenizer]:
    return {name: load(folder) for name, folder in folders.items()}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The reference warns of what is no concern here."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
