"""The training loop, from top to bottom. It knows no model and no task: an objective gives the loss of a batch."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.data.batch.prefetch import StalledError, prefetch
from headwise.data.batch.stream import Position
from headwise.errors import CheckpointError, TrainingError
from headwise.files.atomic import write_when_there_is_room
from headwise.files.tables import NewerFormatError
from headwise.interrupt import StopRequest
from headwise.train.checkpoint.checkpoint import (
    Background,
    Progress,
    check_checkpoint,
    checkpoints,
    remove_old,
    restore_checkpoint,
    save_checkpoint,
    set_aside,
    step_folder,
)
from headwise.train.checkpoint.sharded_state import gather_into, is_spread
from headwise.train.processes.group import ALONE, FollowedError, Group, lines, passes, seed_apart, share
from headwise.train.step.averages import MovingAverage, swapped
from headwise.train.step.backward import Plain, Recorded, can_be_recorded, compile_layers
from headwise.train.step.loss import TokenLoss
from headwise.train.step.memory import surviving
from headwise.train.step.optimiser import make_optimiser
from headwise.train.step.schedules import learning_rate


class Batch(Protocol):
    """What the loop asks of a batch, whatever is in it."""

    @property
    def count(self) -> int:
        """What the sums of its loss are divided by: tokens to predict, or examples."""

    def to(self, device: torch.device) -> Self: ...


class Stream(Protocol):
    """Endless batches in an order that a seed determines and a position resumes."""

    def batches(self, position: Position | None = None) -> Iterator[tuple[Any, Position]]:
        """Each batch from `position` on, with the position after it."""

    def lines(self, batch: Any) -> list[str]:
        """Where the rows of a batch come from, for messages."""

    # A stream whose batches all have the same few shapes may say so, `uniform = True`: see train/step/backward.py.


Objective = Callable[[nn.Module, Any], TokenLoss]
"""The loss of a batch, as sums."""
Validate = Callable[[nn.Module], dict[str, float]]
"""Metrics of the model as it stands, `loss` among them: it is better the lower, all others the higher."""

LOOK_EVERY = 16
"""Steps on a GPU between two looks at its results: each look waits until it has done all it was given."""


class Reporter(Protocol):
    """Where a run tells what happens."""

    def started(self, step: int, tokens: int) -> None: ...
    def stepped(self, step: int, nll: float) -> None: ...
    def trained(self, record: dict[str, float]) -> None: ...
    def validated(self, record: dict[str, float], best: bool, seconds: float = 0.0) -> None: ...
    def note(self, text: str) -> None: ...


def fit(
    model: nn.Module,
    objective: Objective,
    stream: Stream,
    recipe: Recipe,
    run: Path,
    *,
    validate: Validate | None,
    reporter: Reporter,
    stop: StopRequest,
    autocast: torch.dtype | None = None,
    group: Group = ALONE,
) -> Progress:
    """Train `model` for `recipe.train.steps` steps, or until it stops getting better (None: it is not asked).

    Goes on from the newest checkpoint in `run`, exactly. Returns where it ended; `stop` ends it early, with
    everything saved. All processes of a `group` call it, with the same arguments, and end at the same step.
    """
    config = recipe.train
    device = next(model.parameters()).device
    own_passes = passes(stream, config.accumulate, group)
    learner, backward = model, Plain(model, objective, autocast)
    if group.joined:
        from headwise.train.processes.wrap import Together, sharded_copy  # the engine for many processes

        seed_apart(torch.get_rng_state(), group)
        sharded = config.parallel == "shard"
        if sharded:
            learner = sharded_copy(model, group)
        backward = Together(learner, objective, autocast, group, passes=own_passes, sharded=sharded)
        if config.accumulate % group.size:
            reporter.note(
                f"train.accumulate = {config.accumulate} is not a multiple of {group.size} processes: batches are cut "
                "into parts, of which a GPU may have too little to do"
            )
    elif device.type == "cuda" and getattr(stream, "uniform", False) and can_be_recorded(model):
        backward = Recorded(model, objective, autocast)
    if config.compile:
        compile_layers(learner)
    backward = surviving(backward, stream.lines, reporter.note, together=group.joined)
    optimiser = make_optimiser(learner, recipe)
    average = MovingAverage(learner, config.ema) if config.ema else None
    progress = resume(run, learner, optimiser, average, reporter, group)
    progress = dataclasses.replace(progress, finished=out_of_patience(progress, recipe))
    if progress.step >= config.steps:
        reporter.note(f"{progress.step:,} steps are done already: raise train.steps to train on")
    batches = prefetch(share(stream, progress.position, config.accumulate, group), stop=lambda: bool(stop))
    keep = max(config.keep, config.average)
    look_every = LOOK_EVERY if device.type == "cuda" else 1
    # A GPU would wait seconds for a checkpoint of a few hundred megabytes. On a CPU the cores are those that train.
    background = Background() if device.type == "cuda" and not group.joined else None

    def regular(step: int) -> bool:
        return step % config.checkpoint_every == 0 or step % config.validate_every == 0 or step == config.steps

    def save(progress: Progress) -> None:
        def patiently(write: Callable[[], None]) -> None:
            write_when_there_is_room(write, reporter.note, lambda: bool(stop))

        save_checkpoint(
            run, progress, learner, optimiser, average, keep, regular,
            group=group, patiently=patiently, background=background,
        )  # fmt: skip

    if progress.step:  # a run that was killed after it saved did not come to this
        group.first_alone(lambda: remove_old(run, progress, keep, regular))
    clock = time.perf_counter() - progress.seconds
    last_save = saved = progress.step
    unseen: list[Step] = []
    learner.train()

    with contextlib.closing(batches), contextlib.closing(background) if background else contextlib.nullcontext():
        while progress.step < config.steps and not progress.finished:
            step = progress.step + 1
            error: Exception | None = None
            micro_batches: list[Any] = []
            try:
                micro_batches, position = take(batches, own_passes)
            except Exception as caught:  # of the data: what was done with those before it is whole
                error = caught
            count, failed = group.total(sum(batch.count for batch in micro_batches), int(error is not None))
            if failed:
                if unseen:
                    progress = seen(progress, unseen, stream, reporter, config.max_nonfinite, saved, group)
                if progress.step > last_save:
                    save(progress)
                if group.any(isinstance(error, StalledError) and bool(stop)):
                    reporter.note(f"{error or 'a batch of another process has not come'}: stopped without it")
                    break
                reporter.note(f"the batch of step {step:,} could not be made; step {progress.step:,} is saved")
                raise error or FollowedError("another process could not make its batch")

            parts = [backward(batch.to(device), count) for batch in micro_batches]
            norm = clip_gradients(learner, config.clip)
            loss, nll = group.sum(torch.stack([torch.stack(each).sum() for each in zip(*parts, strict=True)]))

            rate = learning_rate(step, config, recipe.model)
            for weights in optimiser.param_groups:
                weights["lr"] = rate * weights["scale"]
            finite = torch.isfinite(loss + norm)
            update(optimiser, finite)
            backward.forget(optimiser)
            if average is not None:
                average.update(learner, step, finite)
            unseen.append(Step(step, micro_batches, count, torch.stack([loss, nll, norm])))
            progress = dataclasses.replace(progress, step=step, position=position)

            logging = step % config.log_every == 0 or step == config.steps
            validating = validate is not None and (step % config.validate_every == 0 or step == config.steps)
            stopping = group.any(bool(stop))  # asked once: what comes after this is the affair of the next step
            saving = step % config.checkpoint_every == 0 or step == config.steps or stopping
            if len(unseen) >= look_every or logging or validating or saving:
                progress = seen(progress, unseen, stream, reporter, config.max_nonfinite, saved, group)
                progress = dataclasses.replace(progress, seconds=time.perf_counter() - clock)
                unseen.clear()
            if logging:
                progress = log(progress, rate, norm.item(), reporter)
            if validate is not None and validating:
                begun = time.perf_counter()
                figures = metrics_of(model, learner, average, validate, group)
                progress, better = validated(progress, figures, recipe, reporter, time.perf_counter() - begun)
                saving = saving or better or progress.finished
            if saving:
                save(progress)
                last_save = step
                saved = saved if progress.nonfinite_row else step
            if stopping:
                break
    if learner is not model and group.first:
        model.to(device)
    return progress


@dataclass(frozen=True)
class Step:
    """A step whose figures may still be on their way from the device."""

    number: int
    batches: list[Any]
    count: int
    figures: Tensor
    """Loss and negative log-likelihood as sums, and the norm of the gradient."""


def update(optimiser: torch.optim.Optimizer, finite: Tensor) -> None:
    """A step of the optimiser - unless the gradient is not `finite`, which would destroy the weights.

    The question is left to the device: a fused optimiser does nothing where it is told of an infinity, as it is
    when gradients are scaled for float16.
    """
    optimiser.found_inf = (~finite).float()  # type: ignore[attr-defined]
    optimiser.step()


def seen(
    progress: Progress,
    steps: list[Step],
    stream: Stream,
    reporter: Reporter,
    max_nonfinite: int,
    saved: int,
    group: Group = ALONE,
) -> Progress:
    """Count the steps, once their figures are here, and tell of those that were thrown away; too many end the run."""
    table: list[list[float]] = torch.stack([step.figures for step in steps]).tolist()
    for step, (loss, nll, norm) in zip(steps, table, strict=True):
        if math.isfinite(loss) and math.isfinite(norm):
            progress = dataclasses.replace(
                progress,
                tokens=progress.tokens + step.count,
                nonfinite_row=0,
                interval_loss=progress.interval_loss + loss,
                interval_nll=progress.interval_nll + nll,
                interval_tokens=progress.interval_tokens + step.count,
            )
        else:
            progress = dataclasses.replace(
                progress, nonfinite=progress.nonfinite + 1, nonfinite_row=progress.nonfinite_row + 1
            )
            where = ", ".join(lines(stream, step.batches, group))
            reporter.note(f"step {step.number}: loss {loss} and gradient norm {norm}: skipped. Its lines: {where}")
        reporter.stepped(step.number, nll / step.count)
        if progress.nonfinite_row >= max_nonfinite:
            raise TrainingError(
                f"{progress.nonfinite_row} steps in a row had a non-finite loss or gradient; the last good "
                f"checkpoint is of step {saved}. Lower train.learning_rate or lengthen train.warmup; to go on from "
                "an earlier step, remove the folders of the later ones in checkpoints/"
            )
    return progress


def resume(
    run: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: MovingAverage | None,
    reporter: Reporter,
    group: Group = ALONE,
) -> Progress:
    """The newest checkpoint that is whole, put in place; a fresh start if there is none.

    All processes read for themselves; what one of them cannot read none of them takes.
    """
    damaged: list[Path] = []
    for path in reversed(group.from_first(lambda: checkpoints(run))):
        problem: CheckpointError | None = None
        try:
            progress = restore_checkpoint(path, model, optimiser, average, group)
        except NewerFormatError:
            raise
        except CheckpointError as error:
            problem = error
        if group.any(problem is not None):
            reporter.note(f"{problem or path}; trying the checkpoint before it")
            damaged.append(path)
            continue
        group.first_alone(lambda: put_aside(damaged))
        if progress.best_step and progress.best_step != progress.step:
            best = step_folder(run, progress.best_step)
            lost = group.from_first(lambda best=best: unreadable(best))  # type: ignore[misc]
            if lost:
                reporter.note(f"{lost}; the best of the run so far is lost: it is chosen anew from here on")
                progress = dataclasses.replace(progress, best_step=0, best_metric=None, stale=0)
        reporter.note(f"going on from step {progress.step:,}")
        reporter.started(progress.step, progress.tokens)
        return progress
    if damaged:
        raise CheckpointError(f"{run}: none of its checkpoints can be read; move the folder away to start anew")
    reporter.started(0, 0)
    return Progress()


def put_aside(damaged: list[Path]) -> None:
    for path in damaged:
        with contextlib.suppress(OSError):
            set_aside(path)


def unreadable(path: Path) -> str:
    """Why a checkpoint cannot be read; empty: it can."""
    try:
        check_checkpoint(path)
    except CheckpointError as error:
        return str(error)
    return ""


def take(batches: Iterator[tuple[Any, Position]], count: int) -> tuple[list[Any], Position]:
    """The batches of one step, and the place in the data after them."""
    taken = [next(batches) for _ in range(count)]
    return [batch for batch, _ in taken], taken[-1][1]


def clip_gradients(model: nn.Module, limit: float) -> Tensor:
    """Scale the whole gradient down to the norm `limit` (0: leave it); returns the norm it had."""
    norm: Any = nn.utils.clip_grad_norm_(model.parameters(), limit or math.inf)
    whole: Tensor = norm.full_tensor() if is_spread(norm) else norm
    return whole


def log(progress: Progress, rate: float, norm: float, reporter: Reporter) -> Progress:
    """Report the mean loss since the last report."""
    tokens = progress.interval_tokens or math.nan  # nan: every step since then was thrown away
    reporter.trained(
        {
            "step": progress.step,
            "epoch": progress.position.epoch,
            "loss": progress.interval_loss / tokens,
            "nll": progress.interval_nll / tokens,
            "learning_rate": rate,
            "gradient_norm": norm,
            "tokens": progress.tokens,
            "seconds": progress.seconds,
        }
    )
    return dataclasses.replace(progress, interval_loss=0.0, interval_nll=0.0, interval_tokens=0)


def metrics_of(
    model: nn.Module, learner: nn.Module, average: MovingAverage | None, validate: Validate, group: Group
) -> dict[str, float]:
    """Validate, in the first process, for which the others wait. `learner` is the model, or has it in parts."""
    averaged = average.weights if average else None
    device = next(learner.parameters()).device
    if learner is not model:
        gather_into(model, averaged or dict(learner.named_parameters()), device, group.first)
        averaged = None

    def measure() -> dict[str, float]:
        model.eval()
        with swapped(model, averaged), torch.no_grad():
            metrics = validate(model)
        model.train()
        if learner is not model:
            model.to("cpu")
        return metrics

    return group.from_first(measure)


def validated(
    progress: Progress, metrics: dict[str, float], recipe: Recipe, reporter: Reporter, seconds: float
) -> tuple[Progress, bool]:
    """Note whether it is the best so far, and whether patience has run out."""
    config = recipe.train
    metric = metrics[config.select_by]
    best = progress.best_metric
    better = best is None or math.isnan(best) or (metric < best if config.select_by == "loss" else metric > best)
    if better:
        progress = dataclasses.replace(progress, best_step=progress.step, best_metric=metric, stale=0)
    else:
        progress = dataclasses.replace(progress, stale=progress.stale + 1)
    reporter.validated({"step": progress.step, **metrics}, better, seconds)
    if out_of_patience(progress, recipe):
        reporter.note(f"no better {config.select_by} in {progress.stale} validations: training ends here")
        progress = dataclasses.replace(progress, finished=True)
    return progress, better


def out_of_patience(progress: Progress, recipe: Recipe) -> bool:
    return 0 < recipe.train.patience <= progress.stale
