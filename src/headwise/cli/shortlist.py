"""headwise shortlist"""

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.cli.options import Countdown, add_command, add_languages, positive
from headwise.cli.train import add_pairs, begun, say
from headwise.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from headwise.decode.shortlist.shortlists import Direction, Shortlists
    from headwise.decode.translator import Translator


def add_shortlist(commands: Any) -> None:
    command = add_command(
        commands,
        "shortlist",
        run_shortlist,
        "Learn which tokens translate which, so that a CPU need not score the whole vocabulary at every step.",
        """
headwise shortlist my-model
headwise shortlist opus-mt-en-fr --source train.en.xz --target train.fr.xz
headwise shortlist my-model-int8 --pairs memory.tmx --from en --to de

It is learnt from sentence pairs, and by asking the model. Without files, the pairs are those that MODEL was trained on,
if it is a run whose data are still there; take ones like the texts that will be translated. The table is written into
the folder of MODEL, for one direction of it, and `headwise convert` keeps it. `headwise translate` uses it with the
engine int8; --shortlist off translates with the whole vocabulary.
""",
    )
    command.add_argument("model", metavar="MODEL", help="folder of a translator")
    add_pairs(command)
    add_languages(command)
    command.add_argument(
        "--best",
        type=positive,
        metavar="N",
        help="translations that a token may have by the pairs; twice as many by the model (default: 100)",
    )
    command.add_argument(
        "--frequent",
        type=positive,
        metavar="N",
        help="most frequent tokens, which any translation may have (default: a twentieth of the vocabulary)",
    )
    command.add_argument(
        "--max-pairs", type=positive, metavar="N", help="learn from so many pairs, drawn evenly (default: 500,000)"
    )


def run_shortlist(args: argparse.Namespace) -> int:
    from headwise.decode.shortlist.learn import BEST, ask, learn_shortlist
    from headwise.decode.shortlist.shortlists import Shortlists
    from headwise.decode.translator import Translator
    from headwise.models.folder.config_file import shortlist_path
    from headwise.nn.int8 import is_fast_here

    started = time.monotonic()
    folder = Path(args.model)
    translator = Translator(folder, "cpu", "int8" if is_fast_here() else "auto", say, shortlist=False)
    direction = translator.direction(args.source_language, args.target_language)
    tokenizer, path = translator.tokenizer, shortlist_path(folder)
    pairs = given_pairs(args, direction)
    first = next(pairs, None)  # before the model is asked: a file that cannot be read should cost nothing
    pairs = itertools.chain([] if first is None else [first], pairs)
    say("asking the model for the translations of each token")
    with counting("tokens") as progress:
        asked = ask(translator, direction, args.best or BEST, progress)
    say("learning from the pairs")
    options = {"best": args.best, "frequent": args.frequent, "most": args.max_pairs}
    given = {name: value for name, value in options.items() if value is not None}
    with counting("blocks") as progress:
        learnt, quality = learn_shortlist(tokenizer, pairs, asked, **given, progress=progress)
    there = tables_there(path, translator)
    if direction in there and there[direction].pairs > learnt.pairs:
        say(f"note: this replaces a table that was learnt from more pairs, {there[direction].pairs:,}")
    Shortlists(tokenizer, {**there, direction: learnt}).save(path)
    size = path.stat().st_size / 1e6
    seconds = time.monotonic() - started
    print(f"wrote {path} ({size:.1f} MB), learnt from {learnt.pairs:,} pairs in {seconds:.0f} s")
    if quality.pairs:
        print(
            f"of {quality.pairs:,} pairs that were kept apart: a sentence may have {quality.tokens:,.0f} of "
            f"{tokenizer.size:,} tokens ({quality.tokens / tokenizer.size:.1%}), which are {quality.covered:.1%} of "
            f"those of its translation; {quality.whole:.1%} of the sentences may have all"
        )
    if quality.pairs and quality.tokens > 0.2 * tokenizer.size:
        say(
            "note: a list has much of this small vocabulary: it may be as fast, and is as good, to look at all of it "
            f"(--shortlist off); compare, and remove {path} if so"
        )
    if quality.whole > 0.5:
        say("note: most sentences have the whole vocabulary, so little is gained: it is small, or give more pairs")
    return 0


@contextmanager
def counting(unit: str) -> Iterator[Callable[[int, int], None]]:
    """A display of what is done, and of how much; it appears when that is known."""
    with ExitStack() as stack:
        countdown: Countdown | None = None

        def progress(done: int, total: int) -> None:
            nonlocal countdown
            if countdown is None:
                countdown = stack.enter_context(Countdown(total, unit))
                countdown.show(0)
            countdown.show(done)

        yield progress


def tables_there(path: Path, translator: "Translator") -> "dict[Direction, Any]":
    """Those of other directions, which stay."""
    from headwise.decode.shortlist.shortlists import read_shortlists

    if not path.is_file():
        return {}
    try:
        found: Shortlists = read_shortlists(path, translator.tokenizer)
    except CheckpointError as error:
        say(f"note: what was there is replaced: {error}")
        return {}
    return found.tables


def given_pairs(args: argparse.Namespace, direction: "Direction") -> Iterator[tuple[str, str]]:
    """The pairs of the files that are named, or of those that the model was trained on."""
    from headwise.config import CorpusConfig, DataConfig
    from headwise.data.read.corpus import read_corpus
    from headwise.models.folder.config_file import shortlist_path

    if bool(args.source) != bool(args.target):
        raise ConfigError("--source and --target belong together")
    if not args.pairs and not args.source:
        return trained_pairs(shortlist_path(Path(args.model)).parent, direction)
    corpus = CorpusConfig(
        pairs=tuple(args.pairs or ()), source=tuple(args.source or ()), target=tuple(args.target or ())
    )
    data = DataConfig(source_language=direction[0], target_language=direction[1])
    return ((pair.source, pair.target) for pair in read_corpus(corpus, data))


def trained_pairs(run: Path, direction: "Direction") -> Iterator[tuple[str, str]]:
    """Of the corpora that a run's recipe names, those of this direction."""
    from headwise.data.read.corpus import corpus_languages, read_corpus
    from headwise.train.start import recipe_from

    tables = begun(str(run))
    if not tables:
        raise ConfigError(
            f"{run}: it is not known what it was trained on: give --pairs FILE, or --source F and --target F"
        )
    data = recipe_from(tables).data
    for corpus in data.train:
        languages = corpus_languages(corpus, data)
        if not corpus.pairs and not corpus.source:
            continue
        if languages == direction:
            yield from ((pair.source, pair.target) for pair in read_corpus(corpus, data))
        elif data.both_directions and languages == direction[::-1]:
            yield from ((pair.target, pair.source) for pair in read_corpus(corpus, data))
