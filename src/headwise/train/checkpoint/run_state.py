"""The state of a run beside its weights: step, position in the data, best validation. Checkpoints hold it as JSON."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwise.data.batch.stream import Position
from headwise.errors import CheckpointError, ConfigError
from headwise.files.tables import read_json
from headwise.models.folder.run_layout import STATE
from headwise.recipe import from_tables


@dataclass(frozen=True)
class RunState:
    """The progress of a run."""

    step: int = 0
    position: Position = field(default_factory=Position)
    tokens: int = 0
    seconds: float = 0.0
    best_step: int = 0
    best_metric: float | None = None
    """The value of `train.select_by` at the best step."""
    stale: int = 0
    """Validations since the best one."""
    nonfinite: int = 0
    """Steps that were skipped, because their loss or gradient was NaN or infinite."""
    nonfinite_row: int = 0
    """The number of latest steps that were skipped in a row."""
    interval_loss: float = 0.0
    """Sum since the last log record, like the next two."""
    interval_nll: float = 0.0
    interval_tokens: int = 0
    finished: bool = False
    """Whether `train.patience` validations in a row have brought no improvement."""


def read_state(checkpoint: Path) -> RunState:
    state: Any = read_json(checkpoint / STATE)
    if not isinstance(state, dict):
        raise CheckpointError(f"{checkpoint / STATE}: damaged: not a table")
    try:
        return from_tables(RunState, state)
    except ConfigError as error:
        raise CheckpointError(f"{checkpoint / STATE}: damaged: {error}") from None
