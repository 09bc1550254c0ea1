"""The command `headwise info`: what a model folder or this installation contains."""

import argparse
import json
from collections.abc import Iterator
from typing import Any

from headwise.cli.options import add_command


def add_info(commands: Any) -> None:
    command = add_command(
        commands,
        "info",
        run_info,
        "Show what a model folder contains; without one, what is installed, and which engines run here.",
        """
headwise info
headwise info my-model
headwise info bundled
""",
    )
    command.add_argument(
        "folder", nargs="?", metavar="DIR", help="a model: its name, or its folder, training run or checkpoint"
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values to print; the entries of a nested table are indented below its name."""
    for name, value in facts.items():
        if isinstance(value, dict):
            yield name, ""
            yield from ((f"  {each}", shown) for each, shown in lines(value))
        else:
            yield name, f"{value:,}" if isinstance(value, int) else str(value)


def run_info(args: argparse.Namespace) -> int:
    from headwise.info import describe_folder, describe_installation

    facts = describe_folder(args.folder) if args.folder else describe_installation()
    if args.json:
        print(json.dumps(facts, ensure_ascii=False))
    else:
        rows = list(lines(facts))
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            print(f"{name:{width}}  {value}".rstrip())
    return 0
