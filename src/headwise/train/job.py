"""The interface of a task: the two functions of its module, and the `Job` that a run needs.

`train/run.py` names a module for each task, with

    check(recipe, model)                    raises a ConfigError or DataError for what would otherwise fail late;
                                            `model` has the recipe's shape and no weights
    open_job(recipe, run, device, say)      returns a `Job`: data prepared, model built (or that of `recipe.init`)

A job is a plain object that holds what the loop needs and how the run is finished. It trains nothing itself.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from headwise.config import Recipe
from headwise.data.batch.stream import Stream
from headwise.data.prepare.result import SourceFile
from headwise.models.folder.description import LoadedModel
from headwise.train.checkpoint.run_state import RunState
from headwise.train.step.learner import Objective, Validate

Say = Callable[[str], None]

FEW = 100
"""Examples that a set needs for meaningful scores: one in a hundred is a percent of accuracy, and BLEU is noisier."""


class Scored(Protocol):
    """The figures of one test set, to print and to save."""

    def as_dict(self) -> dict[str, Any]: ...
    def __str__(self) -> str: ...


class Job(Protocol):
    """A run of a task that is ready to train; all attributes are read-only."""

    @property
    def loaded(self) -> LoadedModel:
        """The model before its first step, on the device that trains."""

    @property
    def stream(self) -> Stream[Any]: ...
    @property
    def objective(self) -> Objective: ...
    @property
    def validate(self) -> Validate | None:
        """None: there is nothing to validate on."""

    @property
    def metrics(self) -> Sequence[str]:
        """The figures that `validate` returns, `loss` first: the values that `train.select_by` can have."""

    @property
    def unit(self) -> str:
        """The unit of a batch's `count`, in the plural: tokens, examples, images."""

    @property
    def data_key(self) -> str:
        """A key of the data's content: a run can only be continued on the same data."""

    @property
    def files(self) -> Sequence[SourceFile]:
        """The files that the data was read from."""

    def describe(self) -> str:
        """A line about model and data, printed before the first step."""

    def finish(self, say: Say) -> Mapping[str, Scored]:
        """Measure the finished model - `loaded.model` has its final weights - on the test sets, or else on the
        validation set."""

    def card(self, progress: RunState, scores: Mapping[str, Scored], source: str) -> str:
        """The model card, in Markdown; `source` names which weights these are. See train/report/card.py."""


class JobModule(Protocol):
    """A module of the table of tasks."""

    def check(self, recipe: Recipe, model: nn.Module) -> None: ...
    def open_job(self, recipe: Recipe, run: Path, device: torch.device, say: Say) -> Job: ...


def note_few(name: str, count: int, unit: str, say: Say) -> None:
    """Report a set that is too small for its scores to be meaningful."""
    if 0 < count < FEW:
        units = unit if count > 1 else unit.removesuffix("s")
        say(f"note: {name}: only {count:,} {units}; figures of fewer than {FEW} are mostly chance")
