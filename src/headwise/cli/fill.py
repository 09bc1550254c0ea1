"""headwise fill"""

import argparse
import json
from typing import Any

from headwise.cli.options import add_command, add_model, add_texts, given_texts, model_folder, output, positive


def add_fill(commands: Any) -> None:
    command = add_command(
        commands,
        "fill",
        run_fill,
        "Fill in the blanks of texts with a masked language model.",
        """
headwise fill --model my-bert "The capital of France is ___."
headwise fill --model my-bert --top 3 --json "A ___ sat on the ___."

A blank is ___ or the model's own mask. Columns: probability, token, text; an empty line ends a blank.
""",
    )
    add_texts(command, "fill in")
    add_model(command)
    command.add_argument("--top", type=positive, default=5, metavar="N", help="candidates a blank (default: 5)")


def run_fill(args: argparse.Namespace) -> int:
    from headwise.decode.filler import Filler

    texts = given_texts(args, "fill in")
    filler = Filler(model_folder(args), args.device)
    with output(args.output) as file:
        for chunk in texts:
            for text, blanks in zip(chunk, filler.fill(chunk, args.top), strict=True):
                if args.json:
                    record = {
                        "text": text,
                        "blanks": [
                            [{"token": c.token, "probability": c.probability, "text": c.text} for c in blank]
                            for blank in blanks
                        ],
                    }
                    print(json.dumps(record, ensure_ascii=False), file=file)
                    continue
                for blank in blanks:
                    for candidate in blank:
                        print(f"{candidate.probability:.4f}\t{candidate.token}\t{candidate.text}", file=file)
                    print(file=file)
            file.flush()
    return 0
