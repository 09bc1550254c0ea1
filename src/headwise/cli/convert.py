"""The command `headwise convert`: models from and to other formats and precisions."""

import argparse
from pathlib import Path
from typing import Any

from headwise.cli.options import add_command
from headwise.errors import ConfigError


def add_convert(commands: Any) -> None:
    command = add_command(
        commands,
        "convert",
        run_convert,
        "Convert a published model into a Headwise folder, or a model into a folder that other programs load.",
        """
headwise convert opus-mt-en-fr my-en-fr
headwise convert smollm2.Q4_1.gguf smollm2
headwise convert my-model small-model --precision int8
headwise convert my-model for-transformers --to huggingface
headwise convert my-model fast-model --to ctranslate2 --precision int8

SRC is a Headwise folder, a Hugging Face folder (safetensors, or a .bin that holds only weights) or a .gguf file. No
code in it is ever executed. A missing or unknown weight, or one of another shape, is an error.

headwise: the native format; with --precision int8 a translator for CPUs, a quarter of the size. huggingface: for
`transformers`. ctranslate2: translators and language models, for ctranslate2.Translator and ctranslate2.Generator; it
needs headwise[export], and writes a program, translate.py, that uses the folder without Headwise (docs/export.md).
""",
    )
    command.add_argument("source", metavar="SRC", help="a model's folder, file or name")
    command.add_argument("target", metavar="DST", help="a new folder")
    command.add_argument(
        "--to",
        choices=("headwise", "huggingface", "ctranslate2"),
        default="headwise",
        help="format of DST (default: headwise)",
    )
    command.add_argument(
        "--precision",
        choices=("float32", "float16", "int8"),
        default="float32",
        help="number format of the weights; headwise: float32 or int8; huggingface: float32 (default: float32)",
    )
    command.add_argument(
        "--as",
        dest="model_type",
        default="",
        metavar="TYPE",
        help="model_type to write, if several fit the model (--to huggingface)",
    )


def run_convert(args: argparse.Namespace) -> int:
    source, target = Path(args.source), Path(args.target)
    if args.model_type and args.to != "huggingface":
        raise ConfigError(f"--as applies only to --to huggingface, not to --to {args.to}")
    if args.to == "ctranslate2":
        from headwise.models.export.export import export

        export(source, target, args.precision)
        print(f"wrote {args.target}: see its README.md")
        return 0
    from headwise.models.folder.load import convert

    if args.precision not in {"headwise": ("float32", "int8"), "huggingface": ("float32",)}[args.to]:
        others = "headwise or ctranslate2" if args.precision == "int8" else "ctranslate2"
        raise ConfigError(f"--precision {args.precision} is for --to {others}, not --to {args.to}")
    description = convert(source, target, args.to, args.model_type, args.precision)
    if description.tokenizer is None and description.config.family != "vision":
        print("no tokenizer was found: the folder has only config and weights")
    print(f"wrote {args.target}")
    return 0
