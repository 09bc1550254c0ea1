"""Position encodings: the paper's table, and what makes them usable as positions."""

import math

import pytest
import torch

from headwise.nn.positions import POSITIONS, Learned, PositionShape, Relative, Sinusoidal
from headwise.nn.rotary import Frequencies


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
@pytest.mark.parametrize("layout", ["interleaved", "halves", "fairseq"])
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


def test_learned_positions_may_skip_the_start_of_their_table() -> None:
    learned = Learned(8, 10, offset=2)
    torch.nn.init.normal_(learned.weight)
    assert learned.weight.shape == (12, 8)
    x = torch.zeros(1, 10, 8)
    torch.testing.assert_close(learned.embed(x, torch.arange(10))[0], learned.weight[2:])


def test_an_offset_moves_the_sinusoidal_table() -> None:
    positions = torch.arange(5)
    for layout in ("interleaved", "halves", "fairseq"):
        moved = Sinusoidal(8, layout, offset=3).table(positions)
        torch.testing.assert_close(moved, Sinusoidal(8, layout).table(positions + 3))


def test_fairseq_angles_end_at_one_ten_thousandth() -> None:
    table = Sinusoidal(8, "fairseq").table(torch.tensor([1.0]))[0]
    assert table[0].item() == pytest.approx(math.sin(1))
    assert table[3].item() == pytest.approx(math.sin(1e-4))
    assert Sinusoidal(9, "fairseq").table(torch.arange(5))[:, 8].tolist() == [0.0] * 5


def relative(causal: bool, buckets: int = 8, distance: int = 16) -> Relative:
    encoding = Relative(3, buckets, distance, causal)
    torch.nn.init.normal_(encoding.weight)
    return encoding


@pytest.mark.parametrize("causal", [False, True])
def test_relative_scores_depend_on_the_distance_alone(causal: bool) -> None:
    bias = relative(causal).bias(20, 20)
    assert bias.shape == (1, 3, 20, 20)
    for ahead in range(-19, 20):
        diagonal = bias.diagonal(ahead, 2, 3)
        torch.testing.assert_close(diagonal, diagonal[..., :1].expand_as(diagonal))


@pytest.mark.parametrize("causal", [False, True])
def test_relative_scores_of_the_last_positions_are_those_of_all(causal: bool) -> None:
    """As cached steps need them."""
    encoding = relative(causal)
    torch.testing.assert_close(encoding.bias(3, 20), encoding.bias(20, 20)[:, :, 17:])


def test_relative_buckets_are_fine_near_and_coarse_far() -> None:
    causal = relative(True).bucket(-torch.arange(40))
    assert causal[:4].tolist() == [0, 1, 2, 3]
    assert (causal.diff() >= 0).all()
    assert (causal[16:] == 7).all()  # beyond the distance all are alike
    assert relative(True).bucket(torch.arange(5)).tolist() == [0] * 5  # the future is not looked at
    both = relative(False)
    past, future = both.bucket(-torch.arange(1, 40)), both.bucket(torch.arange(1, 40))
    torch.testing.assert_close(future, past + 4)  # each side has half of the buckets
    assert set(past.tolist()) | set(future.tolist()) | {0} <= set(range(8))


@pytest.mark.parametrize("name", POSITIONS)
def test_every_encoding_continues_where_a_cache_ends(name: str) -> None:
    """Positions 3.. alone give what all give there, in each of the three places."""
    shape = PositionShape(8, 2, True, 16, 0, Frequencies(4), 6, 8)
    encoding = POSITIONS[name](shape)
    for parameter in encoding.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(2, 6, 8)
    whole = encoding.embed(x, torch.arange(6))
    torch.testing.assert_close(encoding.embed(x[:, 3:], torch.arange(3, 6)), whole[:, 3:])
    rotation, later = encoding.rotation(torch.arange(6)), encoding.rotation(torch.arange(3, 6))
    if rotation is not None and later is not None:
        torch.testing.assert_close(later.cosine, rotation.cosine[3:])
        torch.testing.assert_close(later.sine, rotation.sine[3:])
    bias, later_bias = encoding.bias(6, 6), encoding.bias(3, 6)
    if bias is not None and later_bias is not None:
        torch.testing.assert_close(later_bias, bias[:, :, 3:])
    assert name == "none" or rotation is not None or bias is not None or not torch.equal(whole, x)


@pytest.mark.parametrize("name", POSITIONS)
def test_rows_of_a_batch_may_have_positions_of_their_own(name: str) -> None:
    encoding = POSITIONS[name](PositionShape(8, 2, True, 16, 0, Frequencies(4), 6, 8))
    for parameter in encoding.parameters():
        torch.nn.init.normal_(parameter)
    x, positions = torch.randn(2, 4, 8), torch.tensor([[0, 1, 2, 3], [0, 0, 1, 2]])
    together = encoding.embed(x, positions)
    for row in range(2):
        torch.testing.assert_close(together[row], encoding.embed(x[row : row + 1], positions[row])[0])
