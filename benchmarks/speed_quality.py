"""What a smaller model costs in quality, and what it gains in speed: translators on the same test set, on this machine.

    python benchmarks/speed_quality.py base=runs/base deep=runs/deep small=runs/small \
        --source newstest2014.en.xz --reference newstest2014.de.xz --plot docs/images/speed_quality.png

Each model, greedy and with a beam of 4, translates the whole file and then sentence by sentence some of its lines. One
JSON line a row. Of the repeats the fastest counts; models take turns.
"""

import argparse
import statistics
import time
from pathlib import Path

from rows import Row, add_output, show, write

from headwise.data.files import numbered_lines
from headwise.decode.translator import TranslateOptions, Translator
from headwise.evaluate import compare
from headwise.models.weights import parameter_count

SINGLE = 50
"""Sentences that are translated one by one."""


def measure(
    models: dict[str, Translator], beam: int, texts: list[str], references: list[str], repeats: int
) -> list[Row]:
    options = TranslateOptions(beam=beam, alignments=False)
    seconds: dict[str, list[float]] = {name: [] for name in models}
    rows: dict[str, Row] = {}
    for _ in range(repeats):
        for name, translator in models.items():
            begun = time.perf_counter()
            found = translator.translate(texts, options=options)
            seconds[name].append(time.perf_counter() - begun)
            words = sum(len(each.text.split()) for each in found)
            rows[name] = {
                "model": name, "beam": beam, "engine": translator.engine,
                "BLEU": round(compare([each.text for each in found], references).bleu, 2),
                "seconds": round(min(seconds[name]), 2), "words/s": round(words / min(seconds[name])),
            }  # fmt: skip
    for name, translator in models.items():
        alone = []
        for text in texts[:: max(1, len(texts) // SINGLE)][:SINGLE]:
            begun = time.perf_counter()
            translator.translate([text], options=options)
            alone.append(time.perf_counter() - begun)
        rows[name]["ms a sentence"] = round(1000 * statistics.median(alone), 1)
        rows[name]["million weights"] = round(parameter_count(translator.model) / 1e6, 1)
    return list(rows.values())


def plot(rows: list[Row], path: Path) -> None:
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 4.5))
    for beam, mark in ((4, "o"), (1, "s")):
        some = sorted((row for row in rows if row["beam"] == beam), key=lambda row: row["words/s"])
        label = "greedy" if beam == 1 else f"beam {beam}"
        axis.plot([row["words/s"] for row in some], [row["BLEU"] for row in some], f"{mark}-", label=label)
        for row in some:
            axis.annotate(
                row["model"], (row["words/s"], row["BLEU"]), xytext=(6, 6), textcoords="offset points", fontsize=9
            )
    axis.set_xscale("log")
    axis.set_xlabel("words a second, whole file")
    axis.set_ylabel("BLEU")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=0, help="so many from the start (default: all)")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--beam", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--plot", type=Path)
    add_output(parser)
    args = parser.parse_args()
    texts, references = (
        [text for _, text in numbered_lines(path)][: args.lines or None] for path in (args.source, args.reference)
    )
    given = dict(each.split("=", 1) for each in args.models)
    models = {name: Translator(folder, args.device, args.engine) for name, folder in given.items()}
    rows = [row for beam in args.beam for row in measure(models, beam, texts, references, args.repeats)]
    show(rows, ["model", "beam", "engine", "million weights", "BLEU", "seconds", "words/s", "ms a sentence"])
    write(rows, args.json)
    if args.plot:
        plot(rows, args.plot)


if __name__ == "__main__":
    main()
