"""The command `headwise models`: the models that have a name."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from headwise.cli.options import add_command

if TYPE_CHECKING:
    from headwise.model_list import ListedModel


def add_models(commands: Any) -> None:
    command = add_command(
        commands,
        "models",
        run_models,
        "List the models that have a name: the bundled one and your own, with languages, size and scores.",
        """
headwise models
headwise models --paths

A name works wherever a model's folder does: headwise translate --model NAME. To name a model, move or copy its folder,
or link to it, into the models folder, which the last line shows; $HEADWISE_MODELS names another one. `headwise info
NAME` shows all about a model.
""",
    )
    command.add_argument("--paths", action="store_true", help="show where each model is")
    command.add_argument("--json", action="store_true", help="print one JSON object per model, with all details")


def run_models(args: argparse.Namespace) -> int:
    from headwise.bundled.find import models_folder
    from headwise.model_list import list_models

    models = list_models()
    if args.json:
        for model in models:
            print(json.dumps(model.as_dict(), ensure_ascii=False))
        return 0
    rows = [("name", "for", "size", "weights", "BLEU"), *map(columns, models)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, path in zip(rows, ["path", *(model.path for model in models)], strict=True):
        shown = [f"{value:{width}}" for value, width in zip(row, widths, strict=True)]
        print("  ".join([*shown, *([path] if args.paths else [])]).rstrip())
    print(f"your models folder: {models_folder()}")
    return 0


def columns(model: "ListedModel") -> tuple[str, str, str, str, str]:
    if model.problem:
        why = f"(damaged or unknown: see `headwise info {model.name}`)" if model.path else "(not installed)"
        return model.name, why, "", "", ""
    size = f"{model.bytes / 1e6:,.1f} MB"
    return model.name, model.directions or model.kind, size, model.precision, model.scores
