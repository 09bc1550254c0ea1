"""Two CPU paths of nn/, forward and backward: explicit attention up to length SHORT, and Headwise's own dropout.

    python benchmarks/attention_cpu.py

Attention: `explicit_attention` against `fused_attention` (PyTorch's kernel) on as many tokens at each length,
with a padding mask as in the encoder and with the causal mask of the decoder. The ratio is the fused path's
time over the explicit one's: SHORT in nn/attention.py should be where it falls below 1.
Dropout: nn/dropout.py against torch's, on the shapes of a residual stream.
"""

import argparse
import math
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from rows import Row, add_output, show, write
from torch import Tensor

from headwise.nn.attention import SHORT, explicit_attention, fused_attention
from headwise.nn.dropout import dropout
from headwise.nn.masks import causal_mask

HEADS = [(4, 32), (8, 64)]
"""Heads and their width: those of the presets tiny and base."""

LENGTHS = [8, 16, 24, 32, 48, 64, 96, 128, 192, 256]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS, metavar="N")
    parser.add_argument("--tokens", type=int, default=4096, metavar="N", help="of a batch (default: 4096)")
    parser.add_argument("--repeats", type=int, default=10, metavar="N", help="the fastest counts (default: 10)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="default: 2")
    add_output(parser)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)

    rows = [
        attention_row(heads, width, length, kind, args.tokens, args.repeats)
        for heads, width in HEADS
        for kind in ("padding", "causal")
        for length in args.lengths
    ]
    show(rows, ["heads", "head width", "mask", "length", "explicit ms", "fused ms", "fused / explicit"])
    print(f"SHORT is {SHORT}\n")
    drops = [dropout_row(args.tokens, width, args.repeats) for width in (128, 256, 512)]
    show(drops, ["rows", "width", "headwise ms", "torch ms", "torch / headwise"])
    write([{"benchmark": "attention_cpu", **row} for row in rows], args.json)
    write([{"benchmark": "dropout_cpu", **row} for row in drops], args.json)


def attention_row(heads: int, width: int, length: int, kind: str, tokens: int, repeats: int) -> Row:
    batch = max(1, tokens // length)
    # as MultiHeadAttention has them: split from a projection, so not contiguous
    inputs = [torch.randn(batch, length, heads, width, requires_grad=True) for _ in range(3)]
    lengths = torch.randint(max(1, length - length // 8), length + 1, (batch, 1))
    padding = (torch.arange(length) < lengths)[:, None, None, :]

    def explicit() -> Tensor:
        mask = padding if kind == "padding" else causal_mask(length, length)
        query, key, value = (x.transpose(1, 2) for x in inputs)
        return explicit_attention(query, key, value, mask)[0]

    def fused() -> Tensor:
        query, key, value = (x.transpose(1, 2) for x in inputs)
        return fused_attention(query, key, value, padding if kind == "padding" else None, kind == "causal")

    explicit_s, fused_s = race([both_ways(explicit, inputs), both_ways(fused, inputs)], repeats)
    return {
        "heads": heads,
        "head width": width,
        "mask": kind,
        "length": length,
        "explicit ms": 1000 * explicit_s,
        "fused ms": 1000 * fused_s,
        "fused / explicit": fused_s / explicit_s,
    }


def dropout_row(rows: int, width: int, repeats: int) -> Row:
    x = torch.randn(rows, width, requires_grad=True)
    contestants = [both_ways(lambda: dropout(x, 0.1), [x]), both_ways(lambda: F.dropout(x, 0.1), [x])]
    ours, theirs = race(contestants, repeats)
    return {
        "rows": rows,
        "width": width,
        "headwise ms": 1000 * ours,
        "torch ms": 1000 * theirs,
        "torch / headwise": theirs / ours,
    }


def both_ways(forward: Callable[[], Tensor], inputs: list[Tensor]) -> Callable[[], None]:
    """Forward and backward."""
    gradient = torch.randn_like(forward())

    def run() -> None:
        torch.autograd.grad(forward(), inputs, gradient)

    return run


def race(contestants: list[Callable[[], None]], repeats: int) -> list[float]:
    """Seconds of the fastest run of each, run in turns."""
    best = [math.inf] * len(contestants)
    for _ in range(repeats + 1):
        for number, run in enumerate(contestants):
            began = time.perf_counter()
            run()
            best[number] = min(best[number], time.perf_counter() - began)
    return best


if __name__ == "__main__":
    main()
