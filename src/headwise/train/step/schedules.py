"""Learning rates over time: pure functions from a step to the share of the peak it uses."""

import math
from collections.abc import Callable

from headwise.config import ModelConfig, TrainConfig
from headwise.errors import ConfigError

Schedule = Callable[[int, int, int, float], float]
"""(step from 1, warm-up steps, all steps, share of decay) -> factor from 0 to 1."""


def inverse_sqrt(step: int, warmup: int, steps: int, decay: float) -> float:
    """The paper's: up in a straight line, then down with the root of the step."""
    return min(step / warmup, math.sqrt(warmup / step))


def cosine(step: int, warmup: int, steps: int, decay: float) -> float:
    """Up in a straight line, then down to 0 along half a cosine."""
    if step <= warmup:
        return step / warmup
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, steps - warmup))))


def warmup_stable_decay(step: int, warmup: int, steps: int, decay: float) -> float:
    """Up, level, and down to 0 in the last share `decay` of the steps: the level part can be prolonged."""
    falling = max(1, round(decay * steps))
    return max(0.0, min(step / warmup, 1.0, (steps - step + 1) / falling))


SCHEDULES: dict[str, Schedule] = {
    "inverse_sqrt": inverse_sqrt,
    "cosine": cosine,
    "warmup_stable_decay": warmup_stable_decay,
}


def learning_rate(step: int, train: TrainConfig, model: ModelConfig) -> float:
    """The rate of a step, counted from 1."""
    if train.schedule not in SCHEDULES:
        raise ConfigError(f"unknown train.schedule {train.schedule!r}; there are: {', '.join(SCHEDULES)}")
    share = SCHEDULES[train.schedule](step, warmup_steps(train), train.steps, train.decay)
    return peak(train, model) * share


def peak(train: TrainConfig, model: ModelConfig) -> float:
    """The highest rate: the paper's unless the recipe gives one."""
    return train.learning_rate or (model.width * 4000) ** -0.5


def warmup_steps(train: TrainConfig) -> int:
    """The paper's 4,000 steps, in a short run a tenth of it, unless the recipe says how many."""
    return train.warmup or max(1, min(4000, train.steps // 10))
