"""Time and memory from raw files to the first batch, for several sizes of corpus.

    python benchmarks/data_startup.py --source en.xz --target de.xz                 # 0.1, 1 and 5 million pairs
    python benchmarks/data_startup.py --source a.en b.en --target a.de b.de --pairs 100000

The corpora are concatenated up to the requested size. If they are smaller, they are repeated, each time with another
mark at the end of both sides, so that no pair is a duplicate; the output says how often. They are written to compressed
files first (--suffix), which is not timed. A separate process then does what `headwise train` does: read, decompress,
clean, drop duplicates, hold out, train the tokenizer, encode, write, open, plan an epoch and make batches; a second
process starts from the prepared data. Wall-clock and CPU seconds are reported; memory is the anonymous memory of the
process and its workers.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from rows import Row, add_output, show, write

from headwise.data.batch.stream import batches_from

BAR = 60.0
"""Target: seconds from raw files to the first batch, per million pairs."""
BATCHES = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--target", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 1_000_000, 5_000_000], metavar="N")
    parser.add_argument("--suffix", default=".xz", choices=[".xz", ".gz", ""], help="of the files read (default: .xz)")
    parser.add_argument("--tokenizer", default="unigram", metavar="KIND", help="text.kind (default: unigram)")
    parser.add_argument("--batch-tokens", type=int, default=25_000, metavar="N", help="default: 25,000")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where files go; kept (default: temporary)")
    parser.add_argument("--worker", metavar="DIR", help=argparse.SUPPRESS)
    add_output(parser)
    args = parser.parse_args()
    if args.worker:
        work(Path(args.worker), args)
        return
    rows: list[Row] = []
    for pairs in args.pairs:
        with tempfile.TemporaryDirectory(prefix="headwise-startup-", dir=args.folder) as temporary:
            rows += measure(Path(temporary), pairs, args)
    show(rows, list(rows[0]))
    for row in rows:
        if row["phase"] == "all":
            rate = float(row["seconds"]) / max(1.0, float(row["pairs"]) / 1e6)
            verdict = "kept" if rate <= BAR else "BROKEN"
            print(
                f"{row['pairs']:,} pairs: {rate:.0f} s a million (up to a million: in all); the bar of 60 s: {verdict}"
            )
    setting = {"benchmark": "data_startup", "tokenizer": args.tokenizer, "suffix": args.suffix}
    sizes = dict.fromkeys(row["pairs"] for row in rows)
    write([{**setting, **as_line([row for row in rows if row["pairs"] == pairs])} for pairs in sizes], args.json)


def as_line(rows: list[Row]) -> Row:
    """The results for one size."""
    common = ("pairs", "repeated", "load before")
    phases = {row["phase"]: {key: value for key, value in row.items() if key not in (*common, "phase")} for row in rows}
    return {**{key: rows[0][key] for key in common}, "phases": phases}


def measure(folder: Path, pairs: int, args: argparse.Namespace) -> list[Row]:
    times = make_corpus(folder, pairs, args)
    rows: list[Row] = []
    for start in ("first", "second"):
        load = os.getloadavg()[0]
        phases = sampled(folder)
        whole = {"seconds": 0.0, "processor s": 0.0, "memory MB": 0.0}
        for values in phases.values():
            whole = {
                "seconds": whole["seconds"] + values["seconds"],
                "processor s": whole["processor s"] + values["processor s"],
                "memory MB": max(whole["memory MB"], values["memory MB"]),
            }
        for phase, values in [*phases.items(), ("all", whole)]:
            if start == "first" or phase == "all":
                name = phase if start == "first" else "second start"
                rows.append({"pairs": pairs, "phase": name, **values, "repeated": times, "load before": load})
    return rows


def make_corpus(folder: Path, pairs: int, args: argparse.Namespace) -> int:
    """Write two files of `pairs` lines; returns how often the corpora were repeated."""
    written = times = 0
    with opened(folder / f"pairs.src{args.suffix}") as left, opened(folder / f"pairs.tgt{args.suffix}") as right:
        while written < pairs:
            mark = f" [{times}]" if times else ""
            before = written
            for source, target in islice(lines_of(args.source, args.target), pairs - written):
                left.write(f"{source}{mark}\n")
                right.write(f"{target}{mark}\n")
                written += 1
            if written == before:
                raise SystemExit("the corpora are empty")
            times += 1
    return times


def lines_of(sources: Iterable[Path], targets: Iterable[Path]) -> Iterator[tuple[str, str]]:
    from headwise.data.read.pairs import read_parallel

    for source, target in zip(sources, targets, strict=True):
        for pair in read_parallel(source, target):
            yield pair.source, pair.target


def opened(path: Path) -> IO[str]:
    import gzip
    import lzma

    if path.suffix == ".xz":
        return lzma.open(path, "wt", encoding="utf-8", newline="\n", preset=1)
    if path.suffix == ".gz":
        return gzip.open(path, "wt", encoding="utf-8", newline="\n", compresslevel=3)
    return path.open("w", encoding="utf-8", newline="\n")


def sampled(folder: Path) -> dict[str, dict[str, Any]]:
    """Run a worker, and sample the memory of its processes ten times per second: the results of each phase."""
    command = [sys.executable, __file__, *sys.argv[1:], "--worker", str(folder)]
    phases: dict[str, dict[str, Any]] = {}
    current = ["import"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:

        def follow() -> None:
            assert worker.stdout is not None
            for line in worker.stdout:
                event = json.loads(line)
                print(f"  {event}", file=sys.stderr)
                if "begins" in event:
                    current[0] = event["begins"]
                else:
                    phases.setdefault(event.pop("phase"), {"memory MB": 0.0}).update(event)

        follower = threading.Thread(target=follow)
        follower.start()
        while worker.poll() is None:
            held = sum(private(pid) for pid in [worker.pid, *children(worker.pid)]) / 1e6
            phase = phases.setdefault(current[0], {"memory MB": 0.0})
            phase["memory MB"] = max(phase["memory MB"], held)
            time.sleep(0.1)
        follower.join()
        if worker.returncode:
            raise SystemExit("the worker failed")
    return {name: values for name, values in phases.items() if "seconds" in values}


def private(pid: int) -> float:
    """The anonymous memory of a process, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon", "RssShmem")))


def children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def work(folder: Path, args: argparse.Namespace) -> None:
    """The worker: what `headwise train` does before its first step, without the model."""
    phase = "import"
    began, used = time.perf_counter(), processor_seconds()

    def begins(name: str, **more: Any) -> None:
        nonlocal phase, began, used
        now, spent = time.perf_counter(), processor_seconds()
        print(json.dumps({"phase": phase, "seconds": now - began, "processor s": spent - used, **more}), flush=True)
        print(json.dumps({"begins": name}), flush=True)
        phase, began, used = name, now, spent

    from headwise.config import CorpusConfig, DataConfig, TextConfig
    from headwise.data.batch.padded_pairs import PaddedPairStream
    from headwise.data.prepare import passes
    from headwise.data.prepare.parallel_text import PairPreparation
    from headwise.text.kinds import train_tokenizer

    def trained(*given: Any) -> Any:
        begins("tokenizer")
        tokenizer = train_tokenizer(*given)
        begins("encode and write")
        return tokenizer

    files = {
        side: (str(folder / f"pairs.{name}{args.suffix}"),) for side, name in (("source", "src"), ("target", "tgt"))
    }
    data = DataConfig(source_language="xx", target_language="yy", train=(CorpusConfig(**files),))  # type: ignore[arg-type]
    begins("read and clean")
    passes.train_tokenizer = trained
    text = TextConfig(kind=args.tokenizer)
    prepared = PairPreparation.of(data, text, folder / "cache", 1, lambda text: None).prepare()
    begins("first batch")
    stream = PaddedPairStream(prepared.train, prepared.tokenizer, args.batch_tokens, 1)
    batches = batches_from(stream)
    next(batches)
    begins("done")
    made_in = time.perf_counter()
    made = sum(1 for _ in islice(batches, BATCHES))
    print(json.dumps({"phase": "first batch", "batches/s": made / (time.perf_counter() - made_in)}), flush=True)


def processor_seconds() -> float:
    """CPU seconds of this process and its workers, finished or not."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in children(os.getpid()):
        try:
            fields = (
                Path(f"/proc/{child}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            )
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


if __name__ == "__main__":
    main()
