"""Shared by all tests: a thread a worker, a fresh seed for each test."""

import os

import pytest
import torch

# Several workers with several threads each would spend their time waiting for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
