"""headwise average, headwise info"""

import argparse
import json
from pathlib import Path
from typing import Any

from headwise.cli.options import add_command


def add_average(commands: Any) -> None:
    command = add_command(
        commands,
        "average",
        run_average,
        "Write a model whose weights are the mean of several checkpoints' (often better than each).",
        """
headwise average my-model/checkpoints/step-* --out my-model-averaged
""",
    )
    command.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT")
    command.add_argument("--out", required=True, metavar="DIR")


def run_average(args: argparse.Namespace) -> int:
    from headwise.train.averages import average_checkpoints

    average_checkpoints([Path(path) for path in args.checkpoints], Path(args.out))
    print(f"wrote the mean of {len(args.checkpoints)} to {args.out}")
    return 0


def add_info(commands: Any) -> None:
    command = add_command(
        commands,
        "info",
        run_info,
        "What a model folder holds; without one, what this installation has.",
        """
headwise info
headwise info my-model
""",
    )
    command.add_argument("folder", nargs="?", metavar="DIR")
    command.add_argument("--json", action="store_true", help="print JSON")


def run_info(args: argparse.Namespace) -> int:
    from headwise.info import describe_folder, describe_installation

    facts = describe_folder(Path(args.folder)) if args.folder else describe_installation()
    if args.json:
        print(json.dumps(facts, ensure_ascii=False))
    else:
        width = max(map(len, facts))
        for name, value in facts.items():
            print(f"{name:{width}}  {f'{value:,}' if isinstance(value, int) else value}")
    return 0
