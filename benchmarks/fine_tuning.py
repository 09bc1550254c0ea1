"""Training on one's own pairs: what a translator gains on their subject, and what it forgets elsewhere.

    python benchmarks/fine_tuning.py --data DATA --out runs/messages
    python benchmarks/fine_tuning.py --data DATA --out runs/messages --model opus-mt-en-fr --to fr

DATA holds en-de/gettext.{en,de}.xz (program messages) and test/en-de/newstest2014.{en,de}.xz, or another language for
de. Pairs are drawn with a seed: 5,000 to train on, 2,000 others held out. BLEU, beam 4, on both sets for three models:

    start     --model, as it is
    tuned     the same after `headwise train` with its default settings, which must end within --minutes
    new       `headwise train --init none`, interrupted after the time that the tuned model took; --presets names shapes

All are measured in int8 on a CPU. The estimate before the first step is compared with the time that training took.
`--set` passes settings on to the tuned run. With --reference also `transformers` translates the news with the same
weights, sentence by sentence.
"""

import argparse
import lzma
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import torch
from rows import Row, add_output, show, write

from headwise import TranslateOptions, Translator
from headwise.decode import batching
from headwise.evaluate import compare

BEAM = 4
NEW = ["--set", "train.validate_every=100", "train.validate_bleu=false"]
"""Options of new models, so that the best step of a short run is found."""
ESTIMATE = re.compile(r"this will take (?:at most )?about ([\d.]+) (second|minute|hour)s")
SECONDS = {"second": 1, "minute": 60, "hour": 3600}


class TestSet(NamedTuple):
    sources: list[str]
    targets: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", default="bundled", help="a model folder or name (default: bundled)")
    parser.add_argument("--from", dest="source", default="en")
    parser.add_argument("--to", dest="target", default="de")
    parser.add_argument("--pairs", type=int, default=5000, help="pairs to train on")
    parser.add_argument("--held-out", type=int, default=2000, help="other pairs, to translate")
    parser.add_argument("--news", type=int, default=3003, help="sentences of the news test")
    parser.add_argument("--minutes", type=float, default=20.0, help="the time limit of training; 0: none")
    parser.add_argument("--presets", nargs="*", default=["small"], help="shapes of new models to train; none: no names")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads that train and translate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", dest="settings", nargs="+", default=[], metavar="KEY=VALUE", help="for the tuned run")
    parser.add_argument("--reference", action="store_true", help="compare with transformers too")
    add_output(parser)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    torch.set_num_threads(args.threads)
    if torch.cuda.is_available():
        batching.BATCH_TOKENS = 16384  # a GPU is not filled by what fills a processor
    args.out.mkdir(parents=True, exist_ok=True)
    tests = {"subject": split(args), "news": news(args)}
    rows: list[Row] = []

    def measure(name: str, model: str | Path, **figures: float) -> list[list[str]]:
        rows.append({"model": name})
        tokens = translated(model, tests, args, rows[-1])
        rows[-1].update(figures)
        if len(rows) > 1:
            rows[-1] |= {f"{test} +": round(rows[-1][f"{test} BLEU"] - rows[0][f"{test} BLEU"], 2) for test in tests}
        print(rows[-1], file=sys.stderr, flush=True)
        return tokens

    ours = measure("start", args.model)
    if args.reference:
        rows.append(reference(Path(args.model), *tests["news"], ours))
        print(rows[-1], file=sys.stderr, flush=True)
    init = [] if args.model == "bundled" else ["--init", args.model]
    options = ["--set", *args.settings] if args.settings else []
    seconds, estimate = train(args, "tuned", [*init, *options], 60 * args.minutes)
    measure("tuned", args.out / "tuned", **{"training s": round(seconds, 1), "estimated s": estimate})
    for preset in args.presets:
        took, _ = train(args, f"new-{preset}", ["--init", "none", "--preset", preset, *NEW], seconds)
        measure(f"new, {preset}", args.out / f"new-{preset}", **{"training s": round(took, 1)})
    show(rows, ["model", "subject BLEU", "news BLEU", "subject +", "news +", "training s", "estimated s"])
    write(rows, args.json)


def translated(model: str | Path, tests: dict[str, TestSet], args: argparse.Namespace, row: Row) -> list[list[str]]:
    """Translate the test sets, and put the scores into the row; returns the tokens of the last one's translations."""
    tokens: list[list[str]] = []
    with Translator(model, engine="auto" if torch.cuda.is_available() else "int8") as translator:
        for name, test in tests.items():
            begun = time.perf_counter()
            languages = {"source": args.source, "target": args.target}
            found = translator.translate(test.sources, **languages, options=TranslateOptions(beam=BEAM))
            scores = compare([result.text for result in found], test.targets)
            row[f"{name} BLEU"], row[f"{name} chrF"] = round(scores.bleu, 2), round(scores.chrf, 2)
            row[f"{name} s"] = round(time.perf_counter() - begun, 1)
            tokens = [result.tokens for result in found]
        row["engine"] = translator.engine
    return tokens


def split(args: argparse.Namespace) -> TestSet:
    """Write the training pairs; return the held-out ones."""
    languages = (args.source, args.target)
    sides = [lines(args.data / f"{pair_folder(args)}/gettext.{side}.xz") for side in languages]
    drawn = random.Random(args.seed).sample(range(len(sides[0])), args.pairs + args.held_out)
    for side, texts in zip(languages, sides, strict=True):
        text = "".join(texts[i] + "\n" for i in drawn[args.held_out :])
        (args.out / f"train.{side}").write_text(text, encoding="utf-8")
    return TestSet(*([texts[i] for i in drawn[: args.held_out]] for texts in sides))


def news(args: argparse.Namespace) -> TestSet:
    folder = args.data / "test" / pair_folder(args)
    return TestSet(*(lines(folder / f"newstest2014.{side}.xz")[: args.news] for side in (args.source, args.target)))


def pair_folder(args: argparse.Namespace) -> str:
    other = args.target if args.source == "en" else args.source
    return f"en-{other}"


def lines(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().splitlines()


def train(args: argparse.Namespace, name: str, options: list[str], limit: float) -> tuple[float, float]:
    """Train a model in the folder `name`, interrupted after `limit` seconds (0: not); returns the time that it took,
    and the time that was estimated before the first step."""
    command = [sys.executable, "-m", "headwise", "train", "--out", str(args.out / name), "--seed", str(args.seed)]
    command += ["--source", str(args.out / f"train.{args.source}"), "--target", str(args.out / f"train.{args.target}")]
    command += ["--from", args.source, "--to", args.target, *options]
    log = args.out / f"{name}.log"
    begun = time.perf_counter()
    with log.open("w", encoding="utf-8") as file:
        running = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        try:
            running.wait(limit or None)
        except subprocess.TimeoutExpired:
            print(f"{name}: interrupted after {limit:.0f} s", file=sys.stderr, flush=True)
            running.send_signal(signal.SIGINT)
            running.wait()
    took = time.perf_counter() - begun
    said = log.read_text(encoding="utf-8")
    if running.returncode not in (0, 128 + signal.SIGINT):
        sys.exit(f"{' '.join(command)}\nended with {running.returncode}:\n{said[-2000:]}")
    found = ESTIMATE.search(said)
    return took, float(found[1]) * SECONDS[found[2]] if found else float("nan")


def reference(model: Path, sources: list[str], targets: list[str], ours: list[list[str]]) -> Row:
    """Translate the same sentences with `transformers`, and count the equal translations."""
    import transformers

    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = transformers.MarianTokenizer.from_pretrained(model)
    peer = transformers.MarianMTModel.from_pretrained(model).to(device).eval()
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    texts, tokens = [""] * len(sources), [[""]] * len(sources)
    begun = time.perf_counter()
    for start in range(0, len(order), 128):
        numbers = order[start : start + 128]
        batch = tokenizer([sources[i] for i in numbers], return_tensors="pt", padding=True).to(device)
        with torch.inference_mode():
            found = peer.generate(**batch, num_beams=BEAM)
        for i, ids in zip(numbers, found.tolist(), strict=True):
            kept = [each for each in ids if each not in (tokenizer.pad_token_id, tokenizer.eos_token_id)]
            texts[i] = tokenizer.decode(kept)
            tokens[i] = tokenizer.convert_ids_to_tokens(kept)
    same = sum(one == other for one, other in zip(tokens, ours, strict=True))
    return {
        "model": "start, transformers",
        "news BLEU": round(compare(texts, targets).bleu, 2),
        "news s": round(time.perf_counter() - begun, 1),
        "same tokens %": round(100 * same / len(sources), 2),
        "different": [[i, " ".join(ours[i]), " ".join(tokens[i])] for i in range(len(ours)) if ours[i] != tokens[i]],
    }


if __name__ == "__main__":
    main()
