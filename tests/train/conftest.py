"""A corpus for whole runs, prepared once; and one thread, since threads only wait on models so small."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.train.small_runs import write_corpus


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))
