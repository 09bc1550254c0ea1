"""Progress of a run on the console (a bar or plain lines), in a JSONL log, and in TensorBoard on request."""

import contextlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from headwise.errors import CheckpointError
from headwise.extras import require
from headwise.files.atomic import FULL, write_text
from headwise.metrics import shown
from headwise.train.report.energy import EnergyMeter

LOG = "log.jsonl"

QUIET = 60.0
"""Seconds without output after which a run without a terminal prints its progress."""


class RunReporter:
    """Reports a run on the console, in `log.jsonl` and, on request, in TensorBoard. Use as a context manager."""

    def __init__(
        self,
        run: Path,
        steps: int,
        *,
        tensorboard: bool = False,
        stream: TextIO | None = None,
        unit: str = "tokens",
        log_every: int = 1,
    ) -> None:
        self._log = run / LOG
        self._log_every = log_every
        self._stream = stream or sys.stderr
        self._steps = steps
        self._unit = unit
        self._bar: Progress | None = None
        self._task: Any = None
        self._board: Any = None
        self._make_board = _tensorboard(run) if tensorboard else None
        self._meter = EnergyMeter()
        self._used = 0.0
        """Watt-hours that earlier starts used."""
        self._last = (time.perf_counter(), 0.0)
        self._begun = (time.perf_counter(), 0)
        """When this start began, and after which step."""
        self._printed: float | None = None
        """When progress was last printed; None: not yet."""
        self._figures = ""
        self._unwritten = ""
        """Lines of the log that could not be written to a full disk."""

    def __enter__(self) -> "RunReporter":
        if self._stream.isatty():
            self._bar = progress_bar(self._stream, "step {task.completed:,}/{task.total:,}")
            self._bar.start()
            self._task = self._bar.add_task("train", total=self._steps, figures="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._unwritten:
            self._write_lines()
        if self._bar is not None:
            with _ignoring_closed_output():
                self._bar.stop()
        if self._board is not None:
            self._board.close()

    def started(self, step: int, tokens: int) -> None:
        """Remove later steps from the log: they are about to be repeated."""
        remaining = [record for record in read_log(self._log.parent) if record["step"] <= step]
        write_text(self._log, "".join(json.dumps(record) + "\n" for record in remaining))
        self._used = next((used for record in reversed(remaining) if (used := record.get("watt_hours"))), 0.0)
        self._last = (time.perf_counter(), tokens)
        self._begun = (time.perf_counter(), step)
        if self._make_board is not None:
            self._board = self._make_board(step + 1)
        if self._bar is not None:
            self._bar.update(self._task, completed=step)

    def stepped(self, step: int, nll: float) -> None:
        """Move the bar, or print progress now and then: steps of a large model take seconds, and log records are many
        steps apart."""
        if self._bar is None:
            soon = step % self._log_every == 0 or step == self._steps
            if not soon and (self._printed is None or time.perf_counter() - self._printed >= QUIET):
                left = "" if self._printed is None else f"  left {duration(self._left(step))}"  # the first step is slow
                self._print_progress(f"step {step:,}/{self._steps:,}  loss {nll:.3f}{left}")
        else:
            figures = self._figures or f"loss {nll:.3f}"
            with _ignoring_closed_output():
                self._bar.update(self._task, completed=step, figures=figures)

    def trained(self, record: dict[str, float]) -> None:
        speed = self._speed(record)
        used = self._meter.watt_hours()
        energy = {} if used is None else {"watt_hours": self._used + used}
        self._write({"kind": "train", **record, "tokens_per_second": speed, **energy})
        figures = f"loss {record['nll']:.3f}  lr {record['learning_rate']:.2e}  {speed:,.0f} {self._unit}/s"
        if self._bar is not None:
            self._figures = figures
            self.stepped(int(record["step"]), record["nll"])
        else:
            left = (self._steps - record["step"]) * record["seconds"] / record["step"]
            self._print_progress(f"step {record['step']:,}/{self._steps:,}  {figures}  left {duration(left)}")

    def validated(self, record: dict[str, float], best: bool, seconds: float = 0.0) -> None:
        self._write({"kind": "valid", **record, "best": best})
        figures = "  ".join(shown(name, value) for name, value in record.items() if name != "step")
        self.note(f"step {record['step']:,}: validation {figures}{'  (best so far)' if best else ''}")
        self._last = (self._last[0] + seconds, self._last[1])  # validation is not training time

    def note(self, text: str) -> None:
        if self._bar is not None:
            with _ignoring_closed_output():
                self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)
        else:
            self._line(text)

    def _speed(self, record: dict[str, float]) -> float:
        now, tokens = time.perf_counter(), record["tokens"]
        then, before = self._last
        self._last = (now, tokens)
        return (tokens - before) / max(now - then, 1e-9)

    def _left(self, step: int) -> float:
        """Seconds left, estimated from the speed since this start."""
        begun, before = self._begun
        return (self._steps - step) * (time.perf_counter() - begun) / max(1, step - before)

    def _print_progress(self, text: str) -> None:
        self._printed = time.perf_counter()
        self._line(text)

    def _line(self, text: str) -> None:
        with _ignoring_closed_output():
            print(text, file=self._stream, flush=True)

    def _write(self, record: dict[str, Any]) -> None:
        finite = {name: value if _is_json(value) else None for name, value in record.items()}
        self._unwritten += json.dumps(finite, allow_nan=False) + "\n"
        self._write_lines()
        if self._board is not None:
            for name, value in record.items():
                if isinstance(value, float):
                    self._board.add_scalar(f"{record['kind']}/{name}", value, int(record["step"]))

    def _write_lines(self) -> None:
        try:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(self._unwritten)
        except OSError as error:
            if error.errno not in FULL:
                raise CheckpointError(f"could not write {self._log}: {error.strerror or error}") from error
            # This does not end the run: the next checkpoint waits for space, and the lines are written after it. Some
            # may have been written, the last one partly: `read_log` skips partial lines and repeated steps.
            self._unwritten = "\n" + self._unwritten.lstrip()
        else:
            self._unwritten = ""


def progress_bar(stream: TextIO, counted: str) -> Progress:
    """A progress bar with the count (`counted`, a template), text beside it (`figures`), and the time left."""
    return Progress(
        TextColumn(counted),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(file=stream),
        speed_estimate_period=120,
    )


def read_log(run: Path) -> list[dict[str, Any]]:
    """The records of a run's log so far."""
    path = run / LOG
    if not path.exists():
        return []
    records: dict[tuple[str, int], dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(json.JSONDecodeError):  # a run that was killed may leave a partial line
            record = json.loads(line)
            if isinstance(record, dict) and isinstance(record.get("step"), int) and isinstance(record.get("kind"), str):
                records[record["kind"], record["step"]] = record
    return list(records.values())


@contextlib.contextmanager
def _ignoring_closed_output() -> Iterator[None]:
    """Ignore errors of printing: a run does not end because its terminal is closed or its output is no longer read."""
    with contextlib.suppress(OSError, ValueError):  # ValueError: the stream was closed
        yield


def _is_json(value: Any) -> bool:
    """Whether JSON can represent a value: it has neither infinity nor NaN."""
    return not isinstance(value, float) or math.isfinite(value)


def duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


def check_tensorboard() -> None:
    """Refuse `train.tensorboard` where the package is not installed."""
    require("tensorboard", "train.tensorboard")


def _tensorboard(run: Path) -> Callable[[int], Any]:
    """A function that opens the TensorBoard writer at a step; records of that step and later ones are hidden."""
    check_tensorboard()
    from torch.utils.tensorboard import SummaryWriter

    return lambda step: SummaryWriter(run / "tensorboard", purge_step=step)
