"""The product x W^T + b for the few rows of a search step, whose time is that of loading the weights.

A cuBLAS product starts when the previous kernel has ended, and only then loads its weights. The kernel of
`row_product_triton` loads them while it waits, and lets the next kernel start early. Products of many rows, and those
on other devices, are left to PyTorch.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.nn.kernels import usable_in_half

MOST_MULTIPLICATIONS = 2**28
"""Largest product for the kernel: beyond it cuBLAS is faster. Measured, like all of these constants."""
LEAST_PROGRAMS = 64
PART_DEPTH = 512
CHUNK_IN_FLIGHT = 256
"""Largest chunk where several are in flight: some GPUs have only 99 KiB of shared memory."""


class ProductTile(NamedTuple):
    """The output tile of a program and its settings: the fastest on a GPU of 132 multiprocessors."""

    rows: int
    columns: int
    chunk: int
    warps: int
    stages: int


TILES = (ProductTile(64, 64, 128, 4, 4), ProductTile(32, 32, 512, 4, 3), ProductTile(16, 32, 512, 4, 3))


def row_product(x: Tensor, weight: Tensor, bias: Tensor | None, relu: bool = False, in_parts: bool = False) -> Tensor:
    """The product of x [R, D], weight [F, D] and bias [F] -> [R, F]; rows of x are contiguous. `relu`: apply a ReLU.

    `in_parts`: the result may be float32 [P, R, F], parts that are still to be added: more and shorter programs.
    """
    rows, (columns, depth) = len(x), weight.shape
    if rows * columns * depth <= MOST_MULTIPLICATIONS and depth % 16 == 0 and usable_in_half(x, weight):
        parts = depth // PART_DEPTH if in_parts and depth % PART_DEPTH == 0 else 1
        tile = _tile(rows, columns, depth // parts, parts)
        return _kernels().row_product(x, weight, bias, relu, parts, tile)  # type: ignore[no-any-return]
    if relu and bias is not None:  # cuBLAS can fuse it
        return torch._addmm_activation(bias, x, weight.t())
    product = F.linear(x, weight, bias)
    return F.relu(product) if relu else product


def _tile(rows: int, columns: int, depth: int, parts: int) -> ProductTile:
    """The largest tile that leaves work for enough programs, and is not mostly empty."""
    fitting = [each for each in TILES if each.rows < 2 * max(rows, TILES[-1].rows)]
    enough = (each for each in fitting if parts * -(-rows // each.rows) * -(-columns // each.columns) >= LEAST_PROGRAMS)
    tile = next(enough, TILES[-1])
    chunk = min(tile.chunk, depth & -depth)
    return tile._replace(chunk=chunk if chunk == depth else min(chunk, CHUNK_IN_FLIGHT))


def _kernels() -> Any:
    from headwise.nn.kernels import row_product_triton

    return row_product_triton
