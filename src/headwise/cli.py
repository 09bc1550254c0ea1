"""The command line: arguments in, calls out. What the commands do lives elsewhere, and is imported when run."""

import argparse
import io
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from headwise import __version__
from headwise.config import override, parse_setting, read_recipe
from headwise.errors import ConfigError, DataError, HeadwiseError, TrainingError
from headwise.presets import DEFAULT, PRESETS, resolve

if TYPE_CHECKING:
    from headwise.decode.translator import Translation, Translator


class Parser(argparse.ArgumentParser):
    """Wrong use is one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 2 for what a person can correct, 1 for what failed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what is read is UTF-8 whatever the locale; so is what is written
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    args = parser().parse_args(arguments)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except TrainingError as error:
        return fail(1, error)
    except HeadwiseError as error:
        return fail(2, error)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return fail(130, "interrupted")
    except OSError as error:
        return fail(1, f"{error.filename or 'input/output'}: {error.strerror or error}")


def fail(code: int, error: object) -> int:
    print(f"headwise: {error}", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="headwise",
        description="Take sentence pairs, train a Transformer, translate - and look inside, head by head.",
        epilog="headwise COMMAND --help shows examples.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"headwise {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for add in (
        add_train,
        add_translate,
        add_evaluate,
        add_score,
        add_inspect,
        add_average,
        add_tokenizer,
        add_info,
    ):
        add(commands)
    return top


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, examples: str
) -> argparse.ArgumentParser:
    """A command with its help text; the examples are shown below the options."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=run)
    return command


def add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--model",
        metavar="DIR",
        help="model folder, run or checkpoint (default: $HEADWISE_MODEL, else the current folder)",
    )
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 ... (default: auto)")


def add_languages(command: argparse.ArgumentParser) -> None:
    command.add_argument("--from", dest="source_language", metavar="L", help="source language")
    command.add_argument("--to", dest="target_language", metavar="L", help="target language")


def add_beam(command: argparse.ArgumentParser) -> None:
    command.add_argument("--beam", type=positive, default=4, metavar="N", help="beam width; 1 is greedy (default: 4)")


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def model_folder(args: argparse.Namespace) -> Path:
    """The folder of --model, or where a model may be expected."""
    if args.model:
        return Path(args.model)
    if os.environ.get("HEADWISE_MODEL"):
        return Path(os.environ["HEADWISE_MODEL"])
    if Path("config.json").is_file():
        return Path()
    raise ConfigError("which model? Give --model DIR, or set HEADWISE_MODEL")


def translator(args: argparse.Namespace) -> "Translator":
    from headwise.decode.translator import Translator

    return Translator(model_folder(args), args.device)


def read_lines(path: str) -> Iterator[str]:
    """The lines of a file, which may be compressed, or of standard input (`-`)."""
    from headwise.data.files import numbered_lines

    return (text for _, text in numbered_lines(Path(path)))


@contextmanager
def output(path: str | None) -> Iterator[IO[str]]:
    """Standard output, or a file."""
    if path is None or path == "-":
        yield sys.stdout
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(Path(path).open("w", encoding="utf-8", errors="backslashreplace", newline="\n"))
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
        yield file


# --- train ---------------------------------------------------------------------------------------------


def add_train(commands: Any) -> None:
    command = add_command(
        commands,
        "train",
        run_train,
        "Train a translator from sentence pairs; on a folder that was begun, go on exactly where it stopped.",
        """
headwise train --pairs memory.tmx --from en --to de --out my-model
headwise train --source train.en.xz --target train.de.xz --from en --to de --out my-model --preset base
headwise train recipes/multi30k_en_de.toml --set data.folder=/data/multi30k --set train.steps=2000 --out runs/m30k
""",
    )
    command.add_argument("recipe", nargs="?", metavar="RECIPE.toml", help="a recipe; options below override it")
    command.add_argument("--pairs", nargs="+", metavar="FILE", help="TMX, TSV or JSON lines, also .gz .xz .bz2 .zst")
    command.add_argument("--source", nargs="+", metavar="F", help="source text, a sentence a line")
    command.add_argument("--target", nargs="+", metavar="F", help="target text, line by line its translation")
    command.add_argument("--valid-pairs", nargs="+", metavar="FILE", help="validation pairs (default: held out)")
    command.add_argument("--valid-source", nargs="+", metavar="F")
    command.add_argument("--valid-target", nargs="+", metavar="F")
    add_languages(command)
    command.add_argument("--out", metavar="DIR", help="output folder; an existing run there is resumed")
    command.add_argument("--preset", choices=list(PRESETS), help=f"model shape (default: {DEFAULT})")
    command.add_argument("--steps", type=positive, metavar="N", help="training steps")
    command.add_argument("--batch-tokens", type=positive, metavar="N", help="padded tokens in a batch")
    command.add_argument("--vocabulary", type=positive, metavar="N", help="tokens (default: by corpus size)")
    command.add_argument("--both-directions", action="store_true", default=None, help="one model for both ways")
    command.add_argument("--seed", type=int, metavar="N")
    command.add_argument("--device", help="auto, cpu, cuda ... (default: auto)")
    command.add_argument("--tensorboard", action="store_true", default=None, help="write TensorBoard files too")
    command.add_argument(
        "--set",
        dest="settings",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="any key of a recipe, such as train.checkpoint_every=200",
    )


def run_train(args: argparse.Namespace) -> int:
    from headwise.train.run import train

    outcome = train(resolve(train_tables(args)), say=lambda text: print(text, file=sys.stderr, flush=True))
    if outcome.interrupted:
        print(
            f"stopped at step {outcome.progress.step:,}, all saved; the same command goes on from there",
            file=sys.stderr,
        )
        return 130
    print(f'done: headwise translate --model {outcome.folder} "..."', file=sys.stderr)
    return 0


def train_tables(args: argparse.Namespace) -> dict[str, Any]:
    """The tables of the recipe with the options laid over them."""
    tables = read_recipe(Path(args.recipe)) if args.recipe else {}
    options: dict[str, Any] = {
        "out": args.out,
        "seed": args.seed,
        "model.preset": args.preset,
        "text.vocabulary": args.vocabulary,
        "data.source_language": args.source_language,
        "data.target_language": args.target_language,
        "data.both_directions": args.both_directions,
        "data.train": corpus_table(args.pairs, args.source, args.target, ""),
        "data.valid": corpus_table(args.valid_pairs, args.valid_source, args.valid_target, "valid-"),
        "train.steps": args.steps,
        "train.batch_tokens": args.batch_tokens,
        "train.device": args.device,
        "train.tensorboard": args.tensorboard,
    }
    given = {key: value for key, value in options.items() if value is not None}
    tables = override(tables, given | dict(map(parse_setting, args.settings)))
    data = tables.get("data", {})
    if not isinstance(data, dict) or not data.get("train"):
        raise ConfigError("no training data: give --pairs FILE, or --source F and --target F, or a recipe")
    return tables


def corpus_table(
    pairs: list[str] | None, source: list[str] | None, target: list[str] | None, prefix: str
) -> list[dict[str, Any]] | None:
    if bool(source) != bool(target):
        raise ConfigError(f"--{prefix}source and --{prefix}target belong together")
    corpora: list[dict[str, Any]] = []
    if pairs:
        corpora.append({"pairs": pairs})
    if source:
        corpora.append({"source": source, "target": target})
    return corpora or None


# --- translate -----------------------------------------------------------------------------------------


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
    command.add_argument("text", nargs="*", metavar="TEXT", help="texts to translate")
    add_model(command)
    command.add_argument("--input", metavar="FILE|-", help="translate the lines of a file or of standard input")
    command.add_argument("--output", metavar="FILE", help="write there instead of to standard output")
    add_languages(command)
    add_beam(command)
    command.add_argument("--nbest", type=positive, default=1, metavar="N", help="candidates a line (default: 1)")
    command.add_argument("--scores", action="store_true", help="show log-probability / length^penalty")
    command.add_argument("--alignments", action="store_true", help="show word alignments, Pharaoh format")
    command.add_argument("--json", action="store_true", help="one JSON object a line, with everything")
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
    command.add_argument("--sample", action="store_true", help="draw at random instead of searching")
    command.add_argument("--temperature", type=float, default=1.0)
    command.add_argument("--top-k", type=int, default=0)
    command.add_argument("--top-p", type=float, default=1.0)
    command.add_argument("--seed", type=int, default=0, help="of --sample")


CHUNK = 1024
"""Lines that are sorted and batched together; a file is translated in such chunks, in constant memory."""


def run_translate(args: argparse.Namespace) -> int:
    from headwise.decode.sampling import SamplingOptions
    from headwise.decode.translator import TranslateOptions

    if args.text and args.input:
        raise ConfigError("give texts or --input, not both")
    if args.output and args.input and is_same_file(args.input, args.output):
        raise ConfigError(f"--output {args.output} is the input: choose another file")
    if not args.text and not args.input and sys.stdin.isatty():
        raise ConfigError("nothing to translate: give texts, --input FILE, or pipe lines in")
    if args.nbest > args.beam and not args.sample:
        args.beam = args.nbest
    sampling = None
    if args.sample:
        sampling = SamplingOptions(args.temperature, args.top_k, args.top_p, samples=args.nbest)
    options = TranslateOptions(
        beam=args.beam,
        nbest=args.nbest,
        length_penalty=args.length_penalty,
        max_ratio=args.max_ratio,
        no_repeat=args.no_repeat,
        sampling=sampling,
        seed=args.seed,
        alignments=args.alignments or args.json,
    )
    engine = translator(args)
    engine.direction(args.source_language, args.target_language)
    texts = chunks(iter(args.text) if args.text else read_lines(args.input or "-"), CHUNK)
    first = next(texts, [])  # before the output is opened: a file that cannot be read should cost nothing
    done = 0
    with output(args.output) as file, Counter(bool(args.output), "sentences") as counter:
        for chunk in itertools.chain([first], texts):
            results = engine.translate(
                chunk,
                args.source_language,
                args.target_language,
                prefix=args.prefix,
                options=options,
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


def is_same_file(one: str, other: str) -> bool:
    return Path(one).is_file() and Path(other).exists() and Path(one).samefile(other)


def chunks(items: Iterator[str], size: int) -> Iterator[list[str]]:
    """The items in lists of this size; the last may be shorter."""
    chunk: list[str] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class Counter:
    """How far a long work is, on the terminal's last line; silent where nobody watches."""

    def __init__(self, wanted: bool, unit: str) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._unit = unit

    def __enter__(self) -> "Counter":
        return self

    def show(self, done: int) -> None:
        if self._wanted:
            print(f"\r{done:,} {self._unit}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._wanted:
            print(file=sys.stderr)


# --- evaluate, score -----------------------------------------------------------------------------------


def add_evaluate(commands: Any) -> None:
    command = add_command(
        commands,
        "evaluate",
        run_evaluate,
        "Translate a test set and report BLEU, chrF (sacreBLEU, with signatures) and perplexity.",
        """
headwise evaluate --model my-model --source test.en --reference test.de
headwise evaluate --model my-model --pairs test.tmx --from en --to de --beam 1 --json
""",
    )
    add_model(command)
    command.add_argument("--pairs", nargs="+", metavar="FILE", help="test pairs: TMX, TSV or JSON lines")
    command.add_argument("--source", nargs="+", metavar="F")
    command.add_argument("--reference", nargs="+", metavar="F")
    add_languages(command)
    add_beam(command)
    command.add_argument("--lowercase", action="store_true", help="compare without regard to case")
    command.add_argument("--output", metavar="FILE", help="keep the translations there")
    command.add_argument("--json", action="store_true", help="print JSON")


def run_evaluate(args: argparse.Namespace) -> int:
    from headwise.decode.translator import TranslateOptions
    from headwise.evaluate import evaluate

    engine = translator(args)
    sources, references, languages = read_pairs(args, engine, args.reference, "--reference")
    with Counter(True, "sentences translated") as counter:
        scores, translations = evaluate(
            engine,
            sources,
            references,
            *languages,
            options=TranslateOptions(beam=args.beam, alignments=False),
            lowercase=args.lowercase,
            progress=counter.show,
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
        "Score given translations: log-probability over length, a line a pair (higher is better).",
        """
headwise score --model my-model --source test.en --target test.de
""",
    )
    add_model(command)
    command.add_argument("--pairs", nargs="+", metavar="FILE", help="TMX, TSV or JSON lines")
    command.add_argument("--source", nargs="+", metavar="F")
    command.add_argument("--target", nargs="+", metavar="F")
    add_languages(command)
    command.add_argument("--length-penalty", type=float, default=1.0, metavar="A", help="exponent (default: 1)")


def run_score(args: argparse.Namespace) -> int:
    engine = translator(args)
    sources, targets, languages = read_pairs(args, engine, args.target, "--target")
    for start in range(0, len(sources), CHUNK):
        part = slice(start, start + CHUNK)
        for score in engine.score(sources[part], targets[part], *languages, length_alpha=args.length_penalty):
            print(f"{score:.6f}")
    return 0


def read_pairs(
    args: argparse.Namespace, engine: "Translator", second: list[str] | None, name: str
) -> tuple[list[str], list[str], tuple[str | None, str | None]]:
    """Both sides of a test set, and the direction in which the model should take it."""
    from headwise.config import CorpusConfig, DataConfig
    from headwise.data.formats import read_corpus

    if bool(args.pairs) == bool(args.source) or bool(args.source) != bool(second):
        raise ConfigError(f"give --pairs FILE, or --source F and {name} F")
    wanted = (args.source_language, args.target_language)
    # The files of a model with one direction are in its languages, whether or not they are named.
    known = engine.direction(*wanted)
    corpus = CorpusConfig(pairs=tuple(args.pairs or ()), source=tuple(args.source or ()), target=tuple(second or ()))
    data = DataConfig(source_language=wanted[0] or known[0], target_language=wanted[1] or known[1])
    pairs = list(read_corpus(corpus, data))
    if not pairs:
        raise DataError("there are no pairs in these files")
    return [pair.source for pair in pairs], [pair.target for pair in pairs], wanted


# --- inspect -------------------------------------------------------------------------------------------


def add_inspect(commands: Any) -> None:
    command = add_command(
        commands,
        "inspect",
        run_inspect,
        "Show what every head attends to while a sentence is translated: a picture, or the numbers.",
        """
headwise inspect --model my-model "I ate an apple." --out apple.png
headwise inspect --model my-model "I ate an apple." --target "Ich aß einen Apfel." --out apple.svg
headwise inspect --model my-model "I ate an apple." --kind encoder --layer 1 --out layer1.png
headwise inspect --model my-model "I ate an apple." --out apple.json
""",
    )
    command.add_argument("text", metavar="TEXT")
    add_model(command)
    command.add_argument("--target", metavar="TEXT", help="the translation to look at (default: the model's own)")
    command.add_argument("--out", required=True, metavar="FILE", help=".png, .svg, .pdf or .json")
    add_languages(command)
    command.add_argument("--kind", choices=("cross", "encoder", "decoder"), default="cross")
    command.add_argument("--layer", type=positive, metavar="N", help="one layer alone, large (default: all)")


def run_inspect(args: argparse.Namespace) -> int:
    from headwise.inspect.attention import capture_attention
    from headwise.inspect.picture import draw_attention
    from headwise.storage import write_text

    out = Path(args.out)
    if not out.parent.is_dir():
        raise ConfigError(f"{out}: there is no such folder")
    if out.suffix.lower() == ".json" and args.layer is not None:
        raise ConfigError("--layer chooses what a picture shows; .json holds every layer")
    maps = capture_attention(translator(args), args.text, args.target, args.source_language, args.target_language)
    if out.suffix.lower() == ".json":
        write_text(out, json.dumps(maps.as_dict(), ensure_ascii=False))
    else:
        draw_attention(maps, out, args.kind, args.layer)
    print(f"{args.text} -> {maps.text}\nwrote {out}")
    return 0


# --- average, tokenizer, info --------------------------------------------------------------------------


def add_average(commands: Any) -> None:
    command = add_command(
        commands,
        "average",
        run_average,
        "Write a model whose weights are the mean of several checkpoints' (often better than each).",
        """
headwise average my-model/checkpoints/step-* --out my-model-averaged
""",
    )
    command.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT")
    command.add_argument("--out", required=True, metavar="DIR")


def run_average(args: argparse.Namespace) -> int:
    from headwise.train.averages import average_checkpoints

    average_checkpoints([Path(path) for path in args.checkpoints], Path(args.out))
    print(f"wrote the mean of {len(args.checkpoints)} to {args.out}")
    return 0


def add_tokenizer(commands: Any) -> None:
    command = add_command(
        commands,
        "tokenizer",
        lambda args: 0,
        "Train a tokenizer by itself, or see how one cuts text (training a model trains its tokenizer too).",
        """
headwise tokenizer train corpus.en corpus.de --out my-tokenizer --vocabulary 8000
echo "I ate an apple." | headwise tokenizer encode --model my-model
echo "4 17 29" | headwise tokenizer decode --model my-model --ids
""",
    )
    verbs = command.add_subparsers(metavar="train|encode|decode", required=True)
    train = add_command(
        verbs,
        "train",
        run_tokenizer_train,
        "Train a tokenizer on text files.",
        "headwise tokenizer train corpus.en corpus.de --out my-tokenizer --kind bpe",
    )
    train.add_argument("files", nargs="+", metavar="FILE")
    train.add_argument("--out", required=True, metavar="DIR")
    train.add_argument("--kind", default="unigram", choices=("unigram", "bpe", "words", "characters", "bytes"))
    train.add_argument("--vocabulary", type=positive, default=0, metavar="N", help="default: by corpus size")
    train.add_argument("--languages", nargs="+", default=[], metavar="L", help="languages that get a tag")
    for verb, run, summary in (
        ("encode", run_tokenizer_encode, "Text to pieces, a line each."),
        ("decode", run_tokenizer_decode, "Pieces (or ids) back to text."),
    ):
        each = add_command(verbs, verb, run, summary, f"headwise tokenizer {verb} --model my-model --input file")
        each.add_argument("--model", metavar="DIR", help="model or tokenizer folder")
        each.add_argument("--input", default="-", metavar="FILE|-")
        each.add_argument("--ids", action="store_true", help="numbers instead of pieces")


def run_tokenizer_train(args: argparse.Namespace) -> int:
    from headwise.config import TextConfig
    from headwise.text.kinds import train_tokenizer

    config = TextConfig(kind=args.kind, vocabulary=args.vocabulary)
    sentences = (line for path in args.files for line in read_lines(path))
    tokenizer = train_tokenizer(config, sentences, args.languages)
    Path(args.out).mkdir(parents=True, exist_ok=True)
    tokenizer.save(Path(args.out))
    print(f"wrote a {args.kind} tokenizer of {tokenizer.size:,} tokens to {args.out}")
    return 0


def run_tokenizer_encode(args: argparse.Namespace) -> int:
    from headwise.text.kinds import load_tokenizer

    tokenizer = load_tokenizer(model_folder(args))
    for line in read_lines(args.input):
        ids = tokenizer.encode(line)
        print(" ".join(map(str, ids) if args.ids else tokenizer.pieces(ids)))
    return 0


def run_tokenizer_decode(args: argparse.Namespace) -> int:
    from headwise.text.kinds import load_tokenizer

    tokenizer = load_tokenizer(model_folder(args))
    for number, line in enumerate(read_lines(args.input), 1):
        try:
            words = line.split()
            ids = [int(word) for word in words] if args.ids else tokenizer.piece_ids(words)
            print(tokenizer.decode(ids))
        except (DataError, ValueError, IndexError) as error:
            raise DataError(f"{args.input}:{number}: {error}") from None
    return 0


def add_info(commands: Any) -> None:
    command = add_command(
        commands,
        "info",
        run_info,
        "What a model folder holds; without one, what this installation has.",
        """
headwise info
headwise info my-model
""",
    )
    command.add_argument("folder", nargs="?", metavar="DIR")
    command.add_argument("--json", action="store_true", help="print JSON")


def run_info(args: argparse.Namespace) -> int:
    from headwise.info import describe_folder, describe_installation

    facts = describe_folder(Path(args.folder)) if args.folder else describe_installation()
    if args.json:
        print(json.dumps(facts, ensure_ascii=False))
    else:
        width = max(map(len, facts))
        for name, value in facts.items():
            print(f"{name:{width}}  {value}")
    return 0
