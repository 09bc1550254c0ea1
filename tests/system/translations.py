"""Files whose translation is killed at random moments, alone or in parts, and a count of what it cost."""

import itertools
import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from headwise.decode.bulk.partial import saved_by_all
from headwise.decode.bulk.share import Share
from headwise.models.folder.load import save_model
from tests.system.faults import At, warm, watch_files
from tests.taught import SOURCES, taught

LINES = [*SOURCES, "", "The dog.", " ".join(SOURCES[:3])] * 12


@dataclass
class Tally:
    """What many kills have cost."""

    kills: int = 0
    at_files: int = 0
    """Of them, right before a file operation."""
    files: int = 0
    """That were brought to their end, each the same as the undisturbed one."""
    in_parts: int = 0
    """Of them, by three processes."""
    starts: int = 0
    saved: list[int] = field(default_factory=list)
    """Lines that were certain at each kill."""

    def table(self) -> str:
        rows = [
            ("kills", self.kills),
            ("  right before a file operation", self.at_files),
            ("starts", self.starts),
            ("lines certain at a kill, median", statistics.median(self.saved)),
            ("files brought to their end", self.files),
            ("  by three processes", self.in_parts),
            ("equal to the undisturbed file", f"{self.files} of {self.files}"),
        ]
        return "\n".join(f"{name:<36}{value:>9}" for name, value in rows)


def prepare(folder: Path) -> list[str]:
    """A model and a text; the arguments that translate it, but for the output."""
    save_model(folder / "model", taught())
    (folder / "in.en").write_text("".join(f"{line}\n" for line in LINES))
    files = ["--model", str(folder / "model"), "--input", str(folder / "in.en")]
    return ["translate", *files, "--device", "cpu", "--json", "--sample", "--candidates", "2"]


def start(arguments: list[str], out: Path, fault: At | None = None, seconds_for_room: float = 0.2) -> Any:
    """`headwise translate` in a process of its own, which saves often; what it says goes to `OUT.errors`."""
    process = warm().Process(target=run_child, args=([*arguments, "--output", str(out)], out, fault, seconds_for_room))
    process.start()
    return process


def run_child(arguments: list[str], out: Path, fault: At | None, seconds_for_room: float) -> None:
    errors = os.open(said_path(out), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    torch.set_num_threads(1)
    from headwise.cli import main
    from headwise.decode.bulk import grouping, line_job
    from headwise.files import atomic

    atomic.PATIENCE, atomic.LOOK_EVERY = seconds_for_room, 0.05
    line_job.SAVE_EVERY, grouping.CPU_GROUP_TOKENS, grouping.WINDOW_LINES = 0.02, 300, 100
    watch_files(str(out.parent), fault, os.open(os.devnull, os.O_WRONLY))
    status = main(arguments)
    sys.stderr.flush()
    os._exit(status)


def said_path(out: Path) -> Path:
    return out.parent.parent / f"{out.name}.errors"  # not on the disk that may be full


def undisturbed(arguments: list[str], out: Path) -> tuple[bytes, float]:
    """The file, and how long it took."""
    out.parent.mkdir(exist_ok=True)
    warm()
    began = time.monotonic()
    process = start(arguments, out)
    process.join(120)
    assert process.exitcode == 0, said_path(out).read_text()
    return out.read_bytes(), time.monotonic() - began


def kill_translations(folder: Path, kills: int, seed: int, say: Callable[[str], None] = lambda text: None) -> Tally:
    """Translate the same file again and again, killing the processes, until there were so many kills."""
    rng, tally = random.Random(seed), Tally()
    arguments = prepare(folder)
    expected, seconds = undisturbed(arguments, folder / "whole" / "out")
    for number in itertools.count():
        if tally.kills >= kills:
            return tally
        out = folder / str(number) / "out"
        out.parent.mkdir()
        shares = Share(0, 3 if number % 2 else 1).all()
        most = min(tally.kills + 12, kills)
        while tally.kills < most and not finished(out):
            disturbed(arguments, out, shares, seconds, rng, tally)
        for share in shares:  # the rest, undisturbed; whichever is the last puts the parts together
            process = start([*arguments, *part(share)], out)
            process.join(120)
            tally.starts += 1
            assert process.exitcode == 0, said_path(out).read_text()
        assert out.read_bytes() == expected
        left = {path.name for path in out.parent.iterdir()} - {"out", "out.made.json"}
        assert not left, left
        assert "Traceback" not in said_path(out).read_text(), said_path(out).read_text()
        tally.files += 1
        tally.in_parts += len(shares) > 1
        said_path(out).unlink()
        say(f"{tally.kills} kills, {tally.files} files")
    raise AssertionError


def disturbed(
    arguments: list[str], out: Path, shares: list[Share], seconds: float, rng: random.Random, tally: Tally
) -> None:
    """All processes at once, each of which is killed."""
    processes = []
    for share in shares:
        fault = At("start-up", rng.randint(1, rng.choice([5, 20, 100, 400]))) if rng.random() < 0.5 else None
        processes.append((start([*arguments, *part(share)], out, fault), fault))
        tally.starts += 1
    for process, fault in processes:
        process.join(None if fault else rng.uniform(0, seconds))
        if process.exitcode is None:
            process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            tally.kills += 1
            tally.at_files += fault is not None
            tally.saved.append(saved_by_all(out, shares[0]).lines)
        else:
            assert process.exitcode == 0, said_path(out).read_text()


def part(share: Share) -> list[str]:
    return [] if share.count == 1 else ["--shard", f"{share.number + 1}/{share.count}"]


def finished(out: Path) -> bool:
    return out.exists() and not list(out.parent.glob("out.partial*.json"))
