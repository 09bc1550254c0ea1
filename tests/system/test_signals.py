"""Asked to stop, a run saves the step it is in, says how to go on, and ends with the status that others expect."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwise.models.folder.run_layout import checkpoints
from headwise.train.report.console import read_log
from tests.system.faults import (
    Child,
    Undisturbed,
    check_folder_is_whole,
    check_same_end,
    newest_step,
    start,
    undisturbed,
)
from tests.system.runs import best_of_validations, small_translation, write_recipe


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("signals")
    return undisturbed(folder, best_of_validations(folder))


@pytest.fixture
def recipe(whole: Undisturbed) -> Path:
    """Of the same run in another folder."""
    return write_recipe(whole.folder.parent, whole.tables, f"run-{time.monotonic_ns()}")


def run_of(recipe: Path) -> Path:
    return recipe.with_suffix("")


def wait_for_steps(child: Child, run: Path, steps: int = 2) -> None:
    deadline = time.monotonic() + 60
    while newest_step(run) < steps and child.wait(0.002) is None and time.monotonic() < deadline:
        pass


heeds_a_closed_terminal = pytest.mark.skipif(
    signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, reason="started with nohup, which runs heed too"
)


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=heeds_a_closed_terminal)],
    ids=lambda number: number.name,
)
def test_a_signal_saves_and_says_how_to_go_on(whole: Undisturbed, recipe: Path, number: signal.Signals) -> None:
    run = run_of(recipe)
    child = start(recipe)
    wait_for_steps(child, run)
    os.kill(child.pid, number)
    assert child.wait(60) == 128 + number, child.said()
    stopped = check_folder_is_whole(run)
    assert f"stopped at step {stopped:,}; everything is saved: run the same command again to continue" in child.said()
    assert "Traceback" not in child.said()
    assert [record["step"] for record in read_log(run) if record["kind"] == "train"] == list(range(1, stopped + 1))
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    assert f"continuing from step {stopped:,}" in again.said()
    check_same_end(whole.folder, run)


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_second_signal_ends_at_once_and_loses_little(
    whole: Undisturbed, recipe: Path, second: signal.Signals
) -> None:
    run = run_of(recipe)
    child = start(recipe)
    wait_for_steps(child, run)
    os.kill(child.pid, signal.SIGINT)
    time.sleep(0.002)
    os.kill(child.pid, second)
    assert child.wait(60) == 130, child.said()  # whether it was in time for the first one or not
    assert "Traceback" not in child.said()
    assert check_folder_is_whole(run) >= 2
    again = start(recipe)
    assert again.wait(60) == 0, again.said()
    check_same_end(whole.folder, run)


def ignore_hang_ups() -> None:
    """As nohup does."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_nohup_outlives_the_terminal(whole: Undisturbed, recipe: Path) -> None:
    child = start(recipe, prepare=ignore_hang_ups)
    wait_for_steps(child, run_of(recipe))
    os.kill(child.pid, signal.SIGHUP)
    assert child.wait(60) == 0, child.said()
    check_same_end(whole.folder, run_of(recipe))


def break_the_output() -> None:
    """The program that reads the messages is gone."""
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 1)
    os.dup2(writing, 2)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115


def test_nobody_needs_to_read_the_messages(whole: Undisturbed, recipe: Path) -> None:
    child = start(recipe, prepare=break_the_output)
    assert child.wait(60) == 0
    check_same_end(whole.folder, run_of(recipe))


@pytest.mark.slow
@heeds_a_closed_terminal
@pytest.mark.skipif(not Path("/usr/bin/setsid").exists(), reason="needs setsid, to give a process a terminal")
def test_a_closed_terminal_saves(tmp_path: Path) -> None:
    """The real command on a real terminal, progress bar and all, whose window is closed."""
    recipe = write_recipe(tmp_path, small_translation(tmp_path, steps=100_000))
    run = run_of(recipe)
    mine, its = os.openpty()
    command = ["/usr/bin/setsid", "--ctty", sys.executable, "-m", "headwise", "train", str(recipe)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stdin=its, stdout=its, stderr=its)
    os.close(its)
    deadline = time.monotonic() + 120
    os.set_blocking(mine, False)
    while not checkpoints(run) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
        try:
            os.read(mine, 1 << 16)
        except BlockingIOError:
            continue
    os.close(mine)
    assert process.wait(60) == 128 + signal.SIGHUP
    stopped = check_folder_is_whole(run)
    again = start(recipe, "--steps", str(stopped + 3))
    assert again.wait(60) == 0, again.said()
    assert f"continuing from step {stopped:,}" in again.said()
    assert check_folder_is_whole(run) == stopped + 3


@pytest.mark.slow
def test_ctrl_c_on_the_real_command(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, small_translation(tmp_path, steps=100_000))
    run = run_of(recipe)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "headwise", "train", str(recipe)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not checkpoints(run) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    stopped = check_folder_is_whole(run)
    assert f"stopped at step {stopped:,}" in errors
