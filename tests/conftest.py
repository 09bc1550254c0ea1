"""Shared by all tests: a thread a worker, a fresh seed for each test, and what stands for the bundled model."""

import gc
import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from headwise.bundled import find
from headwise.models.folder.load import convert, save_model
from tests.taught import NATIVE, taught

# Tests that send POSIX signals, limit memory or read /proc: docs/platforms.md says what other systems do not promise.
collect_ignore = []
if sys.platform != "linux":
    collect_ignore += ["bundled/test_bundled_model.py", "train/step/test_out_of_memory.py"]
if sys.platform == "win32":
    collect_ignore += ["system", "train/processes", "data/prepare/test_workers.py", "files/test_atomic.py"]
    collect_ignore += ["train/test_loop.py", "train/test_resume.py", "models/export/test_export.py"]

# A busy machine is no fault of a test.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Several workers with several threads each would spend their time waiting for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)


def pytest_collection_finish() -> None:
    """Keep the thousands of tests and all modules out of garbage collections, which would take a second each."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A very small int8 model with the five languages of the bundled one, taught English and German. Read only."""
    folder = tmp_path_factory.mktemp("five")
    save_model(folder / "float", taught(both_directions=True, untaught=("fr", "it", "hi"), shape=NATIVE))
    convert(folder / "float", folder / "int8", "headwise", precision="int8")
    return folder / "int8"


@pytest.fixture
def small_bundled(small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small model in the place of the bundled one; no other model has a name, and the current folder is empty."""
    monkeypatch.setattr(find, "FOLDER", small_folder)
    monkeypatch.setenv("HEADWISE_MODELS", str(tmp_path / "named"))
    monkeypatch.delenv("HEADWISE_MODEL", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return small_folder


@pytest.fixture(scope="session")
def bundled_model() -> Path:
    """The model that the package ships."""
    if not (find.FOLDER / "config.json").is_file():
        pytest.skip("this checkout has no bundled model")
    return find.FOLDER
