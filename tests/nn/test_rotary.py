"""How fast rotary positions turn, and what each way of slowing them down keeps."""

import math

import pytest
import torch

from headwise.nn.positions import Rotary
from headwise.nn.rotary import Dynamic, Frequencies, Linear, Llama3, LongRope, Yarn

BASE, WIDTH, LENGTH = 10000.0, 16, 32
"""Of training: within it the slowest pairs do not go round once."""

SHORT, LONG = tuple(1.0 + i / 8 for i in range(8)), tuple(2.0 + i / 2 for i in range(8))

KINDS: dict[str, Frequencies] = {
    "none": Frequencies(WIDTH, BASE),
    "another-base": Frequencies(WIDTH, 500.0),
    "linear": Linear(WIDTH, BASE, 4.0),
    "dynamic": Dynamic(WIDTH, BASE, 4.0, LENGTH),
    "llama3": Llama3(WIDTH, BASE, 4.0, LENGTH, 1.0, 4.0),
    "yarn": Yarn(WIDTH, BASE, 4.0, LENGTH),
    "yarn-not-truncated": Yarn(WIDTH, BASE, 4.0, LENGTH, truncate=False),
    "longrope": LongRope(WIDTH, BASE, 4.0, LENGTH, SHORT, LONG),
}

every_kind = pytest.mark.parametrize("frequencies", KINDS.values(), ids=KINDS)


def turns(frequencies: Frequencies, longest: int = 1) -> torch.Tensor:
    return frequencies.turns(torch.arange(longest))


def test_the_formula() -> None:
    expected = [BASE ** (-2 * i / WIDTH) for i in range(WIDTH // 2)]
    torch.testing.assert_close(turns(Frequencies(WIDTH, BASE)), torch.tensor(expected))


@every_kind
@pytest.mark.parametrize("longest", [1, LENGTH, 3 * LENGTH])
def test_every_kind_slows_down_and_none_turns_back(frequencies: Frequencies, longest: int) -> None:
    slowed, plain = turns(frequencies, longest), frequencies.plain()
    assert slowed.shape == (WIDTH // 2,)
    assert (slowed > 0).all()
    assert (slowed <= plain * 1.000001).all()
    assert (slowed.diff() < 0).all()


@every_kind
def test_products_depend_on_the_distance_alone(frequencies: Frequencies) -> None:
    rotary = Rotary(frequencies)
    query, key = torch.randn(1, 1, 1, WIDTH), torch.randn(1, 1, 1, WIDTH)

    def product(at: int, other: int) -> float:
        both = rotary.rotation(torch.tensor([at, other]))
        one = both._replace(cosine=both.cosine[:1], sine=both.sine[:1]).apply(query)
        two = both._replace(cosine=both.cosine[1:], sine=both.sine[1:]).apply(key)
        return (one * two).sum().item()

    assert product(5, 2) == pytest.approx(product(25, 22), abs=1e-4)
    assert product(5, 2) != pytest.approx(product(5, 3), abs=1e-4)
    assert product(0, 0) == pytest.approx((query * key).sum().item() * frequencies.factor**2, abs=1e-4)


def test_rows_of_a_batch_may_have_positions_of_their_own() -> None:
    rotary, heads = Rotary(Frequencies(8)), torch.randn(2, 3, 4, 8)
    positions = torch.tensor([[0, 1, 2, 3], [0, 0, 0, 1]])
    together = rotary.rotation(positions).apply(heads)
    for row in range(2):
        alone = rotary.rotation(positions[row]).apply(heads[row : row + 1])
        torch.testing.assert_close(together[row], alone[0])


def test_a_part_of_a_head_may_turn_and_the_rest_stays() -> None:
    heads = torch.randn(1, 2, 5, 12)
    turned = Rotary(Frequencies(8)).rotation(torch.arange(5)).apply(heads)
    assert torch.equal(turned[..., 8:], heads[..., 8:])
    torch.testing.assert_close(turned[..., :8], Rotary(Frequencies(8)).rotation(torch.arange(5)).apply(heads[..., :8]))
    torch.testing.assert_close(turned.norm(dim=-1), heads.norm(dim=-1))


def test_linear_stretches_positions() -> None:
    far, near = (
        Rotary(Linear(8, BASE, 4.0)).rotation(torch.tensor([40])),
        Rotary(Frequencies(8)).rotation(torch.tensor([10])),
    )
    torch.testing.assert_close(far.cosine, near.cosine)


def test_dynamic_acts_once_the_text_is_longer() -> None:
    dynamic = Dynamic(WIDTH, BASE, 4.0, LENGTH)
    assert torch.equal(turns(dynamic, LENGTH), dynamic.plain())
    longer, longest = turns(dynamic, LENGTH + 8), turns(dynamic, 2 * LENGTH)
    assert (longest[1:] < longer[1:]).all()
    assert (longer[1:] < dynamic.plain()[1:]).all()


@pytest.mark.parametrize("kind", ["llama3", "yarn"])
def test_fast_pairs_stay_and_slow_ones_are_stretched(kind: str) -> None:
    frequencies = KINDS[kind]
    share = turns(frequencies) / frequencies.plain()
    assert share[0] == 1
    assert share[-1] == pytest.approx(1 / 4)
    assert (share.diff() <= 1e-6).all()


def test_yarn_and_longrope_sharpen_attention() -> None:
    assert Yarn(WIDTH, BASE, 4.0, LENGTH).factor == pytest.approx(0.1 * math.log(4) + 1)
    assert KINDS["longrope"].factor == pytest.approx(math.sqrt(1 + math.log(4) / math.log(LENGTH)))
    assert Yarn(WIDTH, BASE, 1.0, LENGTH).factor == LongRope(WIDTH, BASE, 1.0, LENGTH, SHORT, LONG).factor == 1
    assert Yarn(WIDTH, BASE, 4.0, LENGTH, factor=1.5).factor == 1.5
    rotation = Rotary(Yarn(WIDTH, BASE, 4.0, LENGTH, factor=1.5)).rotation(torch.arange(3))
    torch.testing.assert_close(rotation.cosine**2 + rotation.sine**2, torch.full((3, WIDTH // 2), 1.5**2))


def test_longrope_changes_lists_at_the_length_of_training() -> None:
    longrope = KINDS["longrope"]
    torch.testing.assert_close(turns(longrope, LENGTH), longrope.plain() / torch.tensor(SHORT))
    torch.testing.assert_close(turns(longrope, LENGTH + 1), longrope.plain() / torch.tensor(LONG))


def test_longrope_needs_a_divisor_a_pair() -> None:
    with pytest.raises(ValueError, match="7 long factors for 8"):
        LongRope(WIDTH, BASE, 4.0, LENGTH, SHORT, LONG[1:])


def test_an_odd_width_is_refused() -> None:
    with pytest.raises(ValueError, match="even"):
        Frequencies(5)
