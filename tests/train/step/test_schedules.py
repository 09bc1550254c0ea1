"""Learning rates over time."""

import itertools
import math

import pytest

from headwise.config import ModelConfig, TrainConfig
from headwise.errors import ConfigError
from headwise.train.step.schedules import SCHEDULES, learning_rate, warmup_stable_decay


def rates(**train: object) -> list[float]:
    config = TrainConfig(**train)  # type: ignore[arg-type]
    return [learning_rate(step, config, ModelConfig()) for step in range(1, config.steps + 1)]


@pytest.mark.parametrize("width", [128, 512, 1024])
def test_the_papers_formula(width: int) -> None:
    config, model = TrainConfig(warmup=4000, steps=100_000), ModelConfig(width=width)
    for step in (1, 2, 100, 3999, 4000, 4001, 12_345, 100_000):
        expected = width**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(step, config, model) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rises_in_a_straight_line_to_the_peak_and_never_above_it(schedule: str) -> None:
    found = rates(schedule=schedule, learning_rate=0.5, warmup=40, steps=400)
    assert found[:40] == pytest.approx([0.5 * step / 40 for step in range(1, 41)])
    assert max(found) == pytest.approx(0.5)
    assert found.index(max(found)) == 39
    assert min(found) >= 0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_has_no_jumps_and_never_rises_again(schedule: str) -> None:
    found = rates(schedule=schedule, learning_rate=1.0, warmup=50, steps=500)
    assert all(abs(after - before) <= 1 / 50 + 1e-9 for before, after in itertools.pairwise(found))
    assert all(after <= before for before, after in itertools.pairwise(found[49:]))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("warmup", [1, 7, 20, 50])
@pytest.mark.parametrize("decay", [0.0, 0.2, 1.0])
def test_gives_a_rate_whatever_the_settings(schedule: str, warmup: int, decay: float) -> None:
    """A warm-up as long as the run or longer, no decay, nothing but decay."""
    found = rates(schedule=schedule, learning_rate=1.0, warmup=warmup, steps=20, decay=decay)
    assert all(0 <= rate <= 1 for rate in found)
    assert found[0] > 0


def test_inverse_square_root_does_not_know_how_long_the_run_is() -> None:
    assert rates(warmup=10, steps=100) == rates(warmup=10, steps=1000)[:100]


def test_cosine_ends_at_0_and_is_half_way_down_in_the_middle() -> None:
    found = rates(schedule="cosine", learning_rate=1.0, warmup=10, steps=110)
    assert found[-1] == pytest.approx(0, abs=1e-12)
    assert found[59] == pytest.approx(0.5)
    assert found[34] == pytest.approx(0.5 * (1 + math.cos(math.pi / 4)))


def test_warmup_stable_decay_is_level_and_falls_in_its_last_share() -> None:
    found = rates(schedule="warmup_stable_decay", learning_rate=1.0, warmup=10, steps=100, decay=0.2)
    assert found[9:81] == [1.0] * 72
    assert found[80:] == pytest.approx([1 - number / 20 for number in range(20)])
    assert warmup_stable_decay(101, 10, 100, 0.2) == 0


def test_warmup_is_the_papers_or_a_tenth_of_a_shorter_run() -> None:
    for steps, warmup in ((100_000, 4000), (40_000, 4000), (10_000, 1000), (50, 5), (3, 1)):
        chosen = TrainConfig(steps=steps, learning_rate=1.0)
        told = TrainConfig(steps=steps, learning_rate=1.0, warmup=warmup)
        for step in {1, 2, warmup, warmup + 1, steps}:
            assert learning_rate(step, chosen, ModelConfig()) == learning_rate(step, told, ModelConfig())


def test_the_peak_of_a_recipe_beats_the_papers() -> None:
    assert max(rates(learning_rate=0.125, warmup=5, steps=20)) == 0.125


def test_an_unknown_schedule_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"train\.schedule 'cosin'.*inverse_sqrt, cosine, warmup_stable_decay"):
        rates(schedule="cosin")
