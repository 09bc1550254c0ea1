"""headwise inspect"""

import argparse
import json
from pathlib import Path
from typing import Any

from headwise.cli.options import add_command, add_languages, add_model, positive, translator
from headwise.errors import ConfigError


def add_inspect(commands: Any) -> None:
    command = add_command(
        commands,
        "inspect",
        run_inspect,
        "Show what every head attends to while a sentence is translated: a picture, or the numbers.",
        """
headwise inspect --model my-model "I ate an apple." --out apple.png
headwise inspect --model my-model "I ate an apple." --target "Ich aß einen Apfel." --out apple.svg
headwise inspect --model my-model "I ate an apple." --kind encoder --layer 1 --out layer1.png
headwise inspect --model my-model "I ate an apple." --out apple.json
""",
    )
    command.add_argument("text", metavar="TEXT")
    add_model(command)
    command.add_argument("--target", metavar="TEXT", help="the translation to look at (default: the model's own)")
    command.add_argument("--out", required=True, metavar="FILE", help=".png, .svg, .pdf or .json")
    add_languages(command)
    command.add_argument("--kind", choices=("cross", "encoder", "decoder"), default="cross")
    command.add_argument("--layer", type=positive, metavar="N", help="one layer alone, large (default: all)")


def run_inspect(args: argparse.Namespace) -> int:
    from headwise.atomic import write_text
    from headwise.inspect.attention import capture_attention
    from headwise.inspect.picture import draw_attention

    out = Path(args.out)
    if not out.parent.is_dir():
        raise ConfigError(f"{out}: there is no such folder")
    if out.suffix.lower() == ".json" and args.layer is not None:
        raise ConfigError("--layer chooses what a picture shows; .json holds every layer")
    maps = capture_attention(translator(args), args.text, args.target, args.source_language, args.target_language)
    if out.suffix.lower() == ".json":
        write_text(out, json.dumps(maps.as_dict(), ensure_ascii=False))
    else:
        draw_attention(maps, out, args.kind, args.layer)
    print(f"{args.text} -> {maps.text}\nwrote {out}")
    return 0
