"""Whole runs that are disturbed, and a count of what it cost them.

    python -m tests.system --kills 200 --seed 0     (see kills.py)

kills short runs again and again, lets each go on, and compares how it ends with a run that nobody disturbed. A run is
the real command in a process of its own. It is forked from one that has PyTorch imported already, so that a start takes
milliseconds and hundreds of kills are a matter of minutes.
"""

import contextlib
import dataclasses
import faulthandler
import functools
import json
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from headwise.files.tensors import load_tensors
from headwise.models.folder.load import load
from headwise.models.folder.run_layout import checkpoints, load_weights
from headwise.train.checkpoint.run_state import read_state
from headwise.train.report.console import read_log
from tests.system.runs import write_recipe

PRELOADED = [
    "torch",
    "torch._dynamo",
    "headwise.cli",
    "headwise.train.run",
    "headwise.train.start",
    "headwise.train.tasks.translation_task",
    "headwise.train.tasks.causal_lm_task",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "sentencepiece",
    "sacrebleu",
    "tests.system.faults",
]

# --- where a process is --------------------------------------------------------------------------------

PHASES = {
    "headwise/train/run.py train": "start-up",
    "headwise/train/tasks/translation_task.py open_job": "preparing data",
    "headwise/train/tasks/causal_lm_task.py open_job": "preparing data",
    "headwise/text/kinds.py train_tokenizer": "training the tokenizer",
    "headwise/train/start.py first_model": "start-up",
    "headwise/train/loop.py fit": "training steps",
    "headwise/train/loop.py validated": "validating",
    "headwise/train/loop.py begin": "resuming",
    "headwise/train/checkpoint/checkpoint.py write_checkpoint": "writing a checkpoint",
    "headwise/train/checkpoint/run_checkpoints.py remove_old": "removing old checkpoints",
    "headwise/train/report/curves.py draw_curves": "writing the model folder",
    "headwise/train/run.py finish": "writing the model folder",
}
"""What a process is doing, by the innermost of these functions that it is in."""
NAMED = list(dict.fromkeys(["start-up", *PHASES.values()]))
STEPPING = ("training steps", "validating", "writing a checkpoint", "removing old checkpoints")
"""Phases that come after the first step of a start."""
AT_FIRST = ("start-up", "preparing data", "training the tokenizer")


def phase_of(functions: Iterator[str]) -> str:
    """`functions`: "FILE FUNCTION" of each frame, innermost first."""
    for function in functions:
        for name, phase in PHASES.items():
            if function.endswith(name):
                return phase
    return "start-up"


def current_phase() -> str:
    def frames() -> Iterator[str]:
        frame = sys._getframe(3)
        while frame is not None:
            yield f"{frame.f_code.co_filename} {frame.f_code.co_name}"
            frame = frame.f_back  # type: ignore[assignment]

    return phase_of(frames())


# --- what happens to a process -------------------------------------------------------------------------

FILE_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"}


@dataclass(frozen=True)
class At:
    """A fault at a file operation: number `count` of those in the run's folder during `phase`."""

    phase: str
    count: int
    action: Literal["kill", "full"] = "kill"
    """kill: SIGKILL before the operation; full: it, and the `more` after it, find no room on the disk."""
    more: int = 0


@dataclass(frozen=True)
class Child:
    """A run in a process of its own."""

    process: Any
    notes: Path
    """What it tells: a stack on request, the phase of a fault."""
    errors: Path

    @property
    def pid(self) -> int:
        return int(self.process.pid)

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit status, negative for a signal; None if it is still running."""
        self.process.join(seconds)
        status: int | None = self.process.exitcode
        return status

    def said(self) -> str:
        return self.errors.read_text(errors="replace") if self.errors.exists() else ""

    def kill(self) -> str:
        """SIGKILL, and where it was: its last act is to write down its stack."""
        phase = "start-up"
        with contextlib.suppress(ProcessLookupError):
            before = self.notes.stat().st_size if self.notes.exists() else -1
            if before >= 0:  # it can answer
                os.kill(self.pid, signal.SIGUSR1)
                deadline = time.monotonic() + 0.05
                while time.monotonic() < deadline and "in run_child" not in self.notes.read_text()[before:]:
                    pass
            os.kill(self.pid, signal.SIGKILL)
            self.process.join()
            text = self.notes.read_text()[before:] if before >= 0 else ""
            main = next((part for part in text.split("\n\n") if "in run_child" in part), "")
            frames = re.findall(r'File "(.*)", line \d+ in (.*)', main)
            phase = phase_of(f"{file} {function}" for file, function in frames)
        self.process.join()
        return phase

    def phase_of_fault(self) -> str:
        """Of the fault that the process was started with, if it has come to it."""
        found = re.findall(r"^fault in (.*)$", self.notes.read_text() if self.notes.exists() else "", re.MULTILINE)
        return found[-1] if found else ""


@functools.cache
def warm() -> Any:
    """A server of processes that has everything imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    first = context.Process(target=os.getpid)
    first.start()
    first.join()
    return context


def start(
    recipe: Path,
    *options: str,
    fault: At | None = None,
    prepare: Callable[[], None] | None = None,
    seconds_for_room: float = 0.2,
) -> Child:
    """`headwise train RECIPE OPTIONS`, with a fault at a file operation; `prepare` is called in it before it starts."""
    context = warm()
    number = f"{recipe.stem}-{time.monotonic_ns()}"
    child = Child(None, recipe.parent / f"{number}.notes", recipe.parent / f"{number}.errors")
    arguments = ["train", str(recipe), *options]
    process = context.Process(
        target=run_child,
        args=(arguments, str(child.notes), str(child.errors), fault, prepare, seconds_for_room),
    )
    process.start()
    return dataclasses.replace(child, process=process)


def run_child(
    arguments: list[str],
    notes: str,
    errors: str,
    fault: At | None,
    prepare: Callable[[], None] | None,
    seconds_for_room: float,
) -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    told = Path(notes).open("a")  # noqa: SIM115 - open as long as the process lives
    faulthandler.register(signal.SIGUSR1, told, all_threads=True)
    output = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    torch.set_num_threads(1)
    from headwise.cli import main
    from headwise.files import atomic

    atomic.PATIENCE, atomic.LOOK_EVERY = seconds_for_room, 0.05
    watch_files(str(Path(arguments[1]).parent), fault, told.fileno())
    if prepare is not None:
        prepare()
    status = main(arguments)
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(status)  # as soon as the command is done


def watch_files(folder: str, fault: At | None, notes: int) -> None:
    """Count the file operations of each phase under a folder, as Python itself tells of them, and let one fail."""
    counts: Counter[str] = Counter()
    inside = threading.local()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in FILE_EVENTS or getattr(inside, "busy", False):
            return
        if not isinstance(arguments[0], str | bytes | os.PathLike) or not os.fsdecode(arguments[0]).startswith(folder):
            return
        inside.busy = True
        try:
            phase = current_phase()
            counts[phase] += 1
            os.write(notes, f"{phase} {counts[phase]}\n".encode())
            if fault is not None and phase == fault.phase and 0 <= counts[phase] - fault.count <= fault.more:
                os.write(notes, f"fault in {phase}\n".encode())
                if fault.action == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                if changes(event, arguments):
                    raise OSError(28, "No space left on device")
        finally:
            inside.busy = False

    sys.addaudithook(hook)


def changes(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an operation needs room: reading and removing do not."""
    if event == "open":
        return bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
    return event in ("os.rename", "os.mkdir")


def events_of(child: Child) -> Counter[str]:
    """How many file operations each phase had."""
    counts: Counter[str] = Counter()
    for phase, count in re.findall(r"^(\D+) (\d+)$", child.notes.read_text(), re.MULTILINE):
        counts[phase] = max(counts[phase], int(count))
    return counts


# --- what a disturbed run is compared with --------------------------------------------------------------


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing happened to: what the others are compared with."""

    tables: dict[str, Any]
    folder: Path
    seconds: float
    events: Counter[str]


def undisturbed(folder: Path, tables: dict[str, Any]) -> Undisturbed:
    warm()
    began = time.monotonic()
    child = start(write_recipe(folder, tables, "undisturbed"))
    assert child.wait(120) == 0, child.said()
    return Undisturbed(tables, folder / "undisturbed", time.monotonic() - began, events_of(child))


# --- what must hold ------------------------------------------------------------------------------------


def check_folder_is_whole(run: Path) -> int:
    """Every checkpoint that shows can be read, and so can the model; returns the newest step."""
    found = checkpoints(run)
    for path in found:
        assert load_weights(path)
        assert read_state(path).step == step_of(path)
    if found:
        load(run)
    return step_of(found[-1]) if found else 0


def step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def newest_step(run: Path) -> int:
    return max(map(step_of, checkpoints(run)), default=0)


def last_logged(run: Path) -> int:
    return max((record["step"] for record in read_log(run)), default=0)


CLOCK = ("seconds", "tokens_per_second")
TIMED = {"README.md", "curves.png", "cost.json", "recipe.json", ".lock"}
"""Files in which the time or the place of a run is written."""


def check_same_end(expected: Path, found: Path) -> None:
    """The same files; the same weights, optimiser and random state, bit for bit; the same log and scores."""
    assert names(found) == names(expected)
    for name in sorted(names(expected)):
        one, other = expected / name, found / name
        if name.endswith(".safetensors"):
            left, right = load_tensors(one), load_tensors(other)
            assert left.keys() == right.keys(), name
            assert all(torch.equal(left[key], right[key]) for key in left), name
        elif name == "log.jsonl":
            assert without_clock(expected) == without_clock(found)
        elif name.endswith("state.json"):
            assert {**json.loads(one.read_text()), "seconds": 0} == {**json.loads(other.read_text()), "seconds": 0}
        elif Path(name).name not in {*TIMED, "manifest.json", "files.json"}:
            assert one.read_bytes() == other.read_bytes(), name


def names(run: Path) -> set[str]:
    return {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}


def without_clock(run: Path) -> list[dict[str, Any]]:
    return [{key: value for key, value in record.items() if key not in CLOCK} for record in read_log(run)]
