"""Memory of a whole training run on millions of synthetic pairs, beyond that of the model itself.

    python benchmarks/memory.py                             # 5 million pairs, about ten minutes on 2 cores
    python benchmarks/memory.py --pairs 200000 --steps 10   # a quick look

The memory of a separate process is sampled from outside. Anonymous memory counts (RssAnon, which the system cannot
reclaim). Mapped files (RssFile: libraries and the corpus) are shown beside it: the system drops their pages when it
needs memory. The memory of the model itself is that of a control process that imports torch and takes one optimiser
step of the same model on a single short pair.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rows import Row, add_output, show, write

BAR = 1.5e9
"""Bytes that a run may use beyond those of the model."""

PHASES = {
    "reading": "read and clean",
    "training the tokenizer": "tokenizer",
    "encoding": "encode",
    "using": "open",
    "translating": "final test",
}
"""Messages of the run that begin a phase. Training begins with the description of the model."""

WORDS = 50_000
CHUNK = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5_000_000, metavar="N", help="default: 5,000,000")
    parser.add_argument("--steps", type=int, default=100, metavar="N", help="training steps (default: 100)")
    parser.add_argument("--preset", default="tiny", help="the model (default: tiny)")
    parser.add_argument("--tokenizer", default="unigram", metavar="KIND", help="text.kind (default: unigram)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where corpus and run go; kept (default: temporary)")
    parser.add_argument("--worker", nargs=2, metavar=("WHAT", "DIR"), help=argparse.SUPPRESS)
    add_output(parser)
    args = parser.parse_args()
    if args.worker:
        what, folder = args.worker
        (run if what == "run" else control)(Path(folder), args)
        return
    with tempfile.TemporaryDirectory(prefix="headwise-memory-") as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        measure(folder, args)


def measure(folder: Path, args: argparse.Namespace) -> None:
    began = time.perf_counter()
    make_corpus(folder / "pairs.tsv", args.pairs)
    print(f"{args.pairs:,} pairs made in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    phases = sampled("run", folder)
    own = max(peak["private"] for peak in sampled("control", folder).values())
    rows: list[Row] = [
        {
            "phase": phase,
            "seconds": peak["seconds"],
            "private MB": peak["private"] / 1e6,
            "mapped files MB": peak["files"] / 1e6,
            "above the model MB": (peak["private"] - own) / 1e6,
            "share of the bar": (peak["private"] - own) / BAR,
        }
        for phase, peak in phases.items()
    ]
    show(rows, list(rows[0]))
    above = max(peak["private"] for peak in phases.values()) - own
    verdict = "kept" if above < BAR else "BROKEN"
    print(f"the model's own: {own / 1e6:,.0f} MB; peak above it: {above / 1e6:,.0f} MB")
    print(f"that is {above / BAR:.2f} of the bar of {BAR / 1e6:,.0f} MB: {verdict}")
    setting = {"benchmark": "memory", "pairs": args.pairs, "preset": args.preset, "tokenizer": args.tokenizer}
    write([{**setting, **row, "model MB": own / 1e6} for row in rows], args.json)


def make_corpus(path: Path, pairs: int, seed: int = 1) -> None:
    """Sentences of 3 to 30 words whose frequencies follow Zipf's law; a target has its source's words, in turn."""
    rng = np.random.default_rng(seed)
    source, target = made_up_words("aeiou", "bdfgklmnprstvz", rng), made_up_words("aeiouy", "cfhjklmnqrstwx", rng)
    chances = 1 / np.arange(1, WORDS + 1)
    thresholds = np.cumsum(chances) / chances.sum()
    with path.open("w", encoding="utf-8") as stream:
        for start in range(0, pairs, CHUNK):
            lengths = rng.integers(3, 31, min(CHUNK, pairs - start))
            words = np.minimum(np.searchsorted(thresholds, rng.random(lengths.sum())), WORDS - 1)
            left, right = source[words].tolist(), target[words].tolist()
            ends = np.cumsum(lengths).tolist()
            for begin, end in zip([0, *ends], ends, strict=False):
                stream.write(f"{' '.join(left[begin:end])}\t{' '.join(right[begin:end])}\n")


def made_up_words(vowels: str, consonants: str, rng: np.random.Generator) -> Any:
    """Words of two or three syllables, in random order."""
    syllables = [first + second for first, second in product(consonants, vowels)]
    words = ["".join(parts) for count in (2, 3) for parts in product(syllables, repeat=count)]
    return np.array([words[i] for i in rng.permutation(len(words))[:WORDS]], dtype=object)


def sampled(what: str, folder: Path) -> dict[str, dict[str, float]]:
    """Run a worker and sample its memory ten times per second: the peaks of each phase, in bytes."""
    command = [sys.executable, __file__, *sys.argv[1:], "--worker", what, str(folder)]
    peaks: dict[str, dict[str, float]] = {}
    phase = ["start"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:

        def follow() -> None:
            assert worker.stdout is not None
            for line in worker.stdout:
                print(f"  {line.rstrip()}", file=sys.stderr)
                phase[0] = next((name for word, name in PHASES.items() if line.startswith(word)), phase[0])
                if "million parameters" in line:
                    phase[0] = "train"

        follower = threading.Thread(target=follow)
        follower.start()
        while worker.poll() is None:
            held = dict(memory(worker.pid))
            peak = peaks.setdefault(phase[0], {"private": 0.0, "files": 0.0, "seconds": 0.0})
            peak["private"] = max(peak["private"], held.get("RssAnon", 0) + held.get("RssShmem", 0))
            peak["files"] = max(peak["files"], held.get("RssFile", 0))
            began = time.perf_counter()
            time.sleep(0.1)
            peak["seconds"] += time.perf_counter() - began
        follower.join()
        if worker.returncode:
            raise SystemExit(f"the {what} failed")
    return peaks


def memory(pid: int) -> Iterator[tuple[str, float]]:
    """The resident memory of a process by kind, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        if line.startswith("Rss"):
            name, value = line.split(":")
            yield name, float(value.split()[0]) * 1024


def run(folder: Path, args: argparse.Namespace) -> None:
    """The worker: what `headwise train --pairs` does."""
    from headwise.presets import resolve
    from headwise.train.run import train

    train(resolve(tables(folder, args)), say=lambda text: print(text, flush=True))


def control(folder: Path, args: argparse.Namespace) -> None:
    """The other worker: only the same model, its gradients and Adam's moments."""
    import torch

    from headwise.data.batch.padded_pairs import PaddedBatch
    from headwise.files.tables import read_json
    from headwise.models.build import build
    from headwise.presets import resolve
    from headwise.train.step.optimiser import clip_gradients, make_optimiser
    from headwise.train.tasks.translation_task import teacher_forcing

    recipe = resolve(tables(folder, args))
    model = build(recipe.model, read_json(folder / "run" / "config.json")["vocabulary"], pad=0)
    optimiser = make_optimiser(model, recipe)
    tokens = torch.arange(1, 9)[None]
    loss = teacher_forcing(0.1)(model, PaddedBatch(tokens, tokens, [(0, 0)], 8, 7)).loss
    torch.autograd.backward(loss)
    clip_gradients(model, 1.0)
    optimiser.step()
    time.sleep(1)  # so that the peak is seen


def tables(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    train: dict[str, Any] = {"steps": args.steps, "log_every": 20, "validate_pairs": 50, "device": "cpu"}
    corpus = {"pairs": [str(folder / "pairs.tsv")]}
    return {
        "out": str(folder / "run"),
        "model": {"preset": args.preset},
        "text": {"kind": args.tokenizer},
        "data": {"source_language": "xx", "target_language": "yy", "train": [corpus], "held_out": 200},
        "train": train,
    }


if __name__ == "__main__":
    main()
