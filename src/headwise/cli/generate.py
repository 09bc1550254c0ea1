"""headwise generate"""

import argparse
import json
from dataclasses import replace
from typing import Any

from headwise.cli.options import (
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
        "Continue texts with a language model; a single text is shown while it is written.",
        """
headwise generate --model my-gpt "Once upon a time"
headwise generate --model smollm2.Q4_1.gguf "Once upon a time" --sample --temperature 0.8 --top-p 0.9
headwise generate --model smollm2.gguf --input prompts.txt --json --max-tokens 50

With --nbest above 1 the number of the prompt comes first, and a tab.
""",
    )
    add_texts(command, "continue")
    add_model(command)
    command.add_argument("--max-tokens", type=positive, default=200, metavar="N", help="longest text (default: 200)")
    command.add_argument("--beam", type=positive, default=1, metavar="N", help="beam width (default: 1, greedy)")
    command.add_argument("--nbest", type=positive, default=1, metavar="N", help="candidates a prompt (default: 1)")
    command.add_argument("--no-repeat", type=int, default=0, metavar="N", help="no n-gram of this size twice")
    add_sampling(command)


def run_generate(args: argparse.Namespace) -> int:
    from headwise.decode.generator import GenerateOptions, Generator

    options = GenerateOptions(
        max_tokens=args.max_tokens,
        beam=args.beam,
        nbest=args.nbest,
        no_repeat=args.no_repeat,
        sampling=sampling(args),
        seed=args.seed,
    )
    texts = given_texts(args, "continue")
    generator = Generator(model_folder(args), args.device)
    single = len(args.text) == 1 and args.beam == args.nbest == 1 and not args.json and not args.output
    if single:
        unsaid = iter(args.text)  # with the first piece: before there is one, something may be wrong
        generator.generate(args.text, options, watch=lambda piece: print(next(unsaid, "") + piece, end="", flush=True))
        print(next(unsaid, ""))
        return 0
    done = 0
    with output(args.output) as file:
        for chunk in texts:
            for result in generator.generate(chunk, replace(options, seed=args.seed + done)):
                done += 1
                for candidate in result.nbest:
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
                        number = f"{done}\t" if args.nbest > 1 else ""
                        print(number + candidate.prompt + candidate.text, file=file)
            file.flush()
    return 0
