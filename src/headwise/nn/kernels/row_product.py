"""x W^T + b for as few rows as a step of a search has: how long it takes is how long its weights take to come.

A library's product begins when what comes before it has ended, and then asks for its weights. The kernel of
`row_product_triton` may have them by then, and lets the next kernel begin. For many rows, and elsewhere, the library
does it.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.nn.kernels import usable_in_half

MOST_MULTIPLICATIONS = 2**28
"""Of products that are made here: for larger ones the library is faster. By measurement, as all of these are."""
LEAST_PROGRAMS = 64
PART_DEPTH = 512
CHUNK_IN_FLIGHT = 256
"""Where a depth is gone through in chunks, several of them wait in a multiprocessor's memory: some have only 99 KiB."""


class ProductTile(NamedTuple):
    """What a program makes, and how: the best of those that were measured on a GPU of 132 multiprocessors."""

    rows: int
    columns: int
    chunk: int
    warps: int
    stages: int


TILES = (ProductTile(64, 64, 128, 4, 4), ProductTile(32, 32, 512, 4, 3), ProductTile(16, 32, 512, 4, 3))


def row_product(x: Tensor, weight: Tensor, bias: Tensor | None, relu: bool = False, in_parts: bool = False) -> Tensor:
    """[R, D], [F, D], [F] -> [R, F]. The values of a row lie together. `relu`: what is below 0 becomes 0.

    `in_parts`: it may be float32 [P, R, F], parts that are still to be added: more programs, each of which ends sooner.
    """
    rows, (columns, depth) = len(x), weight.shape
    if rows * columns * depth <= MOST_MULTIPLICATIONS and depth % 16 == 0 and usable_in_half(x, weight):
        parts = depth // PART_DEPTH if in_parts and depth % PART_DEPTH == 0 else 1
        tile = _tile(rows, columns, depth // parts, parts)
        return _kernels().row_product(x, weight, bias, relu, parts, tile)  # type: ignore[no-any-return]
    if relu and bias is not None:  # the library's product itself can end in it
        return torch._addmm_activation(bias, x, weight.t())
    product = F.linear(x, weight, bias)
    return F.relu(product) if relu else product


def _tile(rows: int, columns: int, depth: int, parts: int) -> ProductTile:
    """The largest one that leaves work for enough programs, and is not mostly empty."""
    fitting = [each for each in TILES if each.rows < 2 * max(rows, TILES[-1].rows)]
    enough = (each for each in fitting if parts * -(-rows // each.rows) * -(-columns // each.columns) >= LEAST_PROGRAMS)
    tile = next(enough, TILES[-1])
    chunk = min(tile.chunk, depth & -depth)
    return tile._replace(chunk=chunk if chunk == depth else min(chunk, CHUNK_IN_FLIGHT))


def _kernels() -> Any:
    from headwise.nn.kernels import row_product_triton

    return row_product_triton
