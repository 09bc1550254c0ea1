"""headwise generate"""

import argparse
import json
from dataclasses import replace
from typing import Any

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
    single = len(args.text) == 1 and args.beam == args.candidates == 1 and not args.json and not args.output
    if single:
        (prompt,) = next(texts)
        unprinted = iter([prompt])  # printed with the first piece: an error may come before it
        generator.generate(
            prompt, options=options, watch=lambda piece: print(next(unprinted, "") + piece, end="", flush=True)
        )
        print(next(unprinted, ""))
        return 0
    done = 0
    with output(args.output) as file:
        for chunk in texts:
            for result in generator.generate(chunk, options=replace(options, seed=args.seed + done)):
                done += 1
                for candidate in result.candidates:
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
                        print(number + candidate.prompt + candidate.text, file=file)
            file.flush()
    return 0
