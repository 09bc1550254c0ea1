"""What only a step of a search has - products of few rows, embeddings of one token a row - against the obvious way.

Without a GPU the kernels run in Triton's interpreter.
"""

import itertools

import pytest
import torch
from torch import Tensor

from headwise.nn.kernels import residual_norm, row_product
from headwise.nn.kernels.row_product import ProductTile
from headwise.nn.kernels.token_embedding import token_embedding
from tests.kernels import DEVICE, needs_kernels

pytestmark = pytest.mark.filterwarnings("ignore:Conversion of an array")  # of Triton's interpreter


def random(*shape: int) -> Tensor:
    return torch.randn(shape, device=DEVICE).half()


def product(x: Tensor, weight: Tensor, bias: Tensor | None, relu: bool) -> Tensor:
    made = x.float() @ weight.float().t() + (0 if bias is None else bias.float())
    return made.relu() if relu else made


@needs_kernels
@pytest.mark.parametrize("tile", [ProductTile(16, 16, 64, 4, 2), ProductTile(32, 16, 32, 4, 3)])
@pytest.mark.parametrize(("rows", "columns", "depth"), [(5, 40, 64), (48, 64, 192)])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_products(
    rows: int, columns: int, depth: int, relu: bool, biased: bool, tile: ProductTile, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weight, bias = random(rows, depth), random(columns, depth), random(columns) if biased else None
    monkeypatch.setattr(row_product, "TILES", (tile,))
    found = row_product.row_product(x, weight, bias, relu)
    assert found.dtype == torch.float16
    assert torch.allclose(found.float(), product(x, weight, bias, relu), rtol=2**-9, atol=2**-6)


@needs_kernels
@pytest.mark.parametrize("depth", [96, 128])  # one that cannot be divided, too
def test_products_in_parts_that_a_norm_adds(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_product, "PART_DEPTH", 64)
    x, weight, bias, state = random(7, depth), random(40, depth), random(40), random(7, 40)
    gain, offset = random(40), random(40)
    parts = row_product.row_product(x, weight, bias, in_parts=True)
    assert parts.shape == ((2, 7, 40) if depth == 128 else (7, 40))
    total, normed = residual_norm.sum_and_norm(state, parts, gain, offset, 1e-5, True)
    wanted = state.float() + product(x, weight, bias, False)
    assert torch.allclose(total.float(), wanted, rtol=2**-9, atol=2**-5)
    assert torch.allclose(residual_norm.added(state, parts).float(), wanted, rtol=2**-9, atol=2**-5)
    wanted = torch.nn.functional.layer_norm(total.float(), (40,), gain.float(), offset.float(), 1e-5)
    assert torch.allclose(normed.float(), wanted, rtol=2**-8, atol=2**-7)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_much_work_is_the_librarys(relu: bool, biased: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias = random(8, 32), random(16, 32), random(16) if biased else None
    monkeypatch.setattr(row_product, "_kernels", lambda: pytest.fail("made here"))
    monkeypatch.setattr(row_product, "MOST_MULTIPLICATIONS", 8 * 16 * 32 - 1)
    found = row_product.row_product(x, weight, bias, relu, in_parts=True)
    assert torch.allclose(found.float(), product(x, weight, bias, relu), rtol=2**-8, atol=2**-5)


def test_tiles_leave_work_for_all() -> None:
    assert [row_product._tile(rows, 512, 512, 1).rows for rows in (1024, 256, 64, 1)] == [64, 32, 16, 16]
    assert row_product._tile(64, 512, 512, 4).rows == 32  # each part has programs of its own
    assert row_product._tile(1, 4096, 512, 8).rows == 16
    assert row_product._tile(64, 512, 48, 1).chunk == 16


def test_tiles_fit_into_what_every_multiprocessor_has() -> None:
    for rows, columns, depth in itertools.product((1, 64, 256, 1024), (64, 512, 4096), (64, 512, 1024, 1536)):
        tile = row_product._tile(rows, columns, depth, 1)
        waiting = min(tile.stages - 1, depth // tile.chunk)  # as Triton has it on the GPUs that have so little
        assert 2 * waiting * (tile.rows + tile.columns) * tile.chunk <= 99 * 1024


def test_embeddings() -> None:
    table, positions = random(30, 12), random(9, 12)
    tokens, places = torch.tensor([3, 29, 0], device=DEVICE), torch.tensor([8, 0, 4], device=DEVICE)
    assert torch.equal(token_embedding(tokens, table, places, positions), table[tokens] + positions[places])
