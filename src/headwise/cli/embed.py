"""The command `headwise embed`: sentence embeddings."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.cli.options import add_command, add_model, add_texts, given_texts, model_folder, output
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.embedder import Embedder


def add_embed(commands: Any) -> None:
    command = add_command(
        commands,
        "embed",
        run_embed,
        "Compute sentence embeddings, one vector per line.",
        """
headwise embed --model minilm "A man is eating." "Someone has a meal."
headwise embed --model minilm --input sentences.txt --output vectors.npy
headwise embed --model minilm --similarity "A man is eating." "Someone has a meal." "It rains."

Numbers are separated by tabs; an --output that ends in .npy is a NumPy array [texts, width]. With --similarity
the cosine similarity of all pairs of texts is printed or saved instead.
""",
    )
    add_texts(command, "embed")
    add_model(command)
    command.add_argument(
        "--pooling",
        choices=("mean", "first", "last"),
        help="how token vectors become one (default: what the model's folder names, else mean)",
    )
    command.add_argument("--raw", action="store_true", help="do not scale the vectors to length 1")
    command.add_argument("--similarity", action="store_true", help="print the cosine similarity of every two texts")


def run_embed(args: argparse.Namespace) -> int:
    from headwise.decode.embedder import Embedder

    is_array = bool(args.output) and args.output.endswith(".npy")
    if args.similarity and (args.json or args.raw):
        raise ConfigError("--similarity prints only cosines: leave out --json and --raw")
    if args.json and is_array:
        raise ConfigError("--json and an --output that ends in .npy exclude each other")
    texts = given_texts(args, "embed")
    results = embedded(args, Embedder(model_folder(args), device=args.device), texts)
    if is_array:
        return save_array(args.output, [rows for _, rows in results])
    figure = ".4f" if args.similarity else ".7g"
    with output(args.output) as file:
        for chunk, rows in results:
            for text, row in zip(chunk, rows.tolist(), strict=True):
                record = {"text": text, "vector": row}
                line = json.dumps(record, ensure_ascii=False) if args.json else "\t".join(f"{x:{figure}}" for x in row)
                print(line, file=file)
            file.flush()
    return 0


def embedded(
    args: argparse.Namespace, embedder: "Embedder", texts: Iterator[list[str]]
) -> Iterator[tuple[list[str], Any]]:
    """Chunks of texts with their vectors; with --similarity one chunk, with the cosines of each text to all."""
    if args.similarity:
        everything = [text for chunk in texts for text in chunk]
        vectors = embedder.embed(everything, args.pooling)
        yield everything, (vectors @ vectors.T).numpy()
    else:
        for chunk in texts:
            yield chunk, embedder.embed(chunk, args.pooling, normalise=not args.raw).numpy()


def save_array(path: str, parts: list[Any]) -> int:
    import numpy as np

    from headwise.files.atomic import replacing

    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        np.save(file, np.concatenate(parts))
    return 0
