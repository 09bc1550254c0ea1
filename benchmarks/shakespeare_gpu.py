"""Time until a language model of tiny Shakespeare reaches a validation loss, from the start of the process.

    python benchmarks/shakespeare_gpu.py --text input.txt
    python benchmarks/shakespeare_gpu.py --text input.txt --only recipe fast --set train.seed=2
    python benchmarks/shakespeare_gpu.py --text input.txt --variant mine train.steps=800 train.learning_rate=0.003

Each variant is recipes/shakespeare.toml with some settings changed, trained by the ordinary command in a separate
process and folder: importing, reading, building and validating all count. The loss is the mean over every character
of the last tenth of the text, in rows of 256.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rows import Row, add_output, show, write

from headwise.train.report.console import read_log

RECIPE = Path(__file__).parent.parent / "recipes" / "shakespeare.toml"
TARGET = 1.4697
"""The best validation loss of nanoGPT's recipe for this text."""

VARIANTS: dict[str, list[str]] = {
    "recipe": [],
    "800 steps": ["train.steps=800"],
    "1500 steps": ["train.steps=1500"],
    "2000 steps": ["train.steps=2000", "train.learning_rate=0.001"],
    "rate 1e-3": ["train.learning_rate=0.001"],
    "rate 3e-3": ["train.learning_rate=0.003"],
    "level then down": ["train.schedule=warmup_stable_decay", "train.decay=0.6"],
    "twice the batch": ["train.batch_tokens=32768", "train.steps=800", "train.learning_rate=0.003"],
    "half the batch": ["train.batch_tokens=8192", "train.steps=2000"],
    "rotary": ["model.positions.kind=rotary"],
    "rotary, 800 steps": ["model.positions.kind=rotary", "train.steps=800"],
    "no attention dropout": ["model.attention.dropout=0.0"],
    "compiled": ["train.compile=true"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="the text, also .gz or .xz")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"of these: {', '.join(VARIANTS)}")
    parser.add_argument("--variant", nargs="+", action="append", default=[], metavar=("NAME", "KEY=VALUE"))
    parser.add_argument("--set", dest="settings", nargs="+", default=[], metavar="KEY=VALUE", help="for all variants")
    parser.add_argument("--target", type=float, default=TARGET)
    parser.add_argument(
        "--every", type=int, default=200, help="steps between two validations, each of which may save a checkpoint"
    )
    parser.add_argument("--budget", type=float, default=540.0, help="seconds after which no variant is begun")
    add_output(parser)
    args = parser.parse_args()
    chosen = {name: VARIANTS[name] for name in args.only or ([] if args.variant else VARIANTS)}
    chosen |= {name: settings for name, *settings in args.variant}
    begun = time.perf_counter()
    rows: list[Row] = []
    for name, settings in chosen.items():
        if time.perf_counter() - begun > args.budget:
            print(f"no time left for {name}", file=sys.stderr)
            continue
        rows.append(measure(name, [*settings, *args.settings], args.text, args.target, args.every))
        print(rows[-1], file=sys.stderr, flush=True)
    show(rows, ["variant", "to target s", "at step", "best loss", "best step", "start s", "ms per step", "total s"])
    write(rows, args.json)


def measure(name: str, settings: list[str], text: Path, target: float, every: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "headwise", "train", str(RECIPE), "--text", str(text), "--out", str(run)]
        command += ["--set", f"train.validate_every={every}", *settings]
        begun = time.perf_counter()
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        times: dict[int, float] = {}
        start, last = None, []
        for line in process.stderr:
            now = time.perf_counter() - begun
            last = [*last[-20:], line]
            if start is None and "million parameters" in line:
                start = now
            if ": validation loss" in line:
                times[int(line.split(":")[0].removeprefix("step ").replace(",", ""))] = now
        if process.wait():
            print("".join(last), file=sys.stderr)
            return {"variant": name, "failed": process.returncode}
        total = time.perf_counter() - begun
        records = read_log(run)
    valid = {record["step"]: record["loss"] for record in records if record["kind"] == "valid"}
    train = [record for record in records if record["kind"] == "train"]
    reached = next((step for step, loss in valid.items() if loss <= target), None)
    best = min(valid, key=lambda step: valid[step])
    # Between two lines of the log without a start in them.
    seconds = train[-1]["seconds"] - train[0]["seconds"]
    return {
        "variant": name,
        "to target s": None if reached is None else times[reached],
        "at step": reached,
        "best loss": round(valid[best], 4),
        "best step": best,
        "start s": start,
        "ms per step": 1000 * seconds / max(1, train[-1]["step"] - train[0]["step"]),
        "total s": total,
        "losses": {step: round(loss, 4) for step, loss in valid.items()},
        "settings": settings,
    }


if __name__ == "__main__":
    main()
