"""The thread that makes batches fails, dies or hangs: the work is saved, and the run that goes on is the same."""

import functools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.faults import (
    Undisturbed,
    check_folder_is_whole,
    check_same_end,
    last_logged,
    newest_step,
    start,
    undisturbed,
)
from tests.system.runs import best_of_validations, write_recipe

BATCH = 12
"""The one that cannot be made: that of step 12, in the middle between two checkpoints of these runs."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("worker")
    tables = best_of_validations(folder)
    return undisturbed(folder, {**tables, "train": {**tables["train"], "checkpoint_every": 5}})


def break_batch(kind: str) -> None:
    """In the process: the making of a batch fails as it would if the disk, the memory or the network did."""
    from headwise.data.batch import prefetch
    from headwise.train.processes import batch_share as share

    batches_from = share.batches_from

    def broken(stream: Any, position: Any = None) -> Iterator[Any]:
        for number, item in enumerate(batches_from(stream, position), 1):
            if number == BATCH:
                if kind == "error of the disk":
                    raise OSError(5, "Input/output error", "train.bin")
                if kind == "no memory":
                    raise MemoryError
                if kind == "hang":
                    time.sleep(1000)
            yield item

    def dies(items: Iterator[Any], ready: Any, stopped: Any) -> None:
        for _, item in zip(range(BATCH - 1), items, strict=False):
            ready.put(item)

    if kind == "death":
        prefetch._fill = dies
    else:
        share.batches_from = broken


FAILURES = {
    "error of the disk": (1, "train.bin: Input/output error"),
    "no memory": (1, "out of memory"),
    "death": (2, "the thread that prepares the batches has died"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_the_steps_before_a_batch_that_fails_are_saved(whole: Undisturbed, kind: str) -> None:
    status, message = FAILURES[kind]
    recipe = write_recipe(whole.folder.parent, whole.tables, kind.replace(" ", "-"))
    run = recipe.with_suffix("")
    child = start(recipe, prepare=functools.partial(break_batch, kind))
    assert child.wait(60) == status, child.said()
    assert message in child.said().strip().splitlines()[-1]
    assert "Traceback" not in child.said()
    assert f"step {BATCH - 1} is saved" in child.said()
    assert check_folder_is_whole(run) == BATCH - 1 == last_logged(run)
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    check_same_end(whole.folder, run)


@pytest.mark.slow
@pytest.mark.parametrize("signals", [1, 2])
def test_a_worker_that_hangs_can_be_interrupted(whole: Undisturbed, signals: int) -> None:
    recipe = write_recipe(whole.folder.parent, whole.tables, f"hang-{signals}")
    run = recipe.with_suffix("")
    child = start(recipe, prepare=functools.partial(break_batch, "hang"))
    deadline = time.monotonic() + 60
    while last_logged(run) < BATCH - 1 and child.wait(0.01) is None and time.monotonic() < deadline:
        pass
    time.sleep(0.2)
    for _ in range(signals):
        assert child.wait(0.1) is None, child.said()
        os.kill(child.pid, signal.SIGINT)
    assert child.wait(30) == 130, child.said()
    assert "Traceback" not in child.said()
    if signals == 1:  # a second one does not wait for anything
        assert check_folder_is_whole(run) == BATCH - 1
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    check_same_end(whole.folder, run)


def test_data_that_are_cut_short_under_a_run(whole: Undisturbed) -> None:
    """The system ends a process that reads past the end of a mapped file; the next start prepares the data again."""
    recipe = write_recipe(whole.folder.parent, whole.tables, "cut")
    run = recipe.with_suffix("")
    child = start(recipe)
    deadline = time.monotonic() + 60
    while newest_step(run) < 5 and child.wait(0.001) is None and time.monotonic() < deadline:
        pass
    for path in Path(run, "data").glob("*/train-0/*.bin"):
        os.truncate(path, 0)
    status = child.wait(60)
    assert status in (0, -signal.SIGBUS), child.said()  # 0: it had read all that it needed
    check_folder_is_whole(run)
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    assert "preparing the data again" in again.said()
    check_same_end(whole.folder, run)
