"""The command `headwise classify`: labels of texts, pairs of texts and images."""

import argparse
import json
from typing import Any

from headwise.cli.options import add_command, add_model, add_texts, given_texts, model_folder, output
from headwise.errors import ConfigError, DataError


def add_classify(commands: Any) -> None:
    command = add_command(
        commands,
        "classify",
        run_classify,
        "Classify texts, pairs of texts or images.",
        """
headwise classify --model sentiment "A wonderful film." "Two hours I want back."
headwise classify --model paraphrase --pairs --input pairs.tsv --output labels.tsv
headwise classify --model shirts --images shoe.png bag.png

Columns: label, its probability (or the value of a regression), the input. A pair is two texts separated by a tab.
""",
    )
    add_texts(command, "classify")
    add_model(command)
    command.add_argument("--pairs", action="store_true", help="each line holds two texts, separated by a tab")
    command.add_argument("--images", nargs="+", metavar="FILE", help="images to classify")


def run_classify(args: argparse.Namespace) -> int:
    from headwise.decode.labeller import Labeller

    if args.images:
        if args.text or args.input or args.pairs:
            raise ConfigError("--images classifies images: leave out texts, --input and --pairs")
        from headwise.decode.pictures import read_images

        labeller = Labeller(model_folder(args), device=args.device)
        labeller.check_takes_images()  # before files are read
        pictures = read_images(labeller.loaded, args.images)
        with output(args.output) as file:
            for name, label in zip(args.images, labeller.classify_images(pictures), strict=True):
                print(shown(label, name, args.json), file=file)
        return 0
    texts = given_texts(args, "classify")
    labeller = Labeller(model_folder(args), device=args.device)
    labeller.text_tokenizer()  # before an output is opened
    with output(args.output) as file:
        for chunk in texts:
            first, second = chunk, None
            if args.pairs:
                split = [line.split("\t") for line in chunk]
                for line in split:
                    if len(line) != 2:
                        raise DataError(f"a pair is two texts separated by a tab, not {len(line)}: {line[0]!r}")
                first, second = [line[0] for line in split], [line[1] for line in split]
            for text, label in zip(chunk, labeller.classify(first, second), strict=True):
                print(shown(label, text, args.json), file=file)
            file.flush()
    return 0


def shown(label: Any, text: str, as_json: bool) -> str:
    if as_json:
        record = {"text": text, "label": label.label, "score": label.score, "probabilities": label.probabilities}
        return json.dumps(record, ensure_ascii=False)
    return f"{label.label}\t{label.score:.4f}\t{text}"
