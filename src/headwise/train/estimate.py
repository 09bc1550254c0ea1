"""The time that a run will take, estimated before its first step from the time of a few steps that change nothing."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Protocol

import torch

from headwise.config import Recipe, TrainConfig
from headwise.data.batch.stream import Stream
from headwise.train.checkpoint.run_state import RunState
from headwise.train.processes.batch_share import share
from headwise.train.processes.random_state import random_state
from headwise.train.step.learner import Learner, Validate
from headwise.train.step.optimiser import clip_gradients

WARM_UP = 1
"""Steps that are not timed: in the first one memory is allocated, and kernels are chosen or compiled."""
TIMED = 4
"""Most steps that are timed."""
LIMIT = 5.0
"""Seconds after which no further step is timed."""
PRICE = 20
"""The estimate costs at most one in this many steps: a run that is too short for that has none."""
UPDATES = 3
"""Times that clipping the gradient takes, as an estimate of an update with it: both read and write all weights."""
TESTS = 3
"""Validations that the test after training is as long as: it has a beam."""


class Notes(Protocol):
    """The part of a reporter that an announcement needs."""

    def validated(self, record: dict[str, float], best: bool, seconds: float = 0.0) -> None: ...
    def note(self, text: str) -> None: ...


def announce(
    learner: Learner,
    stream: Stream[Any],
    recipe: Recipe,
    state: RunState,
    validate: Validate | None,
    reporter: Notes,
) -> None:
    """Report how good a translator is before it is trained further, and how long the run will take."""
    validation = None
    if recipe.init and recipe.task == "translation" and validate is not None and not state.step:
        begun = time.perf_counter()
        metrics = learner.metrics(validate)
        validation = time.perf_counter() - begun
        reporter.validated({"step": 0, **metrics}, False, validation)
    left = 0 if state.finished else recipe.train.steps - state.step
    most = left // PRICE - WARM_UP
    if most > 0:
        step = seconds_per_step(learner, stream, recipe.train, state, min(most, TIMED))
        reporter.note(estimate(step, validation, state.step, recipe.train))


def estimate(step: float, validation: float | None, done: int, config: TrainConfig) -> str:
    """The estimate in words: from the seconds of a step and, if they are known, of a validation."""
    steps = config.steps - done
    validations = -(-config.steps // config.validate_every) - done // config.validate_every
    seconds = steps * step
    words = f"{steps:,} steps of {step:.2g} s"
    if validation is not None:
        seconds += (validations + TESTS) * validation
        words += f", {validations} validations"
    at_most = "at most " if config.patience else ""
    return f"this will take {at_most}about {spoken(seconds)} ({words}); Ctrl-C saves, and the same command continues"


def spoken(seconds: float) -> str:
    """A duration in the unit that fits it: 50 seconds, 14 minutes, 4.5 hours."""
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            count = seconds / size
            return f"{count:.0f} {unit}" if count >= 10 else f"{count:.1f}".removesuffix(".0") + f" {unit}"
    return f"{max(1, round(seconds))} seconds"


def seconds_per_step(
    learner: Learner, stream: Stream[Any], config: TrainConfig, state: RunState, count: int = TIMED
) -> float:
    """The mean time of at most `count` of the next steps. Weights, gradients and random numbers are as before."""
    seconds: list[float] = []
    learner.model.train()
    coming = share(stream, state.position, config.accumulate, learner.group)
    with _same_random_numbers(learner.device), contextlib.closing(coming) as batches:
        for number in range(WARM_UP + count):
            begun = time.perf_counter()
            for _ in range(learner.passes):
                batch, _ = next(batches)
                loss = learner.forward_backward(batch.to(learner.device), max(1, batch.count))
            loss.loss.item()  # waits for a GPU
            passed = time.perf_counter()
            clip_gradients(learner.model, config.clip).item()
            done = time.perf_counter()
            learner.forward_backward.clear_gradients()
            if number >= WARM_UP:
                seconds.append(passed - begun + UPDATES * (done - passed))
            if learner.group.any(sum(seconds) > LIMIT):
                break
    return sum(seconds) / len(seconds)


@contextlib.contextmanager
def _same_random_numbers(device: torch.device) -> Iterator[None]:
    """Restore the random number generators after the block."""
    before = random_state(device)
    try:
        yield
    finally:
        torch.set_rng_state(before["cpu"])
        if "cuda" in before:
            torch.cuda.set_rng_state(before["cuda"], device)
