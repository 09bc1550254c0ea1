"""WikiText-2 by words: a Transformer against an LSTM with as many parameters, and the FLOPs of each.

    python benchmarks/lm.py /path/to/wikitext-2 --out runs/wikitext2

Trains recipes/wikitext2_*.toml, unless they are trained already, and prints for each the perplexity per word of the
test set, with the weights of the best validation. Line ends count as words (`<eos>`), as usual for this text: 245,569
words, each predicted from at most 127 before it. FLOPs of training are counted, not measured: 6 per weight of a matrix
product and token - 2 forward, 4 backward - and in attention 6 * (T + 1) * D per layer and token, since a query attends
to half of T keys on average. The tied matrix counts once, as output; embedding lookups are free.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from rows import Row, add_output, show, write

from headwise.config import ModelConfig, Recipe
from headwise.data.read.files import numbered_lines
from headwise.models.folder.config_file import SCORES
from headwise.models.folder.load import load
from headwise.models.folder.weights import parameter_count, weights_of
from headwise.recipe import from_tables
from headwise.train.report.console import read_log
from headwise.train.run_folder import stored_recipe

RECIPES = Path(__file__).parent.parent / "recipes"
MODELS = ("transformer", "lstm")
PARTS = ("train", "valid", "test")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of WikiText-2: train.txt, valid.txt, test.txt, or .xz")
    parser.add_argument("--only", choices=MODELS, help="train this one and stop")
    parser.add_argument("--prepare", action="store_true", help="write the text and stop")
    parser.add_argument("--set", dest="settings", nargs="+", default=[], metavar="KEY=VALUE", help="for both models")
    parser.add_argument("--out", type=Path, default=Path("runs/wikitext2"))
    add_output(parser)
    args = parser.parse_args()
    text = prepare(args.data, args.out / "text")
    if args.prepare:
        return
    for model in [args.only] if args.only else MODELS:
        if not (args.out / model / SCORES).exists():
            train(model, text, args.out / model, args.settings)
    if args.only:
        return
    rows = [measured(args.out / model) for model in MODELS]
    show(rows, ["model", "parameters", "steps", "tokens", "perplexity", "PFLOP", "of these in layers", "seconds"])
    write(rows, args.json)


def prepare(data: Path, out: Path) -> Path:
    """The text with its line ends written as words."""
    out.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        if not (out / f"{part}.txt").exists():
            source = next(path for path in (data / f"{part}.txt", data / f"{part}.txt.xz") if path.exists())
            lines = [f"{line.strip()} <eos>".lstrip() for _, line in numbered_lines(source)]
            (out / f"{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return out


def train(model: str, text: Path, out: Path, settings: list[str]) -> None:
    recipe = RECIPES / f"wikitext2_{model}.toml"
    command = [sys.executable, "-m", "headwise", "train", str(recipe), "--out", str(out)]
    subprocess.run([*command, "--set", f"data.folder={text}", *settings], check=True)


def measured(run: Path) -> Row:
    recipe = from_tables(Recipe, stored_recipe(run))
    model = load(run).model
    scores = json.loads((run / SCORES).read_text(encoding="utf-8"))["test set"]
    records = read_log(run)
    last = [record for record in records if record["kind"] == "train"][-1]
    best = min((record for record in records if record["kind"] == "valid"), key=lambda record: record["loss"])
    output = model.output_projection.weight.numel()  # type: ignore[union-attr, operator]
    layers = sum(weight.numel() for name, weight in weights_of(model).items() if matrix(name, weight.dim()))
    attention = attention_flops(recipe.model, recipe.language.block)
    tokens = last["tokens"]
    return {
        "benchmark": "wikitext-2",
        "model": run.name,
        "parameters": parameter_count(model),
        "weights in layers": layers,
        "steps": last["step"],
        "best step": best["step"],
        "tokens": tokens,
        "validation loss": best["loss"],
        "perplexity": scores["word_perplexity"],
        "test tokens": scores["tokens"],
        "PFLOP": tokens * (6 * (layers + output) + attention) / 1e15,
        "of these in layers": tokens * (6 * layers + attention) / 1e15,
        "seconds": last["seconds"],
        "seed": recipe.seed,
    }


def matrix(name: str, dimensions: int) -> bool:
    """Whether a weight is multiplied with tokens; embeddings of words and positions are only looked up."""
    return dimensions == 2 and name.startswith("decoder.")


def attention_flops(model: ModelConfig, block: int) -> int:
    """FLOPs of attention per token, forward and backward: 4 * D per key and layer for scores and weighted sums."""
    return 0 if model.stack == "lstm" else 3 * 4 * model.width * model.layers * (block + 1) // 2


if __name__ == "__main__":
    main()
