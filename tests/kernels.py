"""Where kernels for GPUs are tested: on one, or in Triton's interpreter, which is slow."""

import pytest
import torch

from headwise.nn.kernels import usable_on

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

needs_kernels = pytest.mark.skipif(not usable_on(DEVICE), reason="needs a GPU, or TRITON_INTERPRET=1 and Triton")
