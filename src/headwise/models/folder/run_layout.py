"""The layout of a training run's folder: its checkpoints, and the weights that it is used with."""

from pathlib import Path

from headwise.errors import CheckpointError
from headwise.files.folder import check_manifest
from headwise.files.tables import read_json
from headwise.models.folder.config_file import CHECKPOINTS, WEIGHTS
from headwise.models.folder.shards import has_tensors, load_whole
from headwise.models.folder.weights import Weights
from headwise.nn.lora import merged_weights

STATE = "state.json"
"""In a checkpoint: the state of the run."""
AVERAGED = "average.safetensors"
"""In a checkpoint: the moving average of the weights, if the run has one."""


def step_folder(run: Path, step: int) -> Path:
    return run / CHECKPOINTS / f"step-{step:08d}"


def step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def checkpoints(run: Path) -> list[Path]:
    """The finished checkpoints of a run, oldest first."""
    return sorted((run / CHECKPOINTS).glob("step-*"))


def best_checkpoint(run: Path) -> Path:
    """The checkpoint of the best validation so far, or else the newest."""
    finished = checkpoints(run)
    if not finished:
        raise CheckpointError(f"{run}: training has saved no checkpoint yet")
    state = read_json(finished[-1] / STATE)
    best_step = state.get("best_step") if isinstance(state, dict) else None
    if not isinstance(best_step, int):
        raise CheckpointError(f"{finished[-1] / STATE}: damaged: it has no best_step")
    best = step_folder(run, best_step)
    return best if best.is_dir() else finished[-1]


def load_weights(folder: Path) -> Weights:
    """The weights of a model folder, of a checkpoint, or of a run's best checkpoint so far."""
    if not (folder / WEIGHTS).exists() and (folder / CHECKPOINTS).is_dir():
        folder = best_checkpoint(folder)
    if (folder / STATE).exists():
        check_manifest(folder)
    return merged_weights(load_whole(folder, AVERAGED if has_tensors(folder, AVERAGED) else WEIGHTS))
