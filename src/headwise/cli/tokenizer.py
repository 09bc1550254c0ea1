"""The command `headwise tokenizer`: trains a tokenizer alone, and encodes and decodes with one."""

import argparse
from pathlib import Path
from typing import Any

from headwise.cli.options import add_command, add_model_name, model_folder, positive, read_lines
from headwise.errors import DataError

KINDS = ("unigram", "bpe", "byte_bpe", "wordpiece", "words", "characters", "bytes")
"""The keys of `headwise.text.kinds.TOKENIZERS`, which is slow to import."""


def add_tokenizer(commands: Any) -> None:
    command = add_command(
        commands,
        "tokenizer",
        lambda args: 0,
        "Train a tokenizer on its own, or show how it splits text (training a model trains its tokenizer too).",
        """
headwise tokenizer train corpus.en corpus.de --out my-tokenizer --vocabulary 8000
echo "I ate an apple." | headwise tokenizer encode
echo "I ate an apple." | headwise tokenizer encode --model my-model | headwise tokenizer decode --model my-model
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
    train.add_argument("files", nargs="+", metavar="FILE", help="text, one sentence per line; also .gz .xz .bz2 .zst")
    train.add_argument("--out", required=True, metavar="DIR", help="folder of the tokenizer")
    train.add_argument("--kind", default="unigram", choices=KINDS, help="default: unigram")
    train.add_argument("--vocabulary", type=positive, default=0, metavar="N", help="default: by corpus size")
    train.add_argument("--split-digits", action="store_true", help="unigram, bpe: each digit is a piece of its own")
    train.add_argument("--languages", nargs="+", default=[], metavar="L", help="target languages, one tag each")
    for verb, run, summary in (
        ("encode", run_tokenizer_encode, "Split text into pieces, line by line."),
        ("decode", run_tokenizer_decode, "Turn pieces (or ids) back into text."),
    ):
        each = add_command(verbs, verb, run, summary, f"headwise tokenizer {verb} --model my-model --input file")
        add_model_name(each, bundled=True)
        each.add_argument("--input", default="-", metavar="FILE|-", help="read FILE instead of standard input")
        each.add_argument("--ids", action="store_true", help="ids instead of pieces")


def run_tokenizer_train(args: argparse.Namespace) -> int:
    from headwise.config import TextConfig
    from headwise.text.kinds import train_tokenizer

    config = TextConfig(kind=args.kind, vocabulary=args.vocabulary, split_digits=args.split_digits)
    sentences = (line for path in args.files for line in read_lines(path))
    tokenizer = train_tokenizer(config, sentences, args.languages)
    Path(args.out).mkdir(parents=True, exist_ok=True)
    tokenizer.save(Path(args.out))
    print(f"wrote a {args.kind} tokenizer of {tokenizer.size:,} tokens to {args.out}")
    return 0


def run_tokenizer_encode(args: argparse.Namespace) -> int:
    from headwise.models.folder.load import read_tokenizer

    tokenizer = read_tokenizer(model_folder(args))
    for line in read_lines(args.input):
        ids = tokenizer.encode(line)
        print(" ".join(map(str, ids) if args.ids else tokenizer.pieces(ids)))
    return 0


def run_tokenizer_decode(args: argparse.Namespace) -> int:
    from headwise.models.folder.load import read_tokenizer

    tokenizer = read_tokenizer(model_folder(args))
    for number, line in enumerate(read_lines(args.input), 1):
        try:
            words = line.split()
            ids = [int(word) for word in words] if args.ids else tokenizer.piece_ids(words)
            if not all(0 <= i < tokenizer.size for i in ids):
                raise DataError(f"an id is beyond the vocabulary of {tokenizer.size:,} tokens")
            print(tokenizer.decode(ids))
        except (DataError, ValueError) as error:
            raise DataError(f"{args.input}:{number}: {error}") from None
    return 0
