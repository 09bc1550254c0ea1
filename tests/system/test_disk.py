"""A full disk: a run waits for room or ends with a line that says what to do; what was saved stays whole."""

import functools
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.faults import (
    NAMED,
    At,
    Child,
    Undisturbed,
    check_folder_is_whole,
    check_same_end,
    newest_step,
    start,
    undisturbed,
)
from tests.system.runs import best_of_validations, write_recipe


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("disk")
    return undisturbed(folder, best_of_validations(folder))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"a disk can only be made with the right to mount: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """A file that leaves no room at all."""
    path = disk / "ballast"
    with path.open("wb", buffering=0) as file:
        block = 1 << 20
        while block:
            try:
                file.write(b"x" * block)
            except OSError:
                block //= 2
    return path


def fill_during(child: Child, run: Path, disk: Path, steps: int) -> Path:
    """Fill the disk once a checkpoint is there."""
    deadline = time.monotonic() + 60
    while newest_step(run) < steps and child.wait(0.001) is None and time.monotonic() < deadline:
        pass
    assert newest_step(run) >= steps, child.said()
    return fill(disk)


def check_told(child: Child, *where: Path) -> None:
    """One line, which names a place and says what to do, and no traceback."""
    last = child.said().strip().splitlines()[-1]
    assert last.startswith("headwise: "), child.said()
    assert any(str(path) in last for path in where), last
    assert "disk is full" in last or "No space left" in last, last
    assert "make room" in last.lower(), last
    assert "Traceback" not in child.said()


def until_it_waits(child: Child) -> None:
    """For room; or until it has ended."""
    deadline = time.monotonic() + 30
    while "Waiting for room" not in child.said() and child.wait(0.01) is None and time.monotonic() < deadline:
        pass


def test_a_run_waits_for_room(whole: Undisturbed, disk: Path) -> None:
    run = disk / "run"
    recipe = write_recipe(disk.parent, whole.tables, out=run)
    child = start(recipe, seconds_for_room=60)
    ballast = fill_during(child, run, disk, 4)
    until_it_waits(child)
    time.sleep(0.3)
    assert child.wait(0) is None, child.said()
    stuck = check_folder_is_whole(run)
    ballast.unlink()
    assert child.wait(60) == 0, child.said()
    assert f"could not write {run}/checkpoints/" in child.said() or f"could not write {run}" in child.said()
    assert "there is room on the disk again" in child.said()
    assert stuck < newest_step(run)
    check_same_end(whole.folder, run)


def test_a_run_that_waited_in_vain_goes_on_later(whole: Undisturbed, disk: Path) -> None:
    run = disk / "run"
    recipe = write_recipe(disk.parent, whole.tables, out=run)
    child = start(recipe, seconds_for_room=0.3)
    ballast = fill_during(child, run, disk, 4)
    assert child.wait(60) == 2, child.said()
    check_told(child, run)
    reached = check_folder_is_whole(run)
    assert reached >= 4
    again = start(recipe, seconds_for_room=0.3)
    assert again.wait(60) == 2, again.said()
    check_told(again, run)
    assert check_folder_is_whole(run) == reached
    ballast.unlink()
    last = start(recipe)
    assert last.wait(60) == 0, last.said()
    assert f"continuing from step {reached}" in last.said()
    check_same_end(whole.folder, run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_stopping_while_waiting_for_room(whole: Undisturbed, disk: Path, number: signal.Signals) -> None:
    """Not a mistake of anybody's: the status of the signal, and a word on how to go on."""
    run = disk / "run"
    recipe = write_recipe(disk.parent, whole.tables, out=run)
    child = start(recipe, seconds_for_room=60)
    ballast = fill_during(child, run, disk, 4)
    until_it_waits(child)
    os.kill(child.pid, number)
    assert child.wait(30) == 128 + number, child.said()
    last = child.said().strip().splitlines()[-1]
    assert last.startswith("headwise: stopped while the disk was full"), child.said()
    assert "the same command goes on from there" in last
    assert "Traceback" not in child.said()
    reached = check_folder_is_whole(run)
    ballast.unlink()
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    assert f"continuing from step {reached}" in again.said()
    check_same_end(whole.folder, run)


def test_no_room_for_the_data(whole: Undisturbed, disk: Path) -> None:
    run = disk / "run"
    recipe = write_recipe(disk.parent, whole.tables, out=run)
    (disk / "run" / "data").mkdir(parents=True)
    spare = disk / "spare"
    spare.write_bytes(b"x" * 24_000)
    ballast = fill(disk)
    spare.unlink()
    child = start(recipe)
    assert child.wait(60) in (1, 2), child.said()
    check_told(child, run)
    assert not list(run.glob("data/.*.writing"))
    ballast.unlink()
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    check_same_end(whole.folder, run)


@pytest.mark.slow
@pytest.mark.parametrize("phase", NAMED)
def test_no_room_at_a_file_operation(whole: Undisturbed, phase: str) -> None:
    """Whatever the run wants to write at that moment, and for however long."""
    rng = random.Random(phase)
    recipe = write_recipe(whole.folder.parent, whole.tables, f"full-{time.monotonic_ns()}")
    run = recipe.with_suffix("")
    more = rng.choice([3, 1000])
    child = start(recipe, fault=At(phase, rng.randint(1, max(1, whole.events[phase] // 2)), "full", more))
    status = child.wait(60)
    assert status in (0, 1, 2), child.said()
    if status:
        check_told(child, run)
    elif child.phase_of_fault():
        assert "Traceback" not in child.said()
    if run.exists():
        check_folder_is_whole(run)
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    check_same_end(whole.folder, run)


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def test_a_checkpoint_larger_than_files_may_be(whole: Undisturbed) -> None:
    """The system refuses it in the middle of writing, as a full disk does, but there is nothing to wait for."""
    recipe = write_recipe(whole.folder.parent, whole.tables, "limited")
    run = recipe.with_suffix("")
    largest = max(path.stat().st_size for path in whole.folder.glob("checkpoints/*/*.safetensors"))
    child = start(recipe, prepare=functools.partial(limit_files, largest - 1000), seconds_for_room=60)
    assert child.wait(60) == 2, child.said()
    last = child.said().strip().splitlines()[-1]
    assert last.startswith(f"headwise: could not write {run}"), last
    assert "Traceback" not in child.said()
    assert not [path for path in run.rglob("*") if path.name.endswith(".writing")]
    assert check_folder_is_whole(run) == 0
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    check_same_end(whole.folder, run)


def test_a_folder_that_may_not_be_written(whole: Undisturbed, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    recipe = write_recipe(whole.folder.parent, {**whole.tables, "out": str(tmp_path / "run")}, "refused")
    child = start(recipe, "--out", str(tmp_path / "run"))
    assert child.wait(60) == 2, child.said()
    assert str(tmp_path / "run") in child.said()
