"""A whole run: recipe in, trained model out. What differs between tasks is in their jobs (see train/job.py)."""

import contextlib
import importlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from headwise.bundled.find import find_model
from headwise.config import Recipe
from headwise.devices import autocast_dtype, best_device
from headwise.errors import ConfigError, HeadwiseError
from headwise.files.atomic import write_json, write_text
from headwise.files.tables import write_table
from headwise.files.tensors import save_tensors
from headwise.interrupt import StopRequest
from headwise.models.build import build
from headwise.models.folder.config_file import INT8_VERSION, SCORES, WEIGHTS, is_int8, save_description
from headwise.models.folder.description import INT8
from headwise.models.folder.load import CARD, convert
from headwise.models.folder.run_layout import checkpoints, load_weights, step_folder, step_of
from headwise.models.folder.weights import set_weights, weights_of
from headwise.nn.lora import merge_lora
from headwise.recipe import to_tables
from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Job, JobModule, Say, Scored
from headwise.train.loop import fit
from headwise.train.processes.group import ProcessGroup, joined
from headwise.train.report.card import start_section, with_distillation
from headwise.train.report.console import RunReporter, check_tensorboard, read_log
from headwise.train.report.cost import training_cost
from headwise.train.report.curves import draw_curves
from headwise.train.run_folder import (
    COST,
    RECIPE,
    RESOLVED,
    START,
    check_same_data,
    check_same_files,
    check_same_start,
    check_same_tokenizer,
    claimed,
    remove_if_empty,
)
from headwise.train.step.averages import mean_weights
from headwise.train.step.batch_size import with_fitting_batches, with_stored_batches
from headwise.train.step.blend import Blend, blend_of
from headwise.train.step.optimiser import OPTIMISERS
from headwise.train.step.schedules import learning_rate, peak, warmup_steps
from headwise.train.step.tune import check_tuning, tune

JOBS = {
    "translation": "headwise.train.tasks.translation_task",
    "causal_lm": "headwise.train.tasks.causal_lm_task",
    "masked_lm": "headwise.train.tasks.masked_lm_task",
    "classify": "headwise.train.tasks.classify_task",
    "images": "headwise.train.tasks.image_task",
}
"""The module of each task, which is imported when it is needed."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    folder: Path
    progress: RunState
    scores: Mapping[str, Scored]
    interrupted: bool
    signal: int = 0
    """The signal that interrupted it."""
    how_to_ask: str = ""
    """The options that `headwise translate` needs for the model: ` --to de` if there are several target languages."""
    first: bool = True
    """Whether this process is the one of its group that prints; in the others, `scores` is empty."""


def train(recipe: Recipe, say: Say = print) -> Outcome:
    """Prepare the data, train, and write a model folder to `recipe.out`; an earlier run there is continued.

    Under torchrun, all processes call it with the same recipe. The first of them writes files and prints.
    """
    with joined(recipe.train.device) as (group, device):
        own_say = say if group.first else lambda text: None
        group.from_first(lambda: check(recipe))
        run = Path(recipe.out)
        recipe = group.from_first(lambda: with_stored_batches(recipe, run / RECIPE))
        new = not run.exists()
        try:
            with contextlib.ExitStack() as stack:
                group.first_alone(lambda: stack.enter_context(claimed(run, recipe, own_say)))
                group.together(lambda: check_shared(run))
                return train_in(run, recipe, device, group, own_say)
        except HeadwiseError:
            if new and group.first:
                remove_if_empty(run)
            raise


def check_shared(run: Path) -> None:
    if not run.is_dir():
        raise ConfigError(f"{run} does not exist on every machine: --out must be on a disk that all of them share")


def train_in(run: Path, recipe: Recipe, device: torch.device, group: ProcessGroup, say: Say) -> Outcome:
    """Train in a folder that no other run uses."""
    group.from_first(lambda: check_same_files(run, recipe, say))

    def opened(recipe: Recipe) -> Job:
        job = group.in_turn(lambda: job_module(recipe.task).open_job(recipe, run, device, say))
        tune(job.loaded.model, recipe)
        return job

    recipe = with_fitting_batches(recipe, opened, device, say, lambda found: min(group.gathered(found)))
    job = opened(recipe)
    blend = blend_of(job.loaded.model, recipe.tune)
    if len(set(group.gathered(job.data_key))) > 1:
        raise ConfigError("the processes have different data: all machines must have the same files")

    def describe() -> None:
        check_same_data(run, job.data_key, job.files)
        check_same_tokenizer(run, job.loaded.tokenizer)
        check_selection(recipe, job)
        check_same_start(run, blend)
        save_description(run, job.loaded.description)
        write_table(run / RECIPE, {**to_tables(recipe), RESOLVED: resolved(recipe, job, blend)})
        note_older_model(run, recipe, say)
        several = f", {group.size} processes" if group.size > 1 else ""
        say(f"{job.describe()}, on {device.type}{several}")

    group.from_first(describe)
    reporter: Quiet | RunReporter = Quiet()
    if group.first:
        reporter = RunReporter(
            run,
            recipe.train.steps,
            tensorboard=recipe.train.tensorboard,
            unit=job.unit,
            log_every=recipe.train.log_every,
        )
    with StopRequest(once=not group.joined) as stop, reporter:
        progress = fit(
            job.loaded.model,
            job.objective,
            job.stream,
            recipe,
            run,
            validate=job.validate,
            reporter=reporter,
            stop=stop,
            autocast=autocast_dtype(recipe.train.precision, device),
            group=group,
            blend=blend,
        )
        number = max(group.gathered(stop.number))
        interrupted = group.any(bool(stop)) and progress.step < recipe.train.steps and not progress.finished
    group.first_alone(lambda: draw_curves(run))
    if interrupted:
        return Outcome(run, progress, {}, True, number, first=group.first)
    scores = group.first_alone(lambda: finish(run, recipe, job, progress, blend, say)) or {}
    return Outcome(run, progress, scores, False, how_to_ask=job.loaded.task.how_to_ask, first=group.first)


class Quiet:
    """The reporter of all processes but the first: it reports nothing."""

    def __enter__(self) -> "Quiet":
        return self

    def __exit__(self, *_: object) -> None: ...
    def started(self, step: int, tokens: int) -> None: ...
    def stepped(self, step: int, nll: float) -> None: ...
    def trained(self, record: dict[str, float]) -> None: ...
    def validated(self, record: dict[str, float], best: bool, seconds: float = 0.0) -> None: ...
    def note(self, text: str) -> None: ...


def job_module(task: str) -> JobModule:
    if task not in JOBS:
        raise ConfigError(f"unknown task {task!r}; there are: {', '.join(JOBS)}")
    return cast(JobModule, importlib.import_module(JOBS[task]))


def check(recipe: Recipe) -> None:
    """Refuse a recipe that would otherwise fail late."""
    if not recipe.out:
        raise ConfigError("no output folder: give --out DIR")
    if recipe.train.optimiser not in OPTIMISERS:
        raise ConfigError(f"unknown train.optimiser {recipe.train.optimiser!r}; there are: {', '.join(OPTIMISERS)}")
    if recipe.train.parallel == "shard" and recipe.train.optimiser == "muon":
        raise ConfigError(
            'train.optimiser = "muon" orthogonalises whole matrices, of which each process would have a part: choose '
            'train.parallel = "replicate", or adam'
        )
    if recipe.task != "translation" and recipe.data.noise.shares:
        raise ConfigError(f"data.noise is for translation, not for the task {recipe.task}")
    best_device(recipe.train.device)
    if recipe.train.tensorboard:
        check_tensorboard()
    learning_rate(1, recipe.train, recipe.model)
    check_tuning(recipe)
    with torch.device("meta"):  # shapes without memory
        model = build(recipe.model, 8, 0)
    job_module(recipe.task).check(recipe, model)


def check_selection(recipe: Recipe, job: Job) -> None:
    if recipe.train.select_by not in job.metrics:
        raise ConfigError(
            f"train.select_by = {recipe.train.select_by!r}, but validation measures: {', '.join(job.metrics)}"
        )


def resolved(recipe: Recipe, job: Job, blend: Blend | None) -> dict[str, Any]:
    """The values of the settings that the recipe leaves open, and the weights that `init` stands for."""
    tokenizer = job.loaded.tokenizer
    return {
        "learning_rate": peak(recipe.train, recipe.model),
        "warmup": warmup_steps(recipe.train),
        **({} if tokenizer is None else {"vocabulary": tokenizer.size}),
        **({} if blend is None else {START: blend.digest}),
    }


def note_older_model(run: Path, recipe: Recipe, say: Say) -> None:
    """Report that `model.safetensors` remains the old one while a finished run is trained longer."""
    newest = checkpoints(run)
    if (run / WEIGHTS).exists() and newest and step_of(newest[-1]) < recipe.train.steps:
        say(f"{run / WEIGHTS} remains the model of the shorter run until this run ends")


def finish(
    run: Path, recipe: Recipe, job: Job, progress: RunState, blend: Blend | None, say: Say
) -> Mapping[str, Scored]:
    """Write the model folder: the best or averaged weights, maybe blended, their scores, the card."""
    if recipe.train.average > 1:
        newest = checkpoints(run)[-recipe.train.average :]
        weights = mean_weights([load_weights(path) for path in newest])
        source = f"the mean of the last {len(newest)} checkpoints"
    elif progress.best_step:
        weights = load_weights(step_folder(run, progress.best_step))
        source = f"those of the best validation, at step {progress.best_step:,}"
    else:
        weights = load_weights(checkpoints(run)[-1])
        source = f"those of the last step, {progress.step:,}"
    note_no_gain(run, recipe, progress, say)
    model = job.loaded.model
    merge_lora(model)
    set_weights(model, weights, str(run))
    if blend is not None:
        set_weights(model, blend(weights_of(model)), str(run))
        source += f", blended with those of {recipe.init} ({blend.share:.0%} and {1 - blend.share:.0%})"
    save_tensors(run / WEIGHTS, weights_of(model))
    model.eval()
    scores = job.finish(say)
    cost = training_cost(run, job, progress)
    say(str(cost))
    write_json(run / COST, cost.as_dict())
    sections = (job.card(progress, scores, source), cost.section, start_section(recipe.init))
    card = "\n\n".join(section.rstrip() for section in sections if section)
    write_text(run / CARD, with_distillation(card, run, progress.step))
    write_json(run / SCORES, {name: score.as_dict() for name, score in scores.items()})
    if recipe.init and is_int8(find_model(recipe.init)):
        keep_int8(run, next(model.parameters()).device, say)
    return scores


def note_no_gain(run: Path, recipe: Recipe, progress: RunState, say: Say) -> None:
    """Report a best validation that is worse than that of the model which the run started from."""
    name, best = recipe.train.select_by, progress.best_metric
    before = next((each.get(name) for each in read_log(run) if each["kind"] == "valid" and each["step"] == 0), None)
    if not isinstance(before, int | float) or best is None:
        return
    before, best = round(before, 3), round(best, 3)  # as they are shown
    if best > before if name == "loss" else best < before:
        say(
            f"note: validation was better before training ({name} {before:.3f}, now {best:.3f}): these pairs have "
            f"nothing to teach {recipe.init}; use that model, or train on other pairs or more of them"
        )


def keep_int8(run: Path, device: torch.device, say: Say) -> None:
    """Write the int8 version of a model that started from int8 weights, for the CPU that it was trained on.

    `headwise translate` then is as fast with the new model as it was with the old one. Float32 weights stay beside it:
    they can be trained further.
    """
    if device.type != "cpu":
        say(f"for CPUs, where int8 is much faster: headwise convert {run} FOLDER --precision int8")
        return
    folder = run / INT8_VERSION
    shutil.rmtree(folder, ignore_errors=True)
    convert(run, folder, "headwise", precision=INT8)
