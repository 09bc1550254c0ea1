"""headwise translate"""

import argparse
import json
import sys
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

from headwise.cli.options import (
    Counter,
    add_beam,
    add_command,
    add_languages,
    add_model,
    add_sampling,
    add_texts,
    given_texts,
    output,
    positive,
    sampling,
    translator,
)

if TYPE_CHECKING:
    from headwise.decode.translator import Translation


def add_translate(commands: Any) -> None:
    command = add_command(
        commands,
        "translate",
        run_translate,
        "Translate texts, a file or standard input, line by line.",
        """
headwise translate --model my-model "I ate an apple."
headwise translate --model my-model --input book.en.xz --output book.de --beam 1
cat lines.txt | headwise translate --model my-model --nbest 3 --scores --alignments
headwise translate --model many --from en --to fr --json "Good morning."

Columns are separated by tabs: with --nbest above 1 the number of the input line; with --scores the score;
the text; with --alignments the word alignment (source-target, from 0).
""",
    )
    add_texts(command, "translate")
    add_model(command)
    add_languages(command)
    add_beam(command)
    command.add_argument("--nbest", type=positive, default=1, metavar="N", help="candidates a line (default: 1)")
    command.add_argument("--scores", action="store_true", help="show log-probability / length^penalty")
    command.add_argument("--alignments", action="store_true", help="show word alignments, Pharaoh format")
    command.add_argument("--length-penalty", type=float, default=1.0, metavar="A", help="exponent (default: 1)")
    command.add_argument(
        "--max-ratio",
        type=float,
        default=2.0,
        metavar="R",
        help="longest translation, times the source (default: 2)",
    )
    command.add_argument("--no-repeat", type=int, default=0, metavar="N", help="no n-gram of this size twice")
    command.add_argument("--prefix", default="", metavar="TEXT", help="how every translation has to start")
    add_sampling(command)


def run_translate(args: argparse.Namespace) -> int:
    from headwise.decode.translator import TranslateOptions

    drawing = sampling(args)
    if args.nbest > args.beam and drawing is None:
        args.beam = args.nbest
    options = TranslateOptions(
        beam=args.beam,
        nbest=args.nbest,
        length_penalty=args.length_penalty,
        max_ratio=args.max_ratio,
        no_repeat=args.no_repeat,
        sampling=drawing,
        seed=args.seed,
        alignments=args.alignments or args.json,
    )
    texts = given_texts(args, "translate")
    engine = translator(args)
    engine.direction(args.source_language, args.target_language)
    done = 0
    with output(args.output) as file, Counter(bool(args.output), "sentences") as counter:
        for chunk in texts:
            results = engine.translate(
                chunk,
                args.source_language,
                args.target_language,
                prefix=args.prefix,
                options=replace(options, seed=args.seed + done),  # or each chunk would draw the same
            )
            for text, result in zip(chunk, results, strict=True):
                done += 1
                print_translation(text, result, done, args, file)
                if not result.complete:
                    print(f"headwise: line {done}: cut off at the length limit (--max-ratio)", file=sys.stderr)
            file.flush()
            counter.show(done)
    return 0


def print_translation(text: str, result: "Translation", number: int, args: argparse.Namespace, file: IO[str]) -> None:
    from headwise.decode.alignment import pharaoh

    candidates = result.nbest or [result]
    if args.json:
        record = {"source": text, **as_json(result)}
        if args.nbest > 1:
            record["nbest"] = [as_json(candidate) for candidate in candidates]
        print(json.dumps(record, ensure_ascii=False), file=file)
        return
    for candidate in candidates if args.nbest > 1 else [result]:
        columns = [str(number)] if args.nbest > 1 else []
        columns += [f"{candidate.score:.4f}"] if args.scores else []
        columns += [candidate.text]
        columns += [pharaoh(candidate.alignment)] if args.alignments else []
        print("\t".join(columns), file=file)


def as_json(translation: "Translation") -> dict[str, Any]:
    return {
        "text": translation.text,
        "score": translation.score,
        "tokens": translation.tokens,
        "alignment": translation.alignment,
        "complete": translation.complete,
    }
