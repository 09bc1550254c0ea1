"""Learning-rate schedules: pure functions from a step to its share of the peak learning rate."""

import math
from collections.abc import Callable

from headwise.config import ModelConfig, TrainConfig
from headwise.errors import ConfigError

Schedule = Callable[[int, int, int, float], float]
"""(step from 1, warm-up steps, all steps, share of decay) -> share of the peak, from 0 to 1."""


def inverse_sqrt(step: int, warmup: int, steps: int, decay: float) -> float:
    """The paper's shape: linear warm-up to the peak, then decay with the inverse square root of the step.

    The peak is `train.learning_rate`, whatever the warm-up. The paper's formula couples the two: its peak is
    (width * warmup)^-0.5, which for its 4,000 steps of warm-up is the default here. For another warm-up the paper's
    peak has to be given as `train.learning_rate`.
    """
    return min(step / warmup, math.sqrt(warmup / step))


def cosine(step: int, warmup: int, steps: int, decay: float) -> float:
    """Linear warm-up, then decay to 0 along half a cosine."""
    if step <= warmup:
        return step / warmup
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, steps - warmup))))


def warmup_stable_decay(step: int, warmup: int, steps: int, decay: float) -> float:
    """Linear warm-up, a constant part, and linear decay to 0 in the last share `decay` of the steps. The constant part
    can be made longer later."""
    falling = max(1, round(decay * steps))
    return max(0.0, min(step / warmup, 1.0, (steps - step + 1) / falling))


SCHEDULES: dict[str, Schedule] = {
    "inverse_sqrt": inverse_sqrt,
    "cosine": cosine,
    "warmup_stable_decay": warmup_stable_decay,
}


def learning_rate(step: int, train: TrainConfig, model: ModelConfig) -> float:
    """The learning rate of a step; steps count from 1."""
    if train.schedule not in SCHEDULES:
        raise ConfigError(f"unknown train.schedule {train.schedule!r}; there are: {', '.join(SCHEDULES)}")
    share = SCHEDULES[train.schedule](step, warmup_steps(train), train.steps, train.decay)
    return peak(train, model) * share


def peak(train: TrainConfig, model: ModelConfig) -> float:
    """The peak learning rate: the recipe's, or else that of the paper's 4,000 steps of warm-up."""
    return train.learning_rate or (model.width * 4000) ** -0.5


def warmup_steps(train: TrainConfig) -> int:
    """Steps of warm-up: the recipe's, or else the paper's 4,000, at most a tenth of the run."""
    return train.warmup or max(1, min(4000, train.steps // 10))
