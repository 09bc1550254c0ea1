"""The cost of a run: time, operations, energy."""

import statistics
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Job
from headwise.train.report.console import read_log
from headwise.train.report.flops import flops_per_unit


@dataclass(frozen=True)
class Cost:
    """The cost of a whole run, including earlier starts."""

    seconds: float
    """Time of training, validation and checkpoints, without data preparation and the final test."""
    units: int
    unit: str
    """The unit that batches count: (target) tokens, examples, images."""
    units_per_second: float
    """The median over the log; validation and checkpoints do not count."""
    flops: float | None
    """Floating-point operations; see flops.py."""
    watt_hours: float | None
    """Energy that the GPUs used, if they report it."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"wall time {timedelta(seconds=round(self.seconds))}",
            f"speed {self.units_per_second:,.0f} {self.unit}/s, {self.units:,} in all",
        ]
        if self.flops is not None:
            lines.append(f"FLOPs {self.flops:.2e}, {self.flops / max(self.seconds, 1e-9):.2e} per second")
        if self.watt_hours is not None:
            lines.append(f"energy {self.watt_hours:,.2f} Wh")
        return "\n".join(lines)

    @property
    def section(self) -> str:
        """The section of the model card."""
        return f"## Cost\n\n```\n{self}\n```\n\nFLOPs: six per multiply-add of the forward pass, for real tokens.\n"


def training_cost(run: Path, job: Job, progress: RunState) -> Cost:
    trained = [record for record in read_log(run) if record["kind"] == "train"]
    speeds = [speed for record in trained if (speed := record.get("tokens_per_second"))]
    energy = [used for record in trained if (used := record.get("watt_hours")) is not None]
    flops = flops_per_unit(job)
    return Cost(
        seconds=progress.seconds,
        units=progress.tokens,
        unit=job.unit,
        units_per_second=statistics.median(speeds) if speeds else progress.tokens / max(progress.seconds, 1e-9),
        flops=None if flops is None else flops * progress.tokens,
        watt_hours=energy[-1] if energy else None,
    )
