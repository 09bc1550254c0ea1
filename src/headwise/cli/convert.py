"""headwise convert"""

import argparse
from pathlib import Path
from typing import Any

from headwise.cli.options import add_command


def add_convert(commands: Any) -> None:
    command = add_command(
        commands,
        "convert",
        run_convert,
        "Turn a published model into a Headwise folder, or a Headwise model into one that `transformers` loads.",
        """
headwise convert opus-mt-en-fr my-en-fr
headwise convert smollm2.Q4_1.gguf smollm2
headwise convert stories15M/model.bin stories
headwise convert my-model for-transformers --to huggingface

SRC is a Headwise folder, a Hugging Face folder (safetensors, or a .bin of weights alone), a .gguf file or a .bin of
llama2.c. Nothing in it is ever executed. A weight too many, too few or of another shape is an error.
""",
    )
    command.add_argument("source", metavar="SRC")
    command.add_argument("target", metavar="DST", help="a folder that is not there yet")
    command.add_argument("--to", choices=("headwise", "huggingface"), default="headwise", help="default: headwise")
    command.add_argument(
        "--as", dest="model_type", default="", metavar="TYPE", help="which of several fitting families"
    )


def run_convert(args: argparse.Namespace) -> int:
    from headwise.models.folder import convert

    description = convert(Path(args.source), Path(args.target), args.to, args.model_type)
    if description.tokenizer is None and description.config.family != "vision":
        print("no tokenizer was found: the folder holds config and weights alone")
    print(f"wrote {args.target}")
    return 0
