"""What a person sees of a run: a progress bar or plain lines, a JSONL log, TensorBoard on request."""

import contextlib
import json
import math
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from headwise.atomic import write_text
from headwise.errors import ConfigError
from headwise.metrics import shown

LOG = "log.jsonl"


class RunReporter:
    """Console, `log.jsonl` and, if asked for, TensorBoard. Use as a context."""

    def __init__(
        self,
        run: Path,
        steps: int,
        *,
        tensorboard: bool = False,
        stream: TextIO | None = None,
        unit: str = "tokens",
    ) -> None:
        self._log = run / LOG
        self._stream = stream or sys.stderr
        self._steps = steps
        self._unit = unit
        self._bar: Progress | None = None
        self._task: Any = None
        self._board = _tensorboard(run) if tensorboard else None
        self._last = (time.perf_counter(), 0.0)
        self._figures = ""

    def __enter__(self) -> "RunReporter":
        if self._stream.isatty():
            self._bar = Progress(
                TextColumn("step {task.completed:,}/{task.total:,}"),
                BarColumn(),
                TextColumn("{task.fields[figures]}"),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=Console(file=self._stream),
                speed_estimate_period=120,
            )
            self._bar.start()
            self._task = self._bar.add_task("train", total=self._steps, figures="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._board is not None:
            self._board.close()

    def started(self, step: int, tokens: int) -> None:
        """Forget what the log says of later steps, which will be taken again."""
        kept = [record for record in read_log(self._log.parent) if record["step"] <= step]
        write_text(self._log, "".join(json.dumps(record) + "\n" for record in kept))
        self._last = (time.perf_counter(), tokens)
        if self._bar is not None:
            self._bar.update(self._task, completed=step)

    def stepped(self, step: int, nll: float) -> None:
        """Move the bar: a step of a large model takes seconds, and lines of the log are many steps apart."""
        if self._bar is not None:
            figures = self._figures or f"loss {nll:.3f}"
            self._bar.update(self._task, completed=step, figures=figures)

    def trained(self, record: dict[str, float]) -> None:
        speed = self._speed(record)
        self._write({"kind": "train", **record, "tokens_per_second": speed})
        figures = f"loss {record['nll']:.3f}  lr {record['learning_rate']:.2e}  {speed:,.0f} {self._unit}/s"
        if self._bar is not None:
            self._figures = figures
            self.stepped(int(record["step"]), record["nll"])
        else:
            left = (self._steps - record["step"]) * record["seconds"] / record["step"]
            self._line(f"step {record['step']:,}/{self._steps:,}  {figures}  left {_duration(left)}")

    def validated(self, record: dict[str, float], best: bool) -> None:
        self._write({"kind": "valid", **record, "best": best})
        figures = "  ".join(shown(name, value) for name, value in record.items() if name != "step")
        self.note(f"step {record['step']:,}: validation {figures}{'  (best so far)' if best else ''}")
        self._last = (time.perf_counter(), self._last[1])  # validating is not training time

    def note(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)
        else:
            self._line(text)

    def _speed(self, record: dict[str, float]) -> float:
        now, tokens = time.perf_counter(), record["tokens"]
        then, before = self._last
        self._last = (now, tokens)
        return (tokens - before) / max(now - then, 1e-9)

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def _write(self, record: dict[str, Any]) -> None:
        finite = {name: value if _sayable(value) else None for name, value in record.items()}
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(finite, allow_nan=False) + "\n")
        if self._board is not None:
            for name, value in record.items():
                if isinstance(value, float):
                    self._board.add_scalar(f"{record['kind']}/{name}", value, int(record["step"]))


def read_log(run: Path) -> list[dict[str, Any]]:
    """The records of a run so far."""
    path = run / LOG
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):  # a run that was killed may leave half a line
            records.append(json.loads(line))
    return records


def _sayable(value: Any) -> bool:
    """JSON has no word for infinity and none for what is not a number."""
    return not isinstance(value, float) or math.isfinite(value)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


def _tensorboard(run: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("train.tensorboard needs the package tensorboard: pip install tensorboard") from None
    return SummaryWriter(run / "tensorboard")
