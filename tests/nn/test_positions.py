"""Position encodings: the paper's table, and what makes them usable as positions."""

import math

import pytest
import torch

from headwise.nn.positions import POSITIONS, Learned, PositionShape, Rotary, Sinusoidal


def test_the_table_of_width_five() -> None:
    table = Sinusoidal(5).table(torch.arange(5))
    expected = torch.tensor(
        [
            [0.000, 0.841, 0.909, 0.141, -0.757],
            [1.000, 0.540, -0.416, -0.990, -0.654],
            [0.000, 0.025, 0.050, 0.075, 0.100],
            [1.000, 1.000, 0.999, 0.997, 0.995],
            [0.000, 0.001, 0.001, 0.002, 0.003],
        ]
    )
    torch.testing.assert_close(table.T, expected, atol=5e-4, rtol=0)


@pytest.mark.parametrize("width", [1, 2, 5, 8, 33, 512])
@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_bounded_and_unique(width: int, layout: str) -> None:
    table = Sinusoidal(width, layout).table(torch.arange(200))
    assert table.shape == (200, width)
    assert table.abs().max() <= 1
    if width > 1:
        distances = torch.cdist(table.double(), table.double()).fill_diagonal_(math.inf)
        assert distances.min() > 1e-3


@pytest.mark.parametrize("width", [4, 8, 64])
def test_a_shift_is_one_linear_map(width: int) -> None:
    """P(t + c) = M(c) P(t) with the same M for every t: solve M from some positions, try it on others."""
    table = Sinusoidal(width).table(torch.arange(300)).double()
    shift = 7
    exponents = torch.arange(0, width, 2).double() / width
    angles = shift / 10000.0**exponents
    matrix = torch.block_diag(
        *(
            torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]], dtype=torch.float64)
            for a in angles.tolist()
        )
    )
    torch.testing.assert_close(table[shift:], table[:-shift] @ matrix.T, atol=1e-4, rtol=0)


def test_halves_hold_the_same_numbers_in_another_order() -> None:
    positions = torch.arange(20)
    for width in (5, 8):
        interleaved, halves = Sinusoidal(width).table(positions), Sinusoidal(width, "halves").table(positions)
        sines = (width + 1) // 2
        assert torch.equal(halves[:, :sines], interleaved[:, 0::2])
        assert torch.equal(halves[:, sines:], interleaved[:, 1::2])


def test_unknown_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="layout"):
        Sinusoidal(8, "mixed")


def test_learned_positions_end_where_the_table_ends() -> None:
    learned = Learned(8, 10)
    torch.nn.init.normal_(learned.weight)
    x = torch.randn(2, 10, 8)
    torch.testing.assert_close(learned.embed(x, torch.arange(10)) - x, learned.weight.expand(2, 10, 8))
    with pytest.raises(ValueError, match="only 10 were learned"):
        learned.embed(torch.randn(1, 11, 8), torch.arange(11))


@pytest.mark.parametrize(("base", "scaling"), [(10000.0, 1.0), (500.0, 1.0), (10000.0, 4.0)])
def test_rotary_products_depend_on_the_distance_alone(base: float, scaling: float) -> None:
    rotary = Rotary(8, base, scaling)
    query, key = torch.randn(1, 1, 1, 8).double(), torch.randn(1, 1, 1, 8).double()

    def product(at: int, other: int) -> float:
        one = rotary.rotation(torch.tensor([at])).apply(query.float())
        two = rotary.rotation(torch.tensor([other])).apply(key.float())
        return (one * two).sum().item()

    assert product(5, 2) == pytest.approx(product(105, 102), abs=1e-4)
    assert product(5, 2) != pytest.approx(product(5, 3), abs=1e-4)
    assert product(0, 0) == pytest.approx((query * key).sum().item(), abs=1e-5)


def test_rotary_scaling_stretches_positions() -> None:
    far = Rotary(8, scaling=4.0).rotation(torch.tensor([40]))
    near = Rotary(8).rotation(torch.tensor([10]))
    torch.testing.assert_close(far.cosine, near.cosine)


def test_rotary_needs_an_even_width() -> None:
    with pytest.raises(ValueError, match="even"):
        Rotary(5)


@pytest.mark.parametrize("name", POSITIONS)
def test_every_encoding_continues_where_a_cache_ends(name: str) -> None:
    """Embedding positions 3.. alone gives what embedding all gives there."""
    encoding = POSITIONS[name](PositionShape(8, 4, 16, 10000.0, 1.0))
    for parameter in encoding.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(2, 6, 8)
    whole = encoding.embed(x, torch.arange(6))
    torch.testing.assert_close(encoding.embed(x[:, 3:], torch.arange(3, 6)), whole[:, 3:])
