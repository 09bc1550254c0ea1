"""Many faults, and a table of what they cost.

python -m tests.system --kills 200 --seed 0     kill runs at random moments
python -m tests.system --damage                 every kind of damage to every file of a run
python -m tests.system --translations 100       kill the translation of files, alone and in parts
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.system.damage import KINDS, damageable, go_on_damaged, half_way
from tests.system.faults import undisturbed
from tests.system.kills import kill_runs
from tests.system.runs import VARIANTS
from tests.system.translations import kill_translations


def damage_everything(folder: Path, seed: int, variants: list[str]) -> str:
    """The outcomes of all kinds of damage, as a table."""
    outcomes: Counter[tuple[str, str]] = Counter()
    for variant in variants:
        (folder / variant).mkdir()
        whole = undisturbed(folder / variant, VARIANTS[variant](folder / variant))
        run = half_way(whole)
        for file in damageable(run):
            for kind in KINDS:
                outcome = go_on_damaged(whole, run, file, kind, seed)
                outcomes[kind, outcome] += 1
                say(f"{variant}: {kind} of {file}: {outcome}")
    columns = ("equal", "refused", "told")
    lines = [f"{'damage':<12}" + "".join(f"{name:>9}" for name in columns)]
    lines += [f"{kind:<12}" + "".join(f"{outcomes[kind, name]:>9}" for name in columns) for kind in KINDS]
    sums = [sum(outcomes[kind, name] for kind in KINDS) for name in columns]
    return "\n".join([*lines, f"{'all':<12}" + "".join(f"{total:>9}" for total in sums)])


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.system", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--damage", action="store_true")
    parser.add_argument("--translations", type=int, default=0, metavar="KILLS")
    parser.add_argument("--seed", type=int, default=random.randrange(1000))
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    args = parser.parse_args()
    for wanted, work in (
        (args.kills, lambda folder: kill_runs(folder, args.kills, args.seed, args.variants, say).table()),
        (args.damage, lambda folder: damage_everything(folder, args.seed, args.variants)),
        (args.translations, lambda folder: kill_translations(folder, args.translations, args.seed, say).table()),
    ):
        if wanted:
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                print(work(Path(folder)))
            print(f"seed {args.seed}, {time.monotonic() - began:.0f} seconds")


main()
