"""The command `headwise translate`: texts, files and documents."""

import argparse
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.cli.console import Countdown, say
from headwise.cli.options import (
    add_beam,
    add_candidates,
    add_command,
    add_engine,
    add_languages,
    add_model,
    add_sampling,
    add_texts,
    as_utf8,
    given_texts,
    model_folder,
    output,
    sampling,
    translator,
)
from headwise.cli.report_terms import check_glossary, report_terms
from headwise.cli.shard import add_shard, launched, own_device, run_resumable, share_of
from headwise.cli.translate_documents import (
    add_document_options,
    given_documents,
    refuse_document_options,
    translate_given_documents,
)
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.translation import TranslateOptions


def add_translate(commands: Any) -> None:
    command = add_command(
        commands,
        "translate",
        run_translate,
        "Translate texts, documents, or a file or standard input line by line. If the translation of a file is "
        "interrupted, run the same command again to continue.",
        """
headwise translate "I ate an apple." --to de
headwise translate "Guten Morgen." "Bonjour." --to en
cat lines.txt | headwise translate --to fr
headwise translate report.docx --to de --output report.de.docx
headwise translate website/ slides.pptx --to it --output translated/
headwise translate messages.po --from en --to fr
headwise translate README.md film.srt book.epub --to fr --output translated/
headwise translate contract.docx --to de --glossary terms.tsv
headwise translate --model my-model "I ate an apple."
headwise translate --model my-model --input book.en.xz --output book.de --beam 1
headwise translate --model my-model --input letter.txt --paragraphs
cat lines.txt | headwise translate --model my-model --candidates 3 --scores --alignments
headwise translate --model many --from en --to fr --json "Good morning."
torchrun --nproc-per-node 8 -m headwise translate --model my-model --input web.en.zst --output web.de

Without --model, the bundled model translates; `headwise models` shows its languages. Without --from, the source
language of each text is detected where several are possible, and a text in the target language stays as it is.

Documents: docx pptx xlsx, odt odp ods, html, epub, md, txt, srt vtt, pdf (as text), po xliff tmx, json, Android xml,
properties, yaml, csv tsv. With --input, a .txt file is translated line by line.

Columns are separated by tabs: with --candidates above 1 the number of the input line; with --scores the score;
the text; with --alignments the word alignment (source-target, counted from 0).
""",
    )
    add_texts(command, "translate")
    command.add_argument(
        "--paragraphs",
        action="store_true",
        help="join wrapped lines: those up to an empty line are one text, and give one line of output",
    )
    add_shard(command, "from file to file; the last part to finish writes the output")
    add_model(command, bundled=True)
    add_engine(command)
    add_languages(command, auto=True)
    add_beam(command)
    add_candidates(command, "text")
    command.add_argument("--scores", action="store_true", help="print scores: log-probability / length^penalty")
    command.add_argument("--alignments", action="store_true", help="print word alignments, in Pharaoh format")
    command.add_argument(
        "--length-penalty",
        type=float,
        default=1.0,
        metavar="A",
        help="exponent of the length in the score; higher favours longer translations (default: 1)",
    )
    command.add_argument(
        "--max-ratio",
        type=float,
        default=2.0,
        metavar="R",
        help="length limit: R times the source tokens, and 10 more (default: 2)",
    )
    command.add_argument(
        "--no-repeat", type=int, default=0, metavar="N", help="no sequence of N tokens occurs twice (default: 0, off)"
    )
    command.add_argument(
        "--no-repair",
        action="store_true",
        help="do not translate again where numbers or URLs are missing or a translation is far too long",
    )
    command.add_argument(
        "--no-recase", action="store_true", help="translate texts in capitals as they are, not in normal case"
    )
    command.add_argument(
        "--glossary",
        action="append",
        default=[],
        metavar="FILE",
        help="terms that translations must render as requested, as TSV, CSV or TBX; may be given several times",
    )
    command.add_argument("--prefix", default="", metavar="TEXT", help="every translation begins with TEXT")
    add_sampling(command)
    add_document_options(command)


def run_translate(args: argparse.Namespace) -> int:
    from headwise.decode.glossary.glossary import Glossary
    from headwise.decode.translation import TranslateOptions

    options = TranslateOptions(
        beam=args.beam,
        candidates=args.candidates,
        length_penalty=args.length_penalty,
        max_ratio=args.max_ratio,
        no_repeat=args.no_repeat,
        sampling=sampling(args),
        seed=args.seed,
        alignments=args.alignments or args.json,
        repair=not args.no_repair,
        recase=not args.no_recase,
        glossary=Glossary.read(*args.glossary) if args.glossary else None,
    )
    if documents := given_documents(args):
        return translate_given_documents(args, documents, options)
    refuse_document_options(args)
    if is_file_to_file(args):
        return translate_file(args, options)
    if args.shard or launched():
        raise ConfigError("several processes share the work from file to file: give --input FILE and --output FILE")
    return translate_stream(args, options)


def note_path(text: str) -> None:
    """Note that a text is, or looks like, the name of a file or folder: it may have been meant as one."""
    if os.path.isfile(text):  # noqa: PTH113  # Path.is_file raises an error for a long text
        say(f"headwise: {text} is a file: --input {text} translates its lines")
    elif os.path.isdir(text):  # noqa: PTH112  # as above
        say(f"headwise: {text} is also a folder here: {text}{os.sep} translates its documents")
    elif text.startswith(("./", "../", "/", "~/")) and len(text.split()) == 1:
        say(f"headwise: there is no file {text}: its name is translated as text")


def is_file_to_file(args: argparse.Namespace) -> bool:
    """Whether input and output are regular files: then the work is resumable, and the output appears when complete."""
    if args.text or args.input in (None, "-") or args.output in (None, "-"):
        return False
    source, out = Path(args.input), Path(args.output).absolute()
    if (source.exists() and not source.is_file()) or (out.exists() and not out.is_file()):
        return False
    return not any(path.absolute().is_relative_to(place) for path in (source, out) for place in ("/dev", "/proc"))


def translate_stream(args: argparse.Namespace, options: "TranslateOptions") -> int:
    """Translate texts, or the lines of a stream, as they arrive."""
    from headwise.decode.bulk.paragraphs import join_paragraphs, looks_wrapped
    from headwise.decode.bulk.survey import refuse_documents
    from headwise.decode.bulk.translate_file import translation_row
    from headwise.decode.coverage import CoverageCheck
    from headwise.decode.glossary.term_report import TermReport

    refuse_documents(Path(args.input or "-"))
    for text in args.text:
        note_path(text)
    chunks = given_texts(args, "translate", join_paragraphs if args.paragraphs else None)
    engine = translator(args)
    languages = {"source": args.source_language, "target": args.target_language}
    check_glossary(options, engine.direction(**languages))
    done, terms, cut, lost, coverage = 0, TermReport(), list[int](), list[int](), CoverageCheck(engine.tokenizer)
    with output(args.output) as file, Countdown("lines") as countdown:
        for chunk in chunks:
            if not done and not args.text and not args.paragraphs and looks_wrapped(chunk):
                say("headwise: the lines seem to be wrapped in the middle of sentences: see --paragraphs")
            coverage.add(chunk)
            # With the same seed, every chunk would draw the same random numbers.
            seeded = replace(options, seed=args.seed + done)
            found = engine.translate(chunk, **languages, prefix=as_utf8(args.prefix), options=seeded)
            terms += TermReport.of((done + place, use) for place, each in enumerate(found, 1) for use in each.terms)
            for text, result in zip(chunk, found, strict=True):
                done += 1
                cut += [] if result.complete else [done]
                lost += [done] if result.missing_numbers else []
                row = translation_row(done, text, result, options, as_json=args.json, scores=args.scores)
                print(row, file=file)
            file.flush()
            if args.output:
                countdown.show(done)
    if options.glossary is not None:
        report_terms(terms, "text" if args.text else "line")
    if coverage.note:
        say(f"headwise: {coverage.note}")
    if cut:
        say(f"headwise: {_which(cut, args)} cut off at the length limit (--max-ratio)")
    if lost:
        say(f"headwise: {_which(lost, args)} translated without some of the numbers; --json has those missing")
    return 0


def _which(numbers: list[int], args: argparse.Namespace) -> str:
    """The subject of a note about these texts or lines, with its verb."""
    what = "text" if args.text else "line"
    if len(numbers) == 1:
        return f"{what} {numbers[0]} was"
    return f"{len(numbers):,} {what}s ({what} {numbers[0]} first) were"


def translate_file(args: argparse.Namespace, options: "TranslateOptions") -> int:
    """Translate from file to file, resumably, perhaps together with other processes."""
    share = share_of(args)
    engine = translator(args, own_device(args.device, model_folder(args)))
    check_glossary(options, engine.direction(args.source_language, args.target_language))
    call = partial(
        engine.translate_file,
        args.input,
        args.output,
        source=args.source_language,
        target=args.target_language,
        prefix=as_utf8(args.prefix),
        paragraphs=args.paragraphs,
        json=args.json,
        scores=args.scores,
        options=options,
    )
    result, status = run_resumable(share, call)
    if status:
        return status
    if result.already:
        if share.reports:
            say(f"{result.output} is complete already: same input, model and options (remove it to translate again)")
    elif result.written:
        if options.glossary is not None:
            report_terms(result.terms, "line")
        if result.cut:
            say(f"{result.cut:,} lines were cut off at the length limit (--max-ratio); --json marks them")
    elif share.separate:
        say(f"{share} is done; the last part to finish writes {result.output}")
    return 0
