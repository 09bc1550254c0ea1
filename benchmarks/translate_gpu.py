"""Translation speed on one GPU: Headwise's engines and `transformers`, with the same weights, in one run.

    python benchmarks/translate_gpu.py                              # batches of 64, 256 and 1024, greedy and beam 4
    python benchmarks/translate_gpu.py --systems gpu --batch 512 --profile
    python benchmarks/translate_gpu.py --model opus-mt-en-fr --source test.en.xz --reference test.fr.xz

A random Transformer base in bfloat16, sentences of 25 tokens, translations of 25. Best of the repeats, one JSON line
per row, with the share of two limits that the rate reaches: arithmetic (2 operations per weight and token) and memory
(all weights and the keys and values of all rows read once per step).
"""

import argparse
import math
import sys
import time
from pathlib import Path

import torch
from rows import Row, add_output, show, write
from translate_common import Run, Transformers, opened, ours, random_sources

from headwise.data.read.files import numbered_lines
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.evaluate import compare
from headwise.models.folder.description import LoadedModel

DEVICE = torch.device("cuda")
ARITHMETIC, MEMORY = 989e12, 4.8e12
"""Limits of an H200, as published: dense bfloat16 operations and bytes per second."""
SYSTEMS = ("gpu", "plain", "transformers", "transformers static")


def make(name: str, loaded: LoadedModel) -> Run:
    if name == "transformers":
        return Transformers(loaded, DEVICE, torch.bfloat16)
    if name == "transformers static":
        return Transformers(loaded, DEVICE, torch.bfloat16, cache_implementation="static")
    return ours(loaded, name, DEVICE, exactly=False)


def limits(loaded: LoadedModel, batch: int, beam: int, length: int) -> tuple[float, float]:
    """Tokens per second that arithmetic and memory allow."""
    config = loaded.config
    width, hidden, rows = config.width, config.feed_forward.hidden, batch * beam
    decoder = config.layers * (6 * width**2 + 2 * width * hidden) + loaded.description.rows * width
    encoder = config.encoder_side.layers * (4 * width**2 + 2 * width * hidden) + config.layers * 2 * width**2
    flops = 2.0 * (decoder * rows + encoder * batch) * length
    cached = config.layers * 2 * width * 2 * (rows * length / 2 + batch * length)
    read = length * (2.0 * decoder + cached) + 2.0 * encoder
    return batch * length / (flops / ARITHMETIC), batch * length / (read / MEMORY)


def measure(name: str, run: Run, loaded: LoadedModel, batch: int, beam: int, length: int, repeats: int) -> Row:
    sources = random_sources(loaded, batch, length)
    begun = time.perf_counter()
    run(sources, beam, length)
    first = time.perf_counter() - begun
    best = math.inf
    for _ in range(repeats):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        tokens = run(sources, beam, length)
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - begun) / tokens)
    arithmetic, memory = limits(loaded, batch, beam, length)
    return {
        "system": name, "batch": batch, "beam": beam, "tokens/s": round(1 / best), "first s": round(first, 2),
        "% of arithmetic": round(100 / best / arithmetic, 1), "% of memory": round(100 / best / memory, 1),
    }  # fmt: skip


def whole_file(loaded: LoadedModel, name: str, source: Path, reference: Path | None, beam: int, batch: int) -> Row:
    """Text in, text out. `transformers` gets ids of our tokenizer, sorted by length, `batch` sentences at a time."""
    texts = [text for _, text in numbered_lines(source)]
    tokenizer = loaded.tokenizer
    assert tokenizer is not None
    if name.startswith("transformers"):
        peer = make(name, loaded)
        assert isinstance(peer, Transformers)
        encode = Translator(loaded, device="cuda", engine="plain").source_ids

        def translate(lines: list[str]) -> tuple[list[str], int]:
            found = peer.translate([encode(line) for line in lines], beam, batch)
            return [tokenizer.decode(ids) for ids in found], sum(map(len, found))
    else:
        translator = Translator(loaded, device="cuda", engine=name)

        def translate(lines: list[str]) -> tuple[list[str], int]:
            found = translator.translate(lines, options=TranslateOptions(beam=beam))
            return [each.text for each in found], sum(len(each.tokens) for each in found)

    begun = time.perf_counter()
    translate(texts[:64])
    first = time.perf_counter() - begun
    spent = math.inf
    for _ in range(2):
        begun = time.perf_counter()
        found, tokens = translate(texts)
        spent = min(spent, time.perf_counter() - begun)
    row: Row = {"system": name, "file": source.name, "sentences": len(texts), "beam": beam, "first s": round(first, 2)}
    row |= {"seconds": round(spent, 2), "tokens/s": round(tokens / spent)}
    if reference is not None:
        row["BLEU"] = round(compare(found, [text for _, text in numbered_lines(reference)]).bleu, 2)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--model", default="", metavar="DIR", help="instead of a random model")
    parser.add_argument("--preset", default="base", help="of the random model")
    parser.add_argument("--batch", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--length", type=int, default=25)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--source", type=Path, help="a whole file instead of batches")
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--profile", action="store_true", help="where the time of the first system goes")
    add_output(parser)
    args = parser.parse_args()
    loaded = opened(args.model, args.preset)
    loaded.model.to(DEVICE)
    rows: list[Row] = []
    for name in args.systems:
        if args.source:
            for beam in args.beam:
                rows.append(whole_file(loaded, name, args.source, args.reference, beam, args.batch[0]))
                print(rows[-1], file=sys.stderr, flush=True)
            continue
        run = make(name, loaded)
        for beam in args.beam:
            for batch in args.batch:
                try:
                    rows.append(measure(name, run, loaded, batch, beam, args.length, args.repeats))
                except Exception as error:  # the other rows are worth having
                    rows.append({"system": name, "batch": batch, "beam": beam, "error": f"{error}"[:200]})
                print(rows[-1], file=sys.stderr, flush=True)
        if args.profile:
            sources = random_sources(loaded, args.batch[0], args.length)
            with torch.profiler.profile() as profiler:
                run(sources, args.beam[0], args.length)
            table = profiler.key_averages().table(sort_by="self_device_time_total", row_limit=30)
            print(table, file=sys.stderr)
    columns = ["system", "batch", "beam", "tokens/s", "first s", "% of arithmetic", "% of memory"]
    of_file = ["system", "file", "sentences", "beam", "first s", "seconds", "tokens/s", "BLEU"]
    show(rows, of_file if args.source else columns)
    write(rows, args.json)


if __name__ == "__main__":
    main()
