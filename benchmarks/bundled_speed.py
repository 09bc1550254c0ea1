"""Speed of the bundled model on a CPU beside OPUS-MT English to French in CTranslate2, from text to text, interleaved.

    python benchmarks/bundled_speed.py --peer opus-mt-en-fr --source newstest2014.en.xz --lines 300

Both in int8, with as many threads, greedy and with beam 4: the whole file at once, and sentence by sentence. The
fastest repeat of the file counts, and for single sentences the median of each one's fastest repeat. CPU seconds beside
the clock reveal a busy machine. The peer has three times the decoder layers (6+6 against 6+2); the ratio
is what a user of either gets.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rows import Row, add_output, show, write
from translate_cpu import text_system

from headwise.data.read.files import numbered_lines
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator

System = Callable[[list[str], int], object]
SINGLE = 60
"""Sentences that are translated one by one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--peer", required=True, metavar="DIR", help="opus-mt-en-fr, which CTranslate2 runs in int8")
    parser.add_argument("--to", default="fr")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    add_output(parser)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    texts = [text for _, text in itertools.islice(numbered_lines(args.source), args.lines)]
    systems: dict[str, System] = {
        "bundled": bundled(args.model, args.to),
        "OPUS-MT, CTranslate2": text_system("ctranslate2-int8", args.peer),
    }
    rows = [
        {"what": what, "beam": beam, **row}
        for beam in args.beam
        for what, measured in (("file", whole_file), ("single sentences", one_by_one))
        for row in measured(systems, texts, beam, args.repeats)
    ]
    show(rows, ["what", "beam", "system", "sentences/s", "sentences/CPU s", "median ms", "ratio", "ratio by CPU s"])
    write([{"benchmark": "bundled_speed", **row} for row in rows], args.json)


def bundled(model: str, target: str) -> System:
    translator = Translator(model, device="cpu", engine="int8")

    def run(texts: list[str], beam: int) -> object:
        return translator.translate(texts, source="en", target=target, options=TranslateOptions(beam=beam))

    return run


def whole_file(systems: dict[str, System], texts: list[str], beam: int, repeats: int) -> list[Row]:
    times = {name: (float("inf"), float("inf")) for name in systems}
    for _, (name, run) in itertools.product(range(repeats), systems.items()):
        times[name] = min(times[name], timed(run, texts, beam))
    return compared(
        {
            name: {"sentences/s": len(texts) / clock, "sentences/CPU s": len(texts) / cpu}
            for name, (clock, cpu) in times.items()
        }
    )


def one_by_one(systems: dict[str, System], texts: list[str], beam: int, repeats: int) -> list[Row]:
    chosen = texts[:SINGLE]
    best = {name: [(float("inf"), float("inf"))] * len(chosen) for name in systems}
    for _, (i, text), (name, run) in itertools.product(range(repeats), enumerate(chosen), systems.items()):
        best[name][i] = min(best[name][i], timed(run, [text], beam))
    return compared(
        {
            name: {
                "sentences/s": len(chosen) / sum(clock for clock, _ in times),
                "sentences/CPU s": len(chosen) / sum(cpu for _, cpu in times),
                "median ms": round(1000 * statistics.median(clock for clock, _ in times), 1),
            }
            for name, times in best.items()
        }
    )


def timed(run: System, texts: list[str], beam: int) -> tuple[float, float]:
    """Seconds by the clock, and of the CPU."""
    begun, cpu = time.perf_counter(), time.process_time()
    run(texts, beam)
    return time.perf_counter() - begun, time.process_time() - cpu


def compared(rows: dict[str, Row]) -> list[Row]:
    """The rows, the first with its ratios to the last."""
    ours, theirs = rows["bundled"], list(rows.values())[-1]
    ours["ratio"] = round(ours["sentences/s"] / theirs["sentences/s"], 2)
    ours["ratio by CPU s"] = round(ours["sentences/CPU s"] / theirs["sentences/CPU s"], 2)
    return [{"system": name, **row} for name, row in rows.items()]


if __name__ == "__main__":
    main()
