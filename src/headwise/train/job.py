"""What a task is to the trainer. `train/run.py` names a module for each task; the module has two functions:

    check(recipe, model)                    a ConfigError or DataError for what would only fail later; `model` has the
                                            recipe's shape and no weights
    open_job(recipe, run, device, say)      a `Job`: data prepared, model built (or that of `recipe.init`)

A job is a plain object that holds what the loop needs and says how the run is finished. It trains nothing itself.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from headwise.config import Recipe
from headwise.data.batch.stream import Stream
from headwise.errors import CheckpointError
from headwise.files.tables import read_json, read_table
from headwise.models.folder.load import LoadedModel
from headwise.train.checkpoint.run_state import RunState
from headwise.train.step.learner import Objective, Validate

Say = Callable[[str], None]

DATA_KEY = "data.json"
"""Names, in a run's folder, the prepared data that it was begun with."""


class Scored(Protocol):
    """The figures of one test set, to print and to save."""

    def as_dict(self) -> dict[str, Any]: ...
    def __str__(self) -> str: ...


class Job(Protocol):
    """Read-only: a frozen dataclass will do."""

    @property
    def loaded(self) -> LoadedModel:
        """On the device that trains, before its first step."""

    @property
    def stream(self) -> Stream[Any]: ...
    @property
    def objective(self) -> Objective: ...
    @property
    def validate(self) -> Validate | None:
        """None: there is nothing to validate on."""

    @property
    def metrics(self) -> Sequence[str]:
        """What `validate` gives, `loss` first: the values that `train.select_by` can have."""

    @property
    def unit(self) -> str:
        """What a batch counts, in the plural: tokens, examples, images."""

    @property
    def data_key(self) -> str:
        """Names the data: a run that goes on must find the same."""

    def describe(self) -> str:
        """A line about model and data, said before the first step."""

    def finish(self, say: Say) -> Mapping[str, Scored]:
        """The scores of the finished model - `loaded.model` has its final weights - on the test sets, or else on the
        validation set."""

    def card(self, progress: RunState, scores: Mapping[str, Scored], source: str) -> str:
        """The model card, in Markdown; `source` says which weights these are. See train/report/card.py."""


class JobModule(Protocol):
    """A module of the table of tasks."""

    def check(self, recipe: Recipe, model: nn.Module) -> None: ...
    def open_job(self, recipe: Recipe, run: Path, device: torch.device, say: Say) -> Job: ...


def read_key(path: Path) -> str:
    """Of the data that the run was begun with."""
    try:
        stored = read_json(path)
        return stored if isinstance(stored, str) else str(read_table(path)["key"])  # a string in older runs
    except (CheckpointError, KeyError) as error:
        raise CheckpointError(f"{error}; remove {path} to go on with the data as they are now") from None
