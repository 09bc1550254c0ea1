"""The training loop, from top to bottom. It is independent of model and task: an objective computes the loss."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from headwise.config import Recipe, TrainConfig
from headwise.data.batch.prefetch import StalledError, prefetch
from headwise.data.batch.stream import Batch, Position, Stream
from headwise.errors import HeadwiseError, TrainingError
from headwise.interrupt import StopRequest
from headwise.train.checkpoint.run_checkpoints import RunCheckpoints
from headwise.train.checkpoint.run_state import RunState
from headwise.train.estimate import announce
from headwise.train.processes.batch_share import Dummy, lines, share
from headwise.train.processes.group import ALONE, FollowedError, ProcessGroup
from headwise.train.step.blend import Blend
from headwise.train.step.learner import Learner, Objective, Validate, set_up
from headwise.train.step.loss import summed
from headwise.train.step.optimiser import clip_gradients, set_learning_rate, update
from headwise.train.step.schedules import learning_rate

LOOK_EVERY = 16
"""Steps between two reads of the losses on a GPU: each read waits until all kernels launched so far are done."""


class Reporter(Protocol):
    """Where a run reports what happens."""

    def started(self, step: int, tokens: int) -> None: ...
    def stepped(self, step: int, nll: float) -> None: ...
    def trained(self, record: dict[str, float]) -> None: ...
    def validated(self, record: dict[str, float], best: bool, seconds: float = 0.0) -> None: ...
    def note(self, text: str) -> None: ...


def fit(
    model: nn.Module,
    objective: Objective,
    stream: Stream[Any],
    recipe: Recipe,
    run: Path,
    *,
    validate: Validate | None,
    reporter: Reporter,
    stop: StopRequest,
    autocast: torch.dtype | None = None,
    group: ProcessGroup = ALONE,
    blend: Blend | None = None,
) -> RunState:
    """Train `model` for `recipe.train.steps` steps, or until validation stops improving.

    It continues exactly from the newest checkpoint in `run`. `stop` ends it early, with everything saved. All processes
    of a `group` call it with the same arguments, and end at the same step. `blend` is what validation measures.
    """
    config = recipe.train
    learner = set_up(model, objective, stream, recipe, reporter.note, autocast, group, blend)
    checkpoints = RunCheckpoints(run, learner, config, reporter.note, stop)
    state = begin(checkpoints, config, reporter)
    announce(learner, stream, recipe, state, validate, reporter)
    figures = Figures(learner, stream, config, reporter, checkpoints, state)
    batches = prefetch(share(stream, state.position, config.accumulate, group), stop=stop.__bool__)
    learner.model.train()

    with contextlib.closing(batches), contextlib.closing(checkpoints):
        while state.step < config.steps and not state.finished:
            step, better = state.step + 1, False
            try:
                micro_batches, count, position = take(batches, learner.passes, group)
            except NoBatchError as error:
                state = figures.read(state)
                end_without_batch(error, state, checkpoints, reporter, stop, group)
                break

            rate = learning_rate(step, config, recipe.model)
            set_learning_rate(learner.optimiser, rate)
            losses = [learner.forward_backward(batch.to(learner.device), count) for batch in micro_batches]
            norm = clip_gradients(learner.model, config.clip)
            loss, nll = group.sum(summed(losses))
            finite = torch.isfinite(loss + norm)
            update(learner.optimiser, finite)
            learner.after_update(step, finite)

            state = dataclasses.replace(state, step=step, position=position)
            figures.add(Step(step, micro_batches, count, torch.stack([loss, nll, norm])))
            stopping = group.any(bool(stop))  # read once: a later request concerns the next step
            due = Due.after(step, config, stopping)
            if figures.are_many or due.any:
                state = figures.read(state)
            if due.log:
                state = log(state, rate, norm.item(), reporter)
            if due.validation and validate is not None:
                state, better = validated(state, learner, validate, config, reporter)
            if due.checkpoint or better or state.finished:
                checkpoints.save(state)
            if stopping:
                break
    learner.close()
    return state


def begin(checkpoints: RunCheckpoints, config: TrainConfig, reporter: Reporter) -> RunState:
    """Restore the state that the run continues from, and report it."""
    state = checkpoints.resume()
    if state.step:
        reporter.note(f"continuing from step {state.step:,}")
    reporter.started(state.step, state.tokens)
    if state.step >= config.steps:
        reporter.note(f"{state.step:,} steps have been taken already: raise train.steps to train longer")
    return dataclasses.replace(state, finished=out_of_patience(state, config))


@dataclass(frozen=True)
class Due:
    """The actions that follow a step."""

    log: bool
    validation: bool
    checkpoint: bool

    @classmethod
    def after(cls, step: int, config: TrainConfig, stopping: bool) -> "Due":
        """After the last step, everything."""
        last = step == config.steps
        return cls(
            last or step % config.log_every == 0,
            last or step % config.validate_every == 0,
            last or step % config.checkpoint_every == 0 or stopping,
        )

    @property
    def any(self) -> bool:
        return self.log or self.validation or self.checkpoint


# --- the batches of a step -------------------------------------------------------------------------------------------


class NoBatchError(HeadwiseError):
    """The batches of a step could not be made, in this process (then the error has a cause) or in another."""


def take(
    batches: Iterator[tuple[Batch | Dummy, Position]], passes: int, group: ProcessGroup
) -> tuple[list[Batch | Dummy], int, Position]:
    """The batches of one step that this process computes, their count in all processes, and the position after them.

    If one process cannot make its batches, all raise a `NoBatchError`.
    """
    taken: list[tuple[Batch | Dummy, Position]] = []
    error: Exception | None = None
    try:
        taken = [next(batches) for _ in range(passes)]
    except Exception as caught:  # an error of the data: the steps before it are whole
        error = caught
    count, failed = group.total(sum(batch.count for batch, _ in taken), int(error is not None))
    if failed:
        raise NoBatchError("a batch could not be made") from error
    return [batch for batch, _ in taken], count, taken[-1][1]


def end_without_batch(
    error: NoBatchError,
    state: RunState,
    checkpoints: RunCheckpoints,
    reporter: Reporter,
    stop: StopRequest,
    group: ProcessGroup,
) -> None:
    """Save the steps that were taken, and raise the error of the data, unless the run has been asked to stop."""
    cause = error.__cause__
    if state.step > checkpoints.last:
        checkpoints.save(state)
    if group.any(isinstance(cause, StalledError) and bool(stop)):
        reporter.note(f"{cause or 'a batch of another process has not come'}: stopped without it")
        return
    reporter.note(f"the batch of step {state.step + 1:,} could not be made; step {state.step:,} is saved")
    raise cause or FollowedError("another process could not make its batch")


# --- the figures of a step -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A step whose figures may still be on the device."""

    number: int
    batches: list[Batch | Dummy]
    count: int
    figures: Tensor
    """Loss and negative log-likelihood as sums, and the norm of the gradient."""


class Figures:
    """The losses and gradient norms of steps, left on the device until they are needed: reading them waits for it."""

    def __init__(
        self,
        learner: Learner,
        stream: Stream[Any],
        config: TrainConfig,
        reporter: Reporter,
        checkpoints: RunCheckpoints,
        state: RunState,
    ) -> None:
        self._group = learner.group
        self._stream = stream
        self._max_nonfinite = config.max_nonfinite
        self._reporter = reporter
        self._checkpoints = checkpoints
        self._unread: list[Step] = []
        self._most = LOOK_EVERY if learner.device.type == "cuda" else 1
        self._clock = time.perf_counter() - state.seconds

    @property
    def are_many(self) -> bool:
        """Whether enough steps are unread to read them now."""
        return len(self._unread) >= self._most

    def add(self, step: Step) -> None:
        self._unread.append(step)

    def read(self, state: RunState) -> RunState:
        """Read the figures and count their steps; report skipped steps, too many of which end the run."""
        if self._unread:
            table: list[list[float]] = torch.stack([step.figures for step in self._unread]).tolist()
            for step, (loss, nll, norm) in zip(self._unread, table, strict=True):
                state = self._counted(state, step, loss, nll, norm)
            self._unread.clear()
        return dataclasses.replace(state, seconds=time.perf_counter() - self._clock)

    def _counted(self, state: RunState, step: Step, loss: float, nll: float, norm: float) -> RunState:
        if math.isfinite(loss) and math.isfinite(norm):
            state = dataclasses.replace(
                state,
                tokens=state.tokens + step.count,
                nonfinite_row=0,
                interval_loss=state.interval_loss + loss,
                interval_nll=state.interval_nll + nll,
                interval_tokens=state.interval_tokens + step.count,
            )
        else:
            state = dataclasses.replace(state, nonfinite=state.nonfinite + 1, nonfinite_row=state.nonfinite_row + 1)
            where = ", ".join(lines(self._stream, step.batches, self._group))
            self._reporter.note(
                f"step {step.number}: loss {loss} and gradient norm {norm}: skipped. Its lines: {where}"
            )
        self._reporter.stepped(step.number, nll / step.count)
        if state.nonfinite_row >= self._max_nonfinite:
            raise TrainingError(
                f"{state.nonfinite_row} steps in a row had a non-finite loss or gradient; the last good checkpoint is "
                f"of step {self._checkpoints.last_good}. Lower train.learning_rate or lengthen train.warmup; to "
                "continue from an earlier step, remove the folders of the later ones in checkpoints/"
            )
        return state


def log(state: RunState, rate: float, norm: float, reporter: Reporter) -> RunState:
    """Report the mean loss since the last report."""
    tokens = state.interval_tokens or math.nan  # NaN: every step since then was skipped
    reporter.trained(
        {
            "step": state.step,
            "epoch": state.position.epoch,
            "loss": state.interval_loss / tokens,
            "nll": state.interval_nll / tokens,
            "learning_rate": rate,
            "gradient_norm": norm,
            "tokens": state.tokens,
            "seconds": state.seconds,
        }
    )
    return dataclasses.replace(state, interval_loss=0.0, interval_nll=0.0, interval_tokens=0)


# --- validation ------------------------------------------------------------------------------------------------------


def validated(
    state: RunState, learner: Learner, validate: Validate, config: TrainConfig, reporter: Reporter
) -> tuple[RunState, bool]:
    """Validate, and record whether this is the best so far and whether patience has run out."""
    begun = time.perf_counter()
    metrics = learner.metrics(validate)
    seconds = time.perf_counter() - begun
    metric, best = metrics[config.select_by], state.best_metric
    better = best is None or math.isnan(best) or (metric < best if config.select_by == "loss" else metric > best)
    if better:
        state = dataclasses.replace(state, best_step=state.step, best_metric=metric, stale=0)
    else:
        state = dataclasses.replace(state, stale=state.stale + 1)
    reporter.validated({"step": state.step, **metrics}, better, seconds)
    if out_of_patience(state, config):
        reporter.note(f"{config.select_by} has not improved in {state.stale} validations: training ends here")
        state = dataclasses.replace(state, finished=True)
    return state, better


def out_of_patience(state: RunState, config: TrainConfig) -> bool:
    return 0 < config.patience <= state.stale
