"""The command `headwise detect`: the language of texts."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from headwise.cli.options import add_command, add_texts, given_texts, output

if TYPE_CHECKING:
    from headwise.text.language.detect import Detection


def add_detect(commands: Any) -> None:
    command = add_command(
        commands,
        "detect",
        run_detect,
        "Detect the language of texts, line by line.",
        """
headwise detect "Guten Morgen" "Where is the station?"
headwise detect --languages en,de,fr,it,hi --input lines.txt
cat lines.txt | headwise detect --json

Columns: language code, its probability, the text. The code is `und` (undetermined) for a text without words, such as a
number or a URL, and where no language is probable enough.
""",
    )
    add_texts(command, "detect the language of")
    command.add_argument(
        "--languages",
        type=codes,
        metavar="L,L,...",
        help="codes of the languages to choose from; fewer are told apart better (default: all 139 known ones)",
    )


def codes(text: str) -> list[str]:
    return text.replace(",", " ").split()


def run_detect(args: argparse.Namespace) -> int:
    from headwise.text.language.detect import detect

    texts = given_texts(args, "detect the language of")
    detect("", languages=args.languages)  # languages that are not known: an error before an output is opened
    with output(args.output) as file:
        for chunk in texts:
            for text, found in zip(chunk, detect(chunk, languages=args.languages), strict=True):
                print(shown(text, found, args.json), file=file)
            file.flush()
    return 0


def shown(text: str, found: "Detection", as_json: bool) -> str:
    if as_json:
        record = {
            "text": text,
            "language": found.language,
            "probability": found.probability,
            "probabilities": found.probabilities,
        }
        return json.dumps(record, ensure_ascii=False)
    return f"{found.language}\t{found.probability:.4f}\t{text}"
