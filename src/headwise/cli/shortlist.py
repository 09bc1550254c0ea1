"""The command `headwise shortlist`: likely target tokens, learnt from pairs."""

import argparse
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.cli.console import Countdown, say
from headwise.cli.options import add_command, add_languages, positive
from headwise.cli.train import add_pairs
from headwise.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from headwise.decode.shortlist.shortlists import Shortlists
    from headwise.decode.translator import Translator
    from headwise.text.language.codes import Direction


def add_shortlist(commands: Any) -> None:
    command = add_command(
        commands,
        "shortlist",
        run_shortlist,
        "Learn which target tokens translate a source token: a CPU then scores only those, not the whole vocabulary.",
        """
headwise shortlist my-model
headwise shortlist opus-mt-en-fr --source train.en.xz --target train.fr.xz
headwise shortlist my-model-int8 --pairs memory.tmx --from en --to de

A shortlist is learnt from sentence pairs and from the model's own translations of single tokens. Without files, the
pairs are MODEL's training data, if its files still exist. Use pairs that are similar to the texts to be translated.
The shortlist is written into the folder of MODEL, for one direction, and `headwise convert` keeps it. `headwise
translate` uses it with the engine int8; --shortlist off ignores it.
""",
    )
    command.add_argument("model", metavar="MODEL", help="a translator: its folder or its name")
    add_pairs(command)
    add_languages(command)
    command.add_argument(
        "--best",
        type=positive,
        metavar="N",
        help="translations per token from the pairs; the model adds twice as many (default: 100)",
    )
    command.add_argument(
        "--frequent",
        type=positive,
        metavar="N",
        help="most frequent tokens, which are in every shortlist (default: a twentieth of the vocabulary)",
    )
    command.add_argument(
        "--max-pairs", type=positive, metavar="N", help="learn from a random sample of N pairs (default: 500,000)"
    )


def run_shortlist(args: argparse.Namespace) -> int:
    from headwise.bundled.find import BUNDLED, FOLDER
    from headwise.decode.auto_source import AUTO_SOURCE
    from headwise.decode.engines.native.library import supported
    from headwise.decode.shortlist.learn import BEST, learn_shortlist, predict_first_tokens
    from headwise.decode.shortlist.shortlists import Shortlists
    from headwise.decode.translator import Translator
    from headwise.models.folder.config_file import shortlist_path
    from headwise.models.folder.description import INT8
    from headwise.nn.int8 import is_fast_here

    started = time.monotonic()
    engine = "int8" if supported() or is_fast_here() else "auto"
    translator = Translator(args.model, device="cpu", engine=engine, shortlist=False, say=say)
    direction = translator.direction(args.source_language, args.target_language)
    if direction[0] == AUTO_SOURCE:
        raise ConfigError("a shortlist is for one direction: name the source language with --from")
    assert translator.folder is not None
    if translator.folder.resolve() == FOLDER.resolve():
        raise ConfigError(
            f"{translator.folder} is part of the installation: copy it first (`headwise convert {BUNDLED} my-model "
            f"--precision {INT8}`), and learn a shortlist for the copy"
        )
    tokenizer, path = translator.tokenizer, shortlist_path(translator.folder)
    pairs = given_pairs(args, path.parent, direction)
    first = next(pairs, None)  # a file that cannot be read is reported before any work is done
    pairs = itertools.chain([] if first is None else [first], pairs)
    say("translating each token of the vocabulary")
    with Countdown("tokens") as countdown:
        by_model = predict_first_tokens(translator, direction, args.best or BEST, countdown.show)
    say("learning from the pairs")
    options = {"best": args.best, "frequent": args.frequent, "most": args.max_pairs}
    given = {name: value for name, value in options.items() if value is not None}
    with Countdown("blocks") as countdown:
        learnt, quality = learn_shortlist(tokenizer, pairs, by_model, **given, progress=countdown.show)
    there = tables_there(path, translator)
    if direction in there and there[direction].pairs > learnt.pairs:
        say(f"note: this replaces a table that was learnt from more pairs, {there[direction].pairs:,}")
    Shortlists(tokenizer, {**there, direction: learnt}).save(path)
    size = path.stat().st_size / 1e6
    seconds = time.monotonic() - started
    print(f"wrote {path} ({size:.1f} MB), learnt from {learnt.pairs:,} pairs in {seconds:.0f} s")
    if quality.pairs:
        print(
            f"on {quality.pairs:,} held-out pairs: a shortlist has {quality.tokens:,.0f} of {tokenizer.size:,} tokens "
            f"({quality.tokens / tokenizer.size:.1%}) and covers {quality.covered:.1%} of the tokens in translations; "
            f"{quality.whole:.1%} of the sentences use the whole vocabulary"
        )
    if quality.pairs and quality.tokens > 0.2 * tokenizer.size:
        say(
            "note: the shortlists contain much of this small vocabulary and may not be faster than all of it "
            f"(--shortlist off): compare, and remove {path} if they are not"
        )
    if quality.whole > 0.5:
        say("note: most sentences use the whole vocabulary, so little is gained: give more pairs, or use no shortlist")
    return 0


def tables_there(path: Path, translator: "Translator") -> "dict[Direction, Any]":
    """The tables of an existing shortlist file; those of other directions are kept."""
    from headwise.decode.shortlist.shortlists import read_shortlists

    if not path.is_file():
        return {}
    try:
        found: Shortlists = read_shortlists(path, translator.tokenizer)
    except CheckpointError as error:
        say(f"note: the existing shortlist is replaced: {error}")
        return {}
    return found.tables


def given_pairs(args: argparse.Namespace, run: Path, direction: "Direction") -> Iterator[tuple[str, str]]:
    """The pairs of the given files, or else those that the model was trained on."""
    from headwise.config import CorpusConfig, DataConfig
    from headwise.data.read.corpus import read_corpus

    if bool(args.source) != bool(args.target):
        raise ConfigError("--source and --target belong together")
    if not args.pairs and not args.source:
        return trained_pairs(run, direction)
    corpus = CorpusConfig(
        pairs=tuple(args.pairs or ()), source=tuple(args.source or ()), target=tuple(args.target or ())
    )
    data = DataConfig(source_language=direction[0], target_language=direction[1])
    return ((pair.source, pair.target) for pair in read_corpus(corpus, data))


def trained_pairs(run: Path, direction: "Direction") -> Iterator[tuple[str, str]]:
    """The training pairs of a run in this direction."""
    from headwise.data.read.corpus import corpus_languages, read_corpus
    from headwise.train.one_call import stored_tables
    from headwise.train.start import recipe_from

    tables = stored_tables(run)
    if not tables:
        raise ConfigError(f"{run}: its training data are unknown: give --pairs FILE, or --source F and --target F")
    data = recipe_from(tables).data
    for corpus in data.train:
        languages = corpus_languages(corpus, data)
        if not corpus.pairs and not corpus.source:
            continue
        if languages == direction:
            yield from ((pair.source, pair.target) for pair in read_corpus(corpus, data))
        elif data.both_directions and languages == direction[::-1]:
            yield from ((pair.target, pair.source) for pair in read_corpus(corpus, data))
