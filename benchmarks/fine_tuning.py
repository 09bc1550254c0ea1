"""Fine-tuning a published translator on pairs of one subject: what it gains there, and what it loses elsewhere.

    python benchmarks/fine_tuning.py --model opus-mt-en-fr --data DATA --out runs/software

DATA holds en-fr/gettext.{en,fr}.xz (program messages) and test/en-fr/newstest2014.{en,fr}.xz. 22,000 pairs are drawn
with a seed; 2,000 of them are held out. BLEU on both sets before and after, beam 4; with --reference also that of
`transformers` on the news with the same weights, sentence by sentence.
"""

import argparse
import lzma
import random
import subprocess
import sys
import time
from pathlib import Path

import torch
from rows import Row, add_output, show, write

from headwise import TranslateOptions, Translator
from headwise.decode import batching
from headwise.evaluate import compare

BEAM = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch-tokens", type=int, default=8192)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--news", type=int, default=3003, help="sentences of the news test")
    parser.add_argument("--software", type=int, default=2000, help="held-out pairs that are translated")
    parser.add_argument("--pairs", type=int, default=22_000, help="drawn in all, one in eleven held out")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--reference", action="store_true", help="compare with transformers too")
    add_output(parser)
    args = parser.parse_args()
    if torch.cuda.is_available():
        batching.BATCH_TOKENS = 16384  # a GPU is not filled by what fills a processor
    folder = args.out.parent / f"{args.out.name}-data"
    held_out = [side[: args.software] for side in split(args.data, folder, args.pairs, args.seed)]
    news = [lines(args.data / f"test/en-fr/newstest2014.{side}.xz")[: args.news] for side in ("en", "fr")]
    rows: list[Row] = []

    def measure(name: str, model: Path) -> list[list[str]]:
        translator = Translator(model)
        row: Row = {"model": name}
        tokens: list[list[str]] = []
        for test, (sources, targets) in {"software": held_out, "news": news}.items():
            begun = time.perf_counter()
            options = TranslateOptions(beam=BEAM)
            found = translator.translate(sources, options=options)
            row[f"{test} BLEU"] = round(compare([result.text for result in found], targets).bleu, 2)
            row[f"{test} s"] = round(time.perf_counter() - begun, 1)
            tokens = [result.tokens for result in found]
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
        return tokens

    ours = measure("published", args.model)
    if args.reference:
        rows.append(reference(args.model, *news, ours))
        print(rows[-1], file=sys.stderr, flush=True)
    begun = time.perf_counter()
    train(args, folder)
    seconds = time.perf_counter() - begun
    measure("fine-tuned", args.out)
    rows[-1]["training s"] = round(seconds, 1)
    show(rows, ["model", "software BLEU", "news BLEU", "training s"])
    write(rows, args.json)


def split(data: Path, folder: Path, count: int, seed: int) -> list[list[str]]:
    """Write the training pairs; return the held-out ones, sources and targets."""
    sides = [lines(data / f"en-fr/gettext.{side}.xz") for side in ("en", "fr")]
    drawn = random.Random(seed).sample(range(len(sides[0])), count)
    folder.mkdir(parents=True, exist_ok=True)
    for side, texts in zip(("en", "fr"), sides, strict=True):
        text = "".join(texts[i] + "\n" for i in drawn[count // 11 :])
        (folder / f"train.{side}").write_text(text, encoding="utf-8")
    return [[texts[i] for i in drawn[: count // 11]] for texts in sides]


def lines(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().splitlines()


def train(args: argparse.Namespace, folder: Path) -> None:
    command = [sys.executable, "-m", "headwise", "train", "--init", str(args.model)]
    command += [
        "--source",
        str(folder / "train.en"),
        "--target",
        str(folder / "train.fr"),
        "--from",
        "en",
        "--to",
        "fr",
    ]
    command += ["--out", str(args.out), "--seed", str(args.seed), "--set"]
    command += [f"train.steps={args.steps}", f"train.batch_tokens={args.batch_tokens}"]
    command += [f"train.learning_rate={args.rate}", "train.schedule=cosine", f"train.warmup={args.steps // 10}"]
    command += [
        "train.validate_bleu=false",
        f"train.validate_every={args.steps}",
        f"train.checkpoint_every={args.steps}",
    ]
    command += ["data.held_out=200", "train.validate_pairs=200", f"train.precision={args.precision}"]
    subprocess.run(command, check=True, stdout=sys.stderr)


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
        "model": "published, transformers",
        "news BLEU": round(compare(texts, targets).bleu, 2),
        "news s": round(time.perf_counter() - begun, 1),
        "same tokens %": round(100 * same / len(sources), 2),
        "different": [[i, " ".join(ours[i]), " ".join(tokens[i])] for i in range(len(ours)) if ours[i] != tokens[i]],
    }


if __name__ == "__main__":
    main()
