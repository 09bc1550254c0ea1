"""The native engine is told the positions that the model itself has."""

import numpy as np
import pytest
import torch

from headwise.config import ModelConfig, RotaryScaling
from headwise.decode.engines.native import position_table as positions
from headwise.decode.engines.native.describe import native_fits
from headwise.decode.engines.native.position_table import PositionTable
from headwise.models import blocks
from headwise.recipe import model_config
from tests.shapes import with_dots

TIGHT = 3e-5
"""PyTorch's own angles are in float32: at position 200 they are this much off."""


def config(**changes: object) -> ModelConfig:
    return model_config({"width": 64, "attention.heads": 4, "positions.max_positions": 300, **with_dots(changes)})


@pytest.mark.parametrize("kind", ["sinusoidal", "sinusoidal_halves", "sinusoidal_fairseq"])
@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("width", [64, 48])
def test_what_is_added(kind: str, offset: int, width: int) -> None:
    shape = config(positions__kind=kind, positions__offset=offset)
    encoding = blocks.positions(shape, width, causal=True)
    wanted = encoding.embed(torch.zeros(1, 200, width), torch.arange(200))[0].numpy()
    table = PositionTable(shape, width, 16, None)
    for count in (1, 30, 200):
        placing, made = table.up_to(count)
        rows, cosine, _ = placing.arrays
        assert rows is not None
        assert cosine is None
        assert len(rows) == made >= count
        assert np.abs(rows[:200] - wanted[:made]).max() < TIGHT
    assert np.array_equal(table.single(150).arrays[0], rows[150:151])


@pytest.mark.parametrize("turning", [None, 8])
def test_what_is_turned(turning: int | None) -> None:
    shape = config(positions__kind="rotary", positions__rotary__width=turning, positions__rotary__base=500.0)
    wanted = blocks.positions(shape, 64, causal=True).rotation(torch.arange(200))
    assert wanted is not None
    placing, _ = PositionTable(shape, 64, 16, None).up_to(200)
    rows, cosine, sine = placing.arrays
    assert rows is None
    assert cosine is not None
    assert sine is not None
    assert cosine.shape[1] == (turning or 16) // 2
    assert np.abs(cosine[:200] - wanted.cosine.numpy()).max() < TIGHT
    assert np.abs(sine[:200] - wanted.sine.numpy()).max() < TIGHT


def test_none_and_learned() -> None:
    placing, made = PositionTable(config(positions__kind="none"), 64, 16, None).up_to(7)
    assert placing.arrays == (None, None, None)
    assert made >= 7
    learned = np.random.default_rng(0).normal(size=(5, 64)).astype(np.float32)
    table = PositionTable(config(positions__kind="learned"), 64, 16, learned)
    placing, made = table.up_to(2)
    assert made == 5
    assert placing.arrays[0] is learned
    with pytest.raises(ValueError, match="6 positions, but only 5 were learned"):
        table.up_to(6)


def test_positions_that_no_table_can_tell_do_not_fit() -> None:
    assert native_fits(config(positions__kind="rotary"))
    assert not native_fits(config(positions__kind="rotary", positions__rotary__scaling=RotaryScaling("dynamic", 2.0)))
    assert not native_fits(config(positions__kind="relative"))


def test_another_thread_is_never_told_of_more_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """C++ reads as many rows as it is told of."""
    table, known = PositionTable(config(), 64, 16, None), positions.sinusoids
    table.up_to(1)
    asked: list[tuple[int, int]] = []

    def interrupted(*given: object) -> object:
        if not asked:
            asked.append((0, 0))
            placing, made = table.up_to(100)  # what a thread would be told just now
            asked.append((len(placing.arrays[0]), made))
        return known(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(positions, "sinusoids", interrupted)
    table.up_to(100)
    assert asked[1][0] == asked[1][1] >= 100
