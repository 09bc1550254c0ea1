"""The command `headwise generate`: continuations by a language model."""

import argparse
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwise.cli.console import say
from headwise.cli.options import (
    add_candidates,
    add_command,
    add_model,
    add_sampling,
    add_texts,
    given_texts,
    model_folder,
    output,
    positive,
    sampling,
)

if TYPE_CHECKING:
    from headwise.decode.generator import GenerateOptions, Generator


def add_generate(commands: Any) -> None:
    command = add_command(
        commands,
        "generate",
        run_generate,
        "Continue texts with a language model; a single text is printed while it is generated.",
        """
headwise generate --model my-gpt "Once upon a time"
headwise generate --model smollm2.Q4_1.gguf "Once upon a time" --sample --temperature 0.8 --top-p 0.9
headwise generate --model smollm2.gguf --input prompts.txt --json --max-tokens 50

With --candidates above 1 the number of the prompt comes first, and a tab.
""",
    )
    add_texts(command, "continue")
    add_model(command)
    command.add_argument(
        "--max-tokens", type=positive, default=200, metavar="N", help="generate at most N tokens (default: 200)"
    )
    command.add_argument("--beam", type=positive, default=1, metavar="N", help="beam width; 1: greedy search (default)")
    add_candidates(command, "prompt")
    command.add_argument(
        "--no-repeat", type=int, default=0, metavar="N", help="no sequence of N tokens occurs twice (default: 0, off)"
    )
    add_sampling(command)


def run_generate(args: argparse.Namespace) -> int:
    from headwise.decode.generator import GenerateOptions, Generator

    options = GenerateOptions(
        max_tokens=args.max_tokens,
        beam=args.beam,
        candidates=args.candidates,
        no_repeat=args.no_repeat,
        sampling=sampling(args),
        seed=args.seed,
    )
    texts = given_texts(args, "continue")
    generator = Generator(model_folder(args), device=args.device)
    if len(args.text) == 1 and args.beam == args.candidates == 1 and not args.json and not args.output:
        print_while_generated(generator, next(texts)[0], options)
        return 0
    done = blank = 0
    with output(args.output) as file:
        for chunk in texts:
            for result in generator.generate(chunk, options=replace(options, seed=args.seed + done)):
                done += 1
                for candidate in result.candidates:
                    blank += candidate.text.isspace()
                    if args.json:
                        record = {
                            "prompt": candidate.prompt,
                            "text": candidate.text,
                            "score": candidate.score,
                            "tokens": candidate.tokens,
                            "finished": candidate.finished,
                        }
                        print(json.dumps(record, ensure_ascii=False), file=file)
                    else:
                        number = f"{done}\t" if args.candidates > 1 else ""
                        print(number + candidate.prompt + candidate.text.rstrip(), file=file)
            file.flush()
    note_blank(blank)
    return 0


def print_while_generated(generator: "Generator", prompt: str, options: "GenerateOptions") -> None:
    """Print a text piece by piece, without white space at its end: a model that repeats it would fill the screen."""
    unprinted = prompt  # printed with the first piece: an error may come before it

    def show(piece: str) -> None:
        nonlocal unprinted
        unprinted += piece
        if piece.strip():
            kept = unprinted.rstrip()
            print(kept, end="", flush=True)
            unprinted = unprinted[len(kept) :]

    text = generator.generate(prompt, options=options, watch=show).text
    print("" if text.strip() else prompt)
    note_blank(int(text.isspace()))


def note_blank(texts: int) -> None:
    if texts:
        say(
            f"headwise: only white space was generated for {texts} text{'s' * (texts > 1)}: train the model longer, or "
            "try --sample"
        )
