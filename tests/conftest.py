"""Shared by all tests: two threads as on a small machine, a fresh seed for each test."""

import pytest
import torch

torch.set_num_threads(2)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
