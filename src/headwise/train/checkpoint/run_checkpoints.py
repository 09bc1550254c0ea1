"""The checkpoints of a run while it trains: which one it continues from, and which ones are kept."""

import contextlib
import dataclasses
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from headwise.config import TrainConfig
from headwise.errors import CheckpointError
from headwise.files.atomic import write_when_there_is_room
from headwise.files.tables import NewerFormatError
from headwise.interrupt import StopRequest
from headwise.models.folder.run_layout import checkpoints, load_weights, step_folder, step_of
from headwise.train.checkpoint.checkpoint import restore_checkpoint, write_checkpoint
from headwise.train.checkpoint.run_state import RunState
from headwise.train.step.learner import Learner


class Background:
    """A thread that writes one checkpoint after the other while training continues.

    An error of writing is raised when the next one is to be written, or at the end. If the process is killed while a
    checkpoint is being written, the one before it is still there.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._writing: Future[None] | None = None

    def __call__(self, write: Callable[[], None]) -> None:
        self.wait()
        self._writing = self._thread.submit(write)

    def wait(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def close(self) -> None:
        try:
            self.wait()
        finally:
            self._thread.shutdown()


class RunCheckpoints:
    """The checkpoints of one run.

    The best and the newest are kept: `train.keep` of them, or as many as the final model is the mean of. Only
    checkpoints of regular steps count: one that was written because of Ctrl-C is removed after the next, so that a run
    that was stopped ends with the same checkpoints, and the same mean, as one that was not. Nothing is removed while
    steps are being skipped: the newest weights may be damaged.
    """

    def __init__(
        self, run: Path, learner: Learner, config: TrainConfig, note: Callable[[str], None], stop: StopRequest
    ) -> None:
        self.last = self.last_good = 0
        """The steps of the newest checkpoint, and of the newest one that was written while no steps were skipped."""
        self._run = run
        self._learner = learner
        self._config = config
        self._note = note
        self._stop = stop
        self._group = learner.group
        # A GPU would be idle for seconds per checkpoint. On a CPU, a thread would compete with training for the cores.
        self._background = Background() if learner.device.type == "cuda" and not learner.group.joined else None

    def close(self) -> None:
        if self._background is not None:
            self._background.close()

    def resume(self) -> RunState:
        """Restore the newest checkpoint that is complete; without one, the run starts from the beginning."""
        state = resume(self._run, self._learner, self._note)
        if state.step:  # a run that was killed after it saved may not have removed old ones
            self._group.first_alone(lambda: self._remove_old(state))
        self.last = self.last_good = state.step
        return state

    def save(self, state: RunState) -> None:
        """Write the checkpoint of this step, then remove those that are neither new nor the best."""
        learner = self._learner

        def in_background(write: Callable[[], None]) -> None:
            def write_and_remove() -> None:
                write()
                self._remove_old(state)

            assert self._background is not None
            self._background(write_and_remove)

        write_checkpoint(
            step_folder(self._run, state.step),
            state,
            learner.model,
            learner.optimiser,
            learner.average,
            group=self._group,
            attempt=lambda write: write_when_there_is_room(write, self._note, lambda: bool(self._stop)),
            background=in_background if self._background else None,
        )
        if self._background is None:
            self._group.first_alone(lambda: self._remove_old(state))
        self.last = state.step
        if not state.nonfinite_row:
            self.last_good = state.step

    def _remove_old(self, state: RunState) -> None:
        remove_old(self._run, state, max(self._config.keep, self._config.average), self._is_regular)

    def _is_regular(self, step: int) -> bool:
        config = self._config
        return step % config.checkpoint_every == 0 or step % config.validate_every == 0 or step == config.steps


def remove_old(run: Path, state: RunState, keep: int, regular: Callable[[int], bool]) -> None:
    """Remove all checkpoints but the best and the newest `keep`; see `RunCheckpoints`."""
    older = checkpoints(run)[:-1] if not state.nonfinite_row else []
    regular_ones = [old for old in older if regular(step_of(old))]
    newest = regular_ones[-(keep - 1) :] if keep > 1 else []
    for old in older:
        if old not in newest and old != step_folder(run, state.best_step):
            with contextlib.suppress(OSError):  # if this fails, it is tried again after the next checkpoint
                old.rename(old.with_name(f".{old.name}.writing"))  # atomic: a partly removed folder is never seen
    folder = step_folder(run, state.step).parent
    for unfinished in folder.glob(".step-*.writing"):  # these, and those of a run that was killed
        shutil.rmtree(unfinished, ignore_errors=True)


def resume(run: Path, learner: Learner, note: Callable[[str], None]) -> RunState:
    """Restore the newest checkpoint that every process can read; without one, return the initial state."""
    group = learner.group
    damaged: list[Path] = []
    for path in reversed(group.from_first(lambda: checkpoints(run))):
        problem: CheckpointError | None = None
        try:
            state = restore_checkpoint(path, learner.model, learner.optimiser, learner.average, group)
        except NewerFormatError:
            raise
        except CheckpointError as error:
            problem = error
        if group.any(problem is not None):
            note(f"{problem or path}; trying the previous checkpoint")
            damaged.append(path)
            continue
        group.first_alone(lambda: set_aside(damaged))
        return _check_best(run, state, learner, note)
    if damaged:
        raise CheckpointError(f"{run}: none of its checkpoints can be read; move the folder away to start anew")
    return RunState()


def _check_best(run: Path, state: RunState, learner: Learner, note: Callable[[str], None]) -> RunState:
    """Forget the best step if its checkpoint can no longer be read."""
    if state.best_step and state.best_step != state.step:
        problem = learner.group.from_first(lambda: unreadable(step_folder(run, state.best_step)))
        if problem:
            note(f"{problem}; the best checkpoint so far is lost: the best is chosen from the steps from here on")
            return dataclasses.replace(state, best_step=0, best_metric=None, stale=0)
    return state


def unreadable(path: Path) -> str:
    """The reason why the weights of a checkpoint cannot be read; empty if they can."""
    try:
        load_weights(path)
    except CheckpointError as error:
        return str(error)
    return ""


def set_aside(damaged: list[Path]) -> None:
    """Rename checkpoints that cannot be read, so that they neither count nor are lost."""
    for path in damaged:
        aside = path.with_name(f"damaged-{path.name}")
        shutil.rmtree(aside, ignore_errors=True)
        with contextlib.suppress(OSError):
            path.rename(aside)
