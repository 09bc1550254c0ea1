"""headwise embed"""

import argparse
import json
from pathlib import Path
from typing import Any

from headwise.cli.options import add_command, add_model, add_texts, given_texts, model_folder, output
from headwise.errors import ConfigError


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
    import numpy as np

    from headwise.decode.embedder import Embedder

    texts = given_texts(args, "embed")
    embedder = Embedder(model_folder(args), device=args.device)
    if args.similarity:
        if args.json or args.raw:
            raise ConfigError("--similarity prints only cosines: leave out --json and --raw")
        everything = [text for chunk in texts for text in chunk]
        vectors = embedder.embed(everything, args.pooling)
        if args.output and args.output.endswith(".npy"):
            return save_array(args.output, (vectors @ vectors.T).numpy())
        with output(args.output) as file:
            for row in (vectors @ vectors.T).tolist():
                print("\t".join(f"{value:.4f}" for value in row), file=file)
        return 0
    if args.output and args.output.endswith(".npy"):
        if args.json:
            raise ConfigError("--json and an --output that ends in .npy exclude each other")
        rows = [embedder.embed(chunk, args.pooling, normalise=not args.raw).numpy() for chunk in texts if chunk]
        return save_array(args.output, np.concatenate(rows) if rows else np.zeros((0, embedder.width), np.float32))
    with output(args.output) as file:
        for chunk in texts:
            rows = embedder.embed(chunk, args.pooling, normalise=not args.raw).tolist()
            for text, row in zip(chunk, rows, strict=True):
                if args.json:
                    print(json.dumps({"text": text, "vector": row}, ensure_ascii=False), file=file)
                else:
                    print("\t".join(f"{value:.7g}" for value in row), file=file)
            file.flush()
    return 0


def save_array(path: str, array: Any) -> int:
    import numpy as np

    from headwise.files.atomic import replacing

    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        np.save(file, array)
    return 0
