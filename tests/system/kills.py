"""Runs that are killed at random moments, and a count of what it cost them."""

import random
import shutil
import signal
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.system.faults import (
    AT_FIRST,
    NAMED,
    STEPPING,
    At,
    Undisturbed,
    check_folder_is_whole,
    check_same_end,
    last_logged,
    start,
    undisturbed,
)
from tests.system.runs import STEPS, VARIANTS, write_recipe


@dataclass
class Tally:
    """What many kills have cost."""

    kills: Counter[str] = field(default_factory=Counter)
    """By phase."""
    starts: int = 0
    resumed: int = 0
    """Starts that went on from a checkpoint."""
    runs: int = 0
    """That were brought to their end, each the same as the undisturbed one."""
    lost: list[int] = field(default_factory=list)
    """Steps that were taken and not saved, at each kill after the first step."""

    def table(self) -> str:
        rows = [(phase, str(self.kills[phase])) for phase in NAMED]
        rows.append(("all kills", str(self.kills.total())))
        rows.append(("runs brought to their end", str(self.runs)))
        rows.append(("final weights equal", f"{self.runs} of {self.runs}"))
        rows.append(("starts", str(self.starts)))
        rows.append(("went on from a checkpoint", str(self.resumed)))
        if self.lost:
            rows.append(("steps lost at a kill, mean", f"{statistics.mean(self.lost):.2f}"))
            rows.append(("steps lost at a kill, most", str(max(self.lost))))
        return "\n".join(f"{name:<28}{value:>9}" for name, value in rows)


def kill_runs(
    folder: Path,
    kills: int,
    seed: int,
    variants: list[str],
    say: Callable[[str], None] = lambda text: None,
    most_in_a_run: int = 12,
) -> Tally:
    """Kill runs of each variant in turn, until there were so many kills; each run is brought to its end."""
    rng, tally = random.Random(seed), Tally()
    wholes: dict[str, Undisturbed] = {}
    for name in variants:
        (folder / name).mkdir()
        wholes[name] = undisturbed(folder / name, VARIANTS[name](folder / name))
    while tally.kills.total() < kills:
        name = variants[tally.runs % len(variants)]
        kill_a_run(folder / name, wholes[name], min(most_in_a_run, kills - tally.kills.total()), rng, tally)
        say(f"{tally.kills.total()} kills, {tally.runs} runs")
    return tally


def kill_a_run(folder: Path, whole: Undisturbed, most: int, rng: random.Random, tally: Tally) -> None:
    """A run from its beginning to its end, killed up to `most` times."""
    recipe, run = write_recipe(folder, whole.tables), folder / "run"
    reached = 0
    for _ in range(most):
        fault = random_file_operation(whole, run, rng) if rng.random() < 0.6 else None
        child = start(recipe, fault=fault)
        tally.starts += 1
        tally.resumed += reached > 0
        # Any moment of what is left of the run, which a start on prepared data is through sooner.
        left = whole.seconds * (1 - 0.8 * reached / STEPS)
        status = child.wait(None if fault else rng.uniform(0, left))
        if status == 0:  # the moment was after its end
            break
        assert status in (None, -signal.SIGKILL), f"{status}: {child.said()}"
        phase = child.phase_of_fault() if status else child.kill()
        tally.kills[phase] += 1
        now = check_folder_is_whole(run) if run.exists() else 0
        assert now >= reached, f"step {reached} was saved, and now the newest is {now}"
        if phase in STEPPING:
            tally.lost.append(max(last_logged(run) - now, 0))
        reached = now
    else:
        child = start(recipe)
        tally.starts += 1
        tally.resumed += reached > 0
        assert child.wait(120) == 0, child.said()
    check_same_end(whole.folder, run)
    tally.runs += 1
    shutil.rmtree(run)
    for path in (*folder.glob("*.notes"), *folder.glob("*.errors")):
        path.unlink()


def random_file_operation(whole: Undisturbed, run: Path, rng: random.Random) -> At:
    """One that this start is likely to come to: each phase is as likely as another, however short it is."""
    later = [phase for phase in whole.events if phase not in AT_FIRST]
    if (run / "data.json").exists():
        phase = rng.choice(later)
        # A run that goes on has fewer operations before it than one from the beginning.
        return At(phase, rng.randint(1, max(1, whole.events[phase] // rng.choice([1, 2, 4, 8]))))
    phase = rng.choice([phase for phase in whole.events if phase in AT_FIRST] * 2 + later)
    return At(phase, rng.randint(1, whole.events[phase]))
