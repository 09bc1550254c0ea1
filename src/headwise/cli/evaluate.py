"""The commands `headwise evaluate` and `headwise score`: BLEU and chrF, and scores of given translations."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from headwise.cli.console import Countdown, say
from headwise.cli.options import (
    CHUNK,
    add_beam,
    add_command,
    add_engine,
    add_languages,
    add_model,
    output,
    translator,
)
from headwise.errors import ConfigError, DataError

if TYPE_CHECKING:
    from headwise.decode.translator import Translator


def add_evaluate(commands: Any) -> None:
    command = add_command(
        commands,
        "evaluate",
        run_evaluate,
        "Translate a test set and report BLEU, chrF (sacreBLEU, with signatures) and perplexity.",
        """
headwise evaluate --source test.en --reference test.de --to de
headwise evaluate --model my-model --source test.en --reference test.de
headwise evaluate --model my-model --pairs test.tmx --from en --to de --beam 1 --json
""",
    )
    add_model(command, bundled=True)
    add_engine(command)
    command.add_argument("--pairs", nargs="+", metavar="FILE", help="test pairs: TMX, TSV, CSV or JSON lines")
    command.add_argument("--source", nargs="+", metavar="F", help="sources, one sentence per line")
    command.add_argument("--reference", nargs="+", metavar="F", help="their translations, line by line")
    add_languages(command)
    add_beam(command)
    command.add_argument("--lowercase", action="store_true", help="ignore case in BLEU and chrF")
    command.add_argument("--output", metavar="FILE", help="write the translations to FILE")
    command.add_argument("--json", action="store_true", help="print JSON")


def run_evaluate(args: argparse.Namespace) -> int:
    from headwise.decode.translation import TranslateOptions
    from headwise.evaluate import evaluate

    engine = translator(args)
    sources, references, languages = read_pairs(args, engine, args.reference, "--reference")
    with Countdown("sentences") as countdown:
        scores, translations = evaluate(
            engine,
            sources,
            references,
            *languages,
            options=TranslateOptions(beam=args.beam),
            lowercase=args.lowercase,
            progress=countdown.show,
        )
    if args.output:
        with output(args.output) as file:
            file.writelines(f"{text}\n" for text in translations)
    print(json.dumps(scores.as_dict()) if args.json else scores)
    return 0


def add_score(commands: Any) -> None:
    command = add_command(
        commands,
        "score",
        run_score,
        "Score given translations: log-probability / length^penalty, one line per pair (higher is better).",
        """
headwise score --source test.en --target test.de --to de
headwise score --model my-model --source test.en --target test.de
headwise score --model my-model --pairs test.tsv --json
""",
    )
    add_model(command, bundled=True)
    command.add_argument("--pairs", nargs="+", metavar="FILE", help="TMX, TSV, CSV or JSON lines")
    command.add_argument("--source", nargs="+", metavar="F", help="sources, one sentence per line")
    command.add_argument("--target", nargs="+", metavar="F", help="their translations, line by line")
    add_languages(command)
    command.add_argument(
        "--length-penalty", type=float, default=1.0, metavar="A", help="exponent of the length (default: 1)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object per pair")


def run_score(args: argparse.Namespace) -> int:
    engine = translator(args)
    sources, targets, languages = read_pairs(args, engine, args.target, "--target")
    for start in range(0, len(sources), CHUNK):
        part = slice(start, start + CHUNK)
        source, target = languages
        scores = engine.score(
            sources[part], targets[part], source=source, target=target, length_penalty=args.length_penalty
        )
        for text, translation, score in zip(sources[part], targets[part], scores, strict=True):
            record = {"source": text, "target": translation, "score": score}
            print(json.dumps(record, ensure_ascii=False) if args.json else f"{score:.6f}")
    return 0


def read_pairs(
    args: argparse.Namespace, engine: "Translator", second: list[str] | None, name: str
) -> tuple[list[str], list[str], tuple[str | None, str | None]]:
    """Both sides of a test set, and its languages."""
    from headwise.config import CorpusConfig, DataConfig
    from headwise.data.read.corpus import read_corpus
    from headwise.decode.auto_source import AUTO_SOURCE, common_source

    if bool(args.pairs) == bool(args.source) or bool(args.source) != bool(second):
        raise ConfigError(f"give --pairs FILE, or --source F and {name} F")
    wanted = (args.source_language, args.target_language)
    # If the model has one direction, the files are in its languages, even if the options do not name them.
    known = engine.direction(*wanted)
    is_open = known[0] == AUTO_SOURCE
    if is_open and args.pairs:  # a file of pairs may have several languages
        raise ConfigError(f"this model translates into {known[1]} from several languages: name one with --from")
    corpus = CorpusConfig(pairs=tuple(args.pairs or ()), source=tuple(args.source or ()), target=tuple(second or ()))
    data = DataConfig(source_language="" if is_open else wanted[0] or known[0], target_language=wanted[1] or known[1])
    pairs = list(read_corpus(corpus, data))
    if not pairs:
        raise DataError("there are no pairs in these files")
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    if is_open:
        wanted = (common_source(sources, engine.task, known[1]), known[1])
        say(f"headwise: the sources are in the language {wanted[0]}, as detected (--from names another)")
    return sources, targets, wanted
