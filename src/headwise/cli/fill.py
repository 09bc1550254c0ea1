"""The command `headwise fill`: blanks filled in by a masked language model."""

import argparse
import json
from typing import IO, TYPE_CHECKING, Any

from headwise.cli.console import say
from headwise.cli.options import add_command, add_model, add_texts, given_texts, model_folder, output, positive
from headwise.errors import DataError

if TYPE_CHECKING:
    from headwise.decode.filler import Candidate, Filler


def add_fill(commands: Any) -> None:
    command = add_command(
        commands,
        "fill",
        run_fill,
        "Fill in the blanks of texts with a masked language model.",
        """
headwise fill --model my-bert "The capital of France is ___."
headwise fill --model my-bert --top 3 --json "A ___ sat on the ___."

A blank is ___ or the model's own mask. Columns: probability, token, text. An empty line follows each blank; an empty
text gives one too.
""",
    )
    add_texts(command, "fill in")
    add_model(command)
    command.add_argument("--top", type=positive, default=5, metavar="N", help="candidates per blank (default: 5)")


def run_fill(args: argparse.Namespace) -> int:
    from headwise.decode.filler import Filler

    texts = given_texts(args, "fill in")
    filler = Filler(model_folder(args), device=args.device)
    what = "text" if args.text else "line"
    done = 0
    unknown: list[int] = []
    with output(args.output) as file:
        for chunk in texts:
            good, problem = up_to_a_problem(filler, chunk)
            filled = iter(filler.fill([text for text in good if text.strip()], args.top))
            for text in good:
                done += 1
                print_blanks(text, next(filled) if text.strip() else [], args.json, file)
                if text.strip() and filler.has_unknown(text):
                    unknown.append(done)
            file.flush()
            if problem is not None:
                raise DataError(f"{what} {done + 1}: {problem}")
    if unknown:
        others = f", and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        say(f"headwise: {what} {unknown[0]}{others}: has words that the model does not know")
    return 0


def up_to_a_problem(filler: "Filler", texts: list[str]) -> tuple[list[str], DataError | None]:
    """The texts before the first one that cannot be filled in, and its error."""
    for number, text in enumerate(texts):
        try:
            if text.strip():
                filler.ids(text)
        except DataError as error:
            return texts[:number], error
    return texts, None


def print_blanks(text: str, blanks: "list[list[Candidate]]", as_json: bool, file: IO[str]) -> None:
    if as_json:
        shown = [[{"token": c.token, "probability": c.probability, "text": c.text} for c in blank] for blank in blanks]
        print(json.dumps({"text": text, "blanks": shown}, ensure_ascii=False), file=file)
        return
    for blank in blanks:
        for candidate in blank:
            print(f"{candidate.probability:.4f}\t{candidate.token}\t{candidate.text}", file=file)
        print(file=file)
    if not blanks:
        print(file=file)
