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
from headwise.data.batches import Position
from headwise.data.prefetch import prefetch
from headwise.errors import CheckpointError, TrainingError
from headwise.storage import NewerFormatError
from headwise.train.averages import MovingAverage, swapped
from headwise.train.backward import Plain, Recorded, can_be_recorded, compile_layers
from headwise.train.checkpoint import Progress, checkpoints, restore_checkpoint, save_checkpoint, set_aside, step_folder
from headwise.train.interrupt import StopRequest
from headwise.train.loss import TokenLoss
from headwise.train.optimiser import make_optimiser
from headwise.train.schedules import learning_rate


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

    # A stream whose batches all have the same few shapes may say so, `uniform = True`: see train/backward.py.


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
    def validated(self, record: dict[str, float], best: bool) -> None: ...
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
) -> Progress:
    """Train `model` for `recipe.train.steps` steps, or until it stops getting better (None: it is not asked).

    Goes on from the newest checkpoint in `run`, exactly. Returns where it ended; `stop` ends it early, with
    everything saved.
    """
    config = recipe.train
    device = next(model.parameters()).device
    optimiser = make_optimiser(model, recipe)
    average = MovingAverage(model, config.ema) if config.ema else None
    progress = resume(run, model, optimiser, average, reporter)
    progress = dataclasses.replace(progress, finished=out_of_patience(progress, recipe))
    if progress.step >= config.steps:
        reporter.note(f"{progress.step:,} steps are done already: raise train.steps to train on")
    batches = prefetch(stream.batches(progress.position))
    keep = max(config.keep, config.average)
    look_every = LOOK_EVERY if device.type == "cuda" else 1

    if config.compile:
        compile_layers(model)
    recorded = device.type == "cuda" and getattr(stream, "uniform", False) and can_be_recorded(model)
    backward = (Recorded if recorded else Plain)(model, objective, autocast)

    def regular(step: int) -> bool:
        return step % config.checkpoint_every == 0 or step % config.validate_every == 0 or step == config.steps

    clock = time.perf_counter() - progress.seconds
    saved = progress.step
    unseen: list[Step] = []
    model.train()

    with contextlib.closing(batches):
        while progress.step < config.steps and not progress.finished:
            step = progress.step + 1
            micro_batches, position = take(batches, config.accumulate)
            count = sum(batch.count for batch in micro_batches)

            parts = [backward(batch.to(device), count) for batch in micro_batches]
            norm = clip_gradients(model, config.clip)
            loss, nll = (torch.stack(each).sum() for each in zip(*parts, strict=True))

            rate = learning_rate(step, config, recipe.model)
            for group in optimiser.param_groups:
                group["lr"] = rate * group["scale"]
            finite = torch.isfinite(loss + norm)
            update(optimiser, finite)
            backward.forget(optimiser)
            if average is not None:
                average.update(model, step, finite)
            unseen.append(Step(step, micro_batches, count, torch.stack([loss, nll, norm])))
            progress = dataclasses.replace(progress, step=step, position=position)

            logging = step % config.log_every == 0 or step == config.steps
            validating = validate is not None and (step % config.validate_every == 0 or step == config.steps)
            stopping = bool(stop)  # asked once: what comes after this is the affair of the next step
            saving = step % config.checkpoint_every == 0 or step == config.steps or stopping
            if len(unseen) >= look_every or logging or validating or saving:
                progress = seen(progress, unseen, stream, reporter, config.max_nonfinite, saved)
                progress = dataclasses.replace(progress, seconds=time.perf_counter() - clock)
                unseen.clear()
            if logging:
                progress = log(progress, rate, norm.item(), reporter)
            if validate is not None and validating:
                progress, better = validated(progress, model, average, recipe, validate, reporter)
                saving = saving or better or progress.finished
            if saving:
                save_checkpoint(run, progress, model, optimiser, average, keep, regular)
                saved = step
            if stopping:
                break
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
    progress: Progress, steps: list[Step], stream: Stream, reporter: Reporter, max_nonfinite: int, saved: int
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
            lines = ", ".join(line for batch in step.batches for line in stream.lines(batch)[:10])
            reporter.note(f"step {step.number}: loss {loss} and gradient norm {norm}: skipped. Its lines: {lines}")
        reporter.stepped(step.number, nll / step.count)
        if progress.nonfinite_row >= max_nonfinite:
            raise TrainingError(
                f"{progress.nonfinite_row} steps in a row had a non-finite loss or gradient; the last good "
                f"checkpoint is of step {saved}. Lower train.learning_rate or lengthen train.warmup"
            )
    return progress


def resume(
    run: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: MovingAverage | None,
    reporter: Reporter,
) -> Progress:
    """The newest checkpoint that is whole, put in place; a fresh start if there is none."""
    damaged: list[Path] = []
    for path in reversed(checkpoints(run)):
        try:
            progress = restore_checkpoint(path, model, optimiser, average)
        except NewerFormatError:
            raise
        except CheckpointError as error:
            reporter.note(f"{error}; trying the checkpoint before it")
            damaged.append(path)
            continue
        for unreadable in damaged:
            with contextlib.suppress(OSError):
                set_aside(unreadable)
        if progress.best_step and not step_folder(run, progress.best_step).is_dir():  # lost with a damaged one
            progress = dataclasses.replace(progress, best_step=0, best_metric=None, stale=0)
        reporter.note(f"going on from step {progress.step:,}")
        reporter.started(progress.step, progress.tokens)
        return progress
    if damaged:
        raise CheckpointError(f"{run}: none of its checkpoints can be read; move the folder away to start anew")
    reporter.started(0, 0)
    return Progress()


def take(batches: Iterator[tuple[Any, Position]], count: int) -> tuple[list[Any], Position]:
    """The batches of one step, and the place in the data after them."""
    taken = [next(batches) for _ in range(count)]
    return [batch for batch, _ in taken], taken[-1][1]


def clip_gradients(model: nn.Module, limit: float) -> Tensor:
    """Scale the whole gradient down to the norm `limit` (0: leave it); returns the norm it had."""
    return nn.utils.clip_grad_norm_(model.parameters(), limit or math.inf)


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


def validated(
    progress: Progress,
    model: nn.Module,
    average: MovingAverage | None,
    recipe: Recipe,
    validate: Validate,
    reporter: Reporter,
) -> tuple[Progress, bool]:
    """Validate, note whether it is the best so far, and whether patience has run out."""
    config = recipe.train
    model.eval()
    with swapped(model, average.weights if average else None), torch.no_grad():
        metrics = validate(model)
    model.train()
    metric = metrics[config.select_by]
    best = progress.best_metric
    better = best is None or math.isnan(best) or (metric < best if config.select_by == "loss" else metric > best)
    if better:
        progress = dataclasses.replace(progress, best_step=progress.step, best_metric=metric, stale=0)
    else:
        progress = dataclasses.replace(progress, stale=progress.stale + 1)
    reporter.validated({"step": progress.step, **metrics}, better)
    if out_of_patience(progress, recipe):
        reporter.note(f"no better {config.select_by} in {progress.stale} validations: training ends here")
        progress = dataclasses.replace(progress, finished=True)
    return progress, better


def out_of_patience(progress: Progress, recipe: Recipe) -> bool:
    return 0 < recipe.train.patience <= progress.stale
