"""The command `headwise average`: the mean of several checkpoints as one model."""

import argparse
from pathlib import Path
from typing import Any

from headwise.cli.options import add_command


def add_average(commands: Any) -> None:
    command = add_command(
        commands,
        "average",
        run_average,
        "Average the weights of several checkpoints into one model, which is often better than each of them.",
        """
headwise average my-model/checkpoints/step-* --out my-model-averaged
""",
    )
    command.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT", help="checkpoint folders")
    command.add_argument("--out", required=True, metavar="DIR", help="a new folder for the model")


def run_average(args: argparse.Namespace) -> int:
    from headwise.train.checkpoint.average import average_checkpoints

    average_checkpoints(args.checkpoints, Path(args.out))
    print(f"wrote the average of {len(args.checkpoints)} checkpoints to {args.out}")
    return 0
