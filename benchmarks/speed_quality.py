"""Quality against speed: translators of several sizes on one test set, on this machine.

    python benchmarks/speed_quality.py base=runs/base deep=runs/deep small=runs/small \
        --source newstest2014.en.xz --reference newstest2014.de.xz --plot docs/images/speed_quality.png

Each model, greedy and with a beam of 4, translates the whole file, and then some of its lines one by one. One
JSON line per row. The fastest repeat counts; the models take turns.
"""

import argparse
import itertools
import math
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from rows import Row, add_output, show, write

from headwise.data.read.files import numbered_lines
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.evaluate import compare
from headwise.models.folder.weights import parameter_count

SINGLE = 50
"""Sentences that are translated one by one."""


def measure(
    models: dict[str, Translator], beam: int, texts: list[str], references: list[str], repeats: int
) -> list[Row]:
    options = TranslateOptions(beam=beam)
    some = texts[:: max(1, len(texts) // SINGLE)][:SINGLE]
    seconds = dict.fromkeys(models, math.inf)
    alone = {name: [math.inf] * len(some) for name in models}
    rows: dict[str, Row] = {}
    for _ in range(repeats):
        for name, translator in models.items():
            begun = time.perf_counter()
            found = translator.translate(texts, options=options)
            seconds[name] = min(seconds[name], time.perf_counter() - begun)
            for i, text in enumerate(some):
                begun = time.perf_counter()
                translator.translate([text], options=options)
                alone[name][i] = min(alone[name][i], time.perf_counter() - begun)
            words = sum(len(each.text.split()) for each in found)
            rows[name] = {
                "model": name, "beam": beam, "engine": translator.engine,
                "million weights": round(parameter_count(translator.model) / 1e6, 1),
                "BLEU": round(compare([each.text for each in found], references).bleu, 2),
                "seconds": round(seconds[name], 2), "words/s": round(words / seconds[name]),
                "ms per sentence": round(1000 * statistics.median(alone[name]), 1),
            }  # fmt: skip
    return list(rows.values())


def plot(rows: list[Row], path: Path) -> None:
    from matplotlib import pyplot
    from matplotlib.ticker import LogLocator

    figure, axis = pyplot.subplots(figsize=(7, 4.5))
    labels = []
    for beam, mark in ((4, "o"), (1, "s")):
        some = sorted((row for row in rows if row["beam"] == beam), key=lambda row: -row["words/s"])
        label = "greedy" if beam == 1 else f"beam {beam}"
        points = axis.plot([row["words/s"] for row in some], [row["BLEU"] for row in some], mark, label=label)
        # The curve joins the models that no model about as fast, or faster, surpasses in BLEU.
        best = [
            row
            for row in some
            if all(row["BLEU"] >= other["BLEU"] for other in some if other["words/s"] > 0.9 * row["words/s"])
        ]
        colour = points[0].get_color()
        axis.plot([row["words/s"] for row in best], [row["BLEU"] for row in best], color=colour, alpha=0.5)
        labels += [(row["model"], row["words/s"], row["BLEU"], colour) for row in some]
    axis.set_xscale("log")
    axis.margins(0.2)
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.xaxis.set_minor_formatter("")
    axis.set_xlabel("words per second, whole file")
    axis.set_ylabel("BLEU")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.tight_layout()
    place_labels(axis, labels)
    figure.savefig(path, dpi=120)


def place_labels(axis: Any, labels: list[tuple[str, float, float, str]]) -> None:
    """Write each label beside its point, on the side where it covers the fewest points, curves and labels."""
    along = np.linspace(0, 1, 50)[:, None]
    curves = [line for line in axis.lines if line.get_linestyle() != "None"]
    lines = [axis.transData.transform(line.get_xydata()) for line in curves]
    drawn = np.concatenate([a + along * (b - a) for line in lines for a, b in itertools.pairwise(line)])
    points = axis.transData.transform([(x, y) for _, x, y, _ in labels])
    boxes: list[Any] = []
    sides = [(9, 0), (-9, 0), (0, 14), (0, -14), *((x, y) for y in (9, -9, 18, -18) for x in (9, -9))]
    for text, x, y, colour in labels:
        tried = []
        for across, up in sides:
            label = axis.annotate(
                text, (x, y), xytext=(across, up), textcoords="offset points", fontsize=9, color=colour,
                ha={9: "left", 0: "center", -9: "right"}[across], va="center",
            )  # fmt: skip
            box = label.get_window_extent()
            covered = 2 * sum(box.padded(5).contains(*point) for point in points)
            covered += any(box.contains(*point) for point in drawn) + 4 * sum(box.overlaps(other) for other in boxes)
            tried.append((covered, len(tried), label, box))
        _, _, kept, box = min(tried, key=lambda each: each[:2])
        boxes.append(box)
        for *_, label, _ in tried:
            if label is not kept:
                label.remove()


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
    models = {name: Translator(folder, device=args.device, engine=args.engine) for name, folder in given.items()}
    rows = [row for beam in args.beam for row in measure(models, beam, texts, references, args.repeats)]
    show(rows, ["model", "beam", "engine", "million weights", "BLEU", "seconds", "words/s", "ms per sentence"])
    write(rows, args.json)
    if args.plot:
        plot(rows, args.plot)


if __name__ == "__main__":
    main()
