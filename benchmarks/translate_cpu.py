"""Translation speed on a CPU: Headwise's engines, CTranslate2 and `transformers`, with the same weights, interleaved.

    python benchmarks/translate_cpu.py                                  # batches of 1 and 16, greedy and beam 4
    python benchmarks/translate_cpu.py --systems int8 ctranslate2-int8 --batch 16 --beam 4 --repeats 10
    python benchmarks/translate_cpu.py --systems int8 ctranslate2-int8 --isa avx2        # both limited to AVX2
    python benchmarks/translate_cpu.py --model opus-mt-en-fr --source test.en.xz --reference test.fr.xz --lines 400
    python benchmarks/translate_cpu.py --memory                         # memory and start-up, one process per system
    python benchmarks/translate_cpu.py --growth --plot docs/images/translate_cpu.png

A random Transformer base, 64 sentences of 25 tokens, translations of 25. The fastest repeat counts; for batches of one
sentence the median and the 95th percentile are reported too. CPU seconds beside the clock reveal a busy machine. The
int8 peak of the CPU is measured in between (int8_peak.py), and systems in int8 are compared with it, both by CPU
seconds, which other processes disturb least.
"""

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from int8_peak import measured_peak, multiply_adds
from rows import Row, add_output, show, write
from translate_common import CTranslate2, Run, Transformers, opened, ours, random_sources

from headwise.data.read.files import numbered_lines
from headwise.decode.batching import BATCH_TOKENS
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.evaluate import compare
from headwise.models.export.ctranslate2 import write_translator
from headwise.models.export.sidecar import vocabularies
from headwise.models.folder.description import LoadedModel
from headwise.models.folder.load import convert, load, save_model
from headwise.models.folder.weights import weights_of
from headwise.models.published.exchange import export_published
from headwise.models.published.formats.huggingface import write_folder

DEVICE = torch.device("cpu")
ISA = {
    "avx2": {
        "HEADWISE_ISA": "avx2",
        "CT2_FORCE_CPU_ISA": "AVX2",  # of CTranslate2's own code; its products are computed by one of these:
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
}
"""Environment variables that limit all systems to an instruction set; to be set before the libraries are loaded."""
SYSTEMS = ("int8", "plain", "ctranslate2-int8", "ctranslate2", "transformers")


def make(name: str, folder: str, preset: str) -> tuple[LoadedModel, Run]:
    import copy
    import dataclasses

    loaded = opened(folder, preset)
    loaded = dataclasses.replace(loaded, model=copy.deepcopy(loaded.model))  # an engine may quantise it
    if name == "transformers":
        return loaded, Transformers(loaded, DEVICE, torch.float32)
    if name.startswith("ctranslate2"):
        return loaded, CTranslate2(loaded, precision_of(name))
    return loaded, ours(loaded, name, DEVICE)


def precision_of(system: str) -> str:
    return "int8" if system.endswith("int8") else "float32"


def measure(
    runs: dict[str, tuple[LoadedModel, Run]], batch: int, beam: int, length: int, args: argparse.Namespace
) -> list[Row]:
    """Time all systems in turns, repeatedly."""
    clock: dict[str, list[float]] = {name: [] for name in runs}
    work: dict[str, list[float]] = {name: [] for name in runs}
    count = max(batch, args.sentences // 4) if batch == 1 else max(batch, args.sentences)
    peaks = dict.fromkeys((1, torch.get_num_threads()), 0.0)
    for repeat in range(args.repeats + 1):
        peaks = {threads: max(before, measured_peak(threads)) for threads, before in peaks.items()}
        for name, (loaded, run) in runs.items():
            sources = random_sources(loaded, count, length)
            for first in range(0, count, batch):
                chunk = sources[first : first + batch]
                begun, cpu = time.perf_counter(), time.process_time()
                run(chunk, beam, length)
                if repeat and len(chunk) == batch:  # the first is for warming up
                    clock[name].append(time.perf_counter() - begun)
                    work[name].append(time.process_time() - cpu)
    rows = []
    for name in runs:
        tokens = batch * length
        row: Row = {"system": name, "batch": batch, "beam": beam, "length": length}
        row["tokens/s"] = round(tokens / min(clock[name]))
        row["median tokens/s"] = round(tokens / statistics.median(clock[name]))
        row["tokens/CPU s"] = round(tokens / min(work[name]))
        if batch == 1:
            row["median ms"] = round(statistics.median(clock[name]) * 1e3, 1)
            row["95 % ms"] = round(sorted(clock[name])[math.ceil(0.95 * len(clock[name])) - 1] * 1e3, 1)
        if name.endswith("int8"):
            row |= of_peak(runs[name][0], batch, beam, length, min(work[name]), peaks)
        rows.append(row)
    return rows


def of_peak(loaded: LoadedModel, batch: int, beam: int, length: int, seconds: float, peaks: Mapping[int, float]) -> Row:
    """The share of the int8 peak of as many threads that a batch in so many CPU seconds has reached.

    The first step of a search has one hypothesis per sentence, the others have `beam`.
    """
    steps = batch * (1 + beam * (length - 1))
    threads = torch.get_num_threads()
    rate = threads * multiply_adds(loaded).of(batch * (length + 1), steps) / seconds
    row: Row = {f"peak GOP/s, {count} thread{'s' * (count > 1)}": round(2e-9 * peak) for count, peak in peaks.items()}
    return {"GOP/s": round(2e-9 * rate), "% of int8 peak": round(100 * rate / peaks[threads], 1), **row}


def text_system(name: str, model: str) -> Callable[[list[str], int], tuple[list[str], int]]:
    """A function from texts and a beam to translations and the number of their tokens."""
    if name.startswith("ctranslate2"):
        loaded = load(model)
        assert loaded.tokenizer is not None
        theirs, tokenizer = CTranslate2(loaded, precision_of(name)), loaded.tokenizer

        def theirs_run(texts: list[str], beam: int) -> tuple[list[str], int]:
            found = theirs.translate(texts, beam, BATCH_TOKENS)
            return [tokenizer.decode(ids) for ids in found], sum(map(len, found))

        return theirs_run
    translator = Translator(model, device="cpu", engine=name)

    def run(texts: list[str], beam: int) -> tuple[list[str], int]:
        found = translator.translate(texts, options=TranslateOptions(beam=beam))
        return [each.text for each in found], sum(len(each.tokens) for each in found)

    return run


def whole_file(args: argparse.Namespace) -> list[Row]:
    """Translated from text to text, as `headwise translate` does."""
    texts = [text for _, text in itertools.islice(numbered_lines(args.source), args.lines or None)]
    wanted = [text for _, text in itertools.islice(numbered_lines(args.reference), args.lines or None)]
    names = [name for name in args.systems if name != "transformers"]
    systems = {name: text_system(name, args.model) for name in names}
    rows: dict[tuple[str, int], Row] = {}
    for _, beam, name in itertools.product(range(args.repeats), args.beam, names):
        begun, cpu = time.perf_counter(), time.process_time()
        found, tokens = systems[name](texts, beam)
        spent, worked = time.perf_counter() - begun, time.process_time() - cpu
        before = rows.get((name, beam), {"tokens/s": 0})
        if tokens / spent > before["tokens/s"]:
            bleu = compare(found, wanted).bleu
            rows[name, beam] = {
                "system": name, "beam": beam, "sentences/s": round(len(texts) / spent, 1),
                "tokens/s": round(tokens / spent), "tokens/CPU s": round(tokens / worked), "BLEU": round(bleu, 2),
            }  # fmt: skip
        print(rows[name, beam], file=sys.stderr, flush=True)
    return list(rows.values())


def memory(args: argparse.Namespace) -> list[Row]:
    """Peak resident megabytes and start-up seconds of one process per system, with the model in its own format."""
    loaded = opened(args.model, args.preset)
    assert loaded.tokenizer is not None
    count, length = max(args.batch), args.length
    sources = random_sources(loaded, count, length)
    pieces = vocabularies(loaded.tokenizer, loaded.description.rows)[0]
    models = [Path(args.model) / name for name in ("source.spm", "target.spm")]
    given = {
        "threads": args.threads,
        "sentencepiece": [str(path.resolve()) for path in models if path.is_file()],
        "length": length,
        "ids": sources,
        "texts": [loaded.tokenizer.decode(ids[:-1]) for ids in sources],
        "pieces": [[pieces[i] for i in ids[:-1]] for ids in sources],
    }
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for system in args.systems:
            folder = write_model(loaded, system, Path(name) / system)
            described = Path(name) / f"{system}.json"
            described.write_text(json.dumps({**given, "system": system, "folder": str(folder)}), encoding="utf-8")
            row: Row = {"system": system, "batch": count, "beam": 4}
            for _ in range(args.repeats):
                command = [sys.executable, str(Path(__file__).with_name("translate_memory.py")), str(described)]
                done = subprocess.run(
                    [*command, str(time.time())],
                    env=os.environ | {"OMP_NUM_THREADS": str(args.threads)},
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                told = {each["after"]: each for each in map(json.loads, done.stdout.splitlines())}
                for after, what in (("one sentence", "1 sentence MB"), ("a batch", "batch MB")):
                    row[what] = max(row.get(what, 0), told[after]["peak"])
                first = told["one sentence"]["seconds"]
                row["first translation s"] = min(row.get("first translation s", first), first)
            rows.append(row)
    return rows


def write_model(loaded: LoadedModel, system: str, folder: Path) -> Path:
    """The model as this system reads it."""
    folder.mkdir()
    if system.startswith("ctranslate2"):
        write_translator(loaded, folder, precision_of(system))
    elif system == "transformers":
        described = loaded.description
        weights = weights_of(loaded.model)
        write_folder(
            folder, *export_published(loaded.config, weights, described.rows, described.specials, "marian", ())
        )
    else:
        save_model(folder / "plain", loaded)
        if system == "int8":
            convert(folder / "plain", folder / "int8", "headwise", precision="int8")
        return folder / system
    return folder


def growth(args: argparse.Namespace) -> list[Row]:
    """Tokens per second by batch, beam, source length and threads, varied one at a time."""
    rows: list[Row] = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        runs = {name: make(name, args.model, args.preset) for name in args.systems}
        cases = [(batch, 1, 25) for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256)]
        cases += [(16, beam, 25) for beam in (2, 4, 8, 16)] + [(16, 1, length) for length in (5, 50, 100, 250, 500)]
        for batch, beam, length in cases:
            args.sentences = batch
            rows += [{"threads at work": threads, **row} for row in measure(runs, batch, beam, length, args)]
            print(rows[-1], file=sys.stderr, flush=True)
    if args.plot:
        plot(rows, args.plot)
    return rows


def plot(rows: list[Row], path: Path) -> None:
    from matplotlib import pyplot
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    figure, axes = pyplot.subplots(1, 3, figsize=(13, 4), sharey=True)
    panels = {
        "batch": ("beam", 1, "length", 25),
        "beam": ("batch", 16, "length", 25),
        "length": ("batch", 16, "beam", 1),
    }
    for axis, (key, (one, at, other, there)) in zip(axes, panels.items(), strict=True):
        for system, threads in dict.fromkeys((row["system"], row["threads at work"]) for row in rows):
            chosen = sorted(
                (row[key], row["tokens/s"])
                for row in rows
                if (row["system"], row["threads at work"]) == (system, threads)
                and row[one] == at
                and row[other] == there
            )
            axis.plot(
                *zip(*chosen, strict=True),
                "o-" if threads == 2 else "o--",
                label=f"{system}, {threads} thread{'s' * (threads > 1)}",
            )
        axis.set(xscale="log", yscale="log", xlabel="source tokens" if key == "length" else key)
        axis.xaxis.set_major_locator(FixedLocator(sorted({row[key] for row in rows})))
        axis.yaxis.set_major_locator(FixedLocator([100, 200, 500, 1000, 2000, 5000]))
        for each in (axis.xaxis, axis.yaxis):
            each.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            each.set_minor_locator(NullLocator())
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("target tokens per second")
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--model", default="", metavar="DIR", help="instead of a random model")
    parser.add_argument("--preset", default="base", help="of the random model")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--length", type=int, default=25)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", choices=ISA, help="instruction set that all systems are limited to")
    parser.add_argument("--source", type=Path, help="a whole file instead of batches; needs --model and --reference")
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--lines", type=int, default=0, help="of the file; 0: all")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--plot", type=Path)
    add_output(parser)
    args = parser.parse_args()
    if args.isa:
        os.environ |= ISA[args.isa]
    torch.set_num_threads(args.threads)
    columns = ["system", "batch", "beam", "tokens/s", "median tokens/s", "tokens/CPU s", "median ms", "95 % ms"]
    columns += ["GOP/s", "% of int8 peak"]
    rows: list[Row] = []
    if args.memory:
        rows = memory(args)
        columns = ["system", "batch", "beam", "1 sentence MB", "batch MB", "first translation s"]
    elif args.growth:
        rows, columns = growth(args), ["threads at work", "system", "batch", "beam", "length", "tokens/s"]
    elif args.source:
        if not (args.model and args.reference):
            parser.error("--source needs --model and --reference")
        rows, columns = whole_file(args), ["system", "beam", "sentences/s", "tokens/s", "tokens/CPU s", "BLEU"]
    else:
        runs = {name: make(name, args.model, args.preset) for name in args.systems}
        for batch, beam in itertools.product(args.batch, args.beam):
            rows += measure(runs, batch, beam, args.length, args)
            print(*rows[-len(runs) :], sep="\n", file=sys.stderr, flush=True)
    columns += [name for name in rows[0] if name.startswith("peak")]
    show(rows, columns)
    write(rows, args.json)


if __name__ == "__main__":
    main()
