"""The GPU kernels against PyTorch's: attention within short sentences, and the loss over the vocabulary.

    python benchmarks/kernels_gpu.py
    python benchmarks/kernels_gpu.py --only attention --tiles 32:1:32x2:32x2,64:1:32x4:64x4,128:8:32x4:32x8
    python benchmarks/kernels_gpu.py --only sweep loss --budget 300

Sentences have the lengths of WMT's (about 25 tokens); the dtype is bfloat16. Every part first compares the kernel with
its plain version. Attention is timed as a CUDA graph of ten calls, so that launches from Python do not count; a row has
the microseconds of one call. A part that fails is reported in a row, and the others continue. One JSON line per row,
written immediately.

A choice of tiles is a list of LENGTH:STRIPE:QUERIESxWARPS:QUERIESxWARPS (forward, backward), see `short_attention`.
"""

import argparse
import inspect
import math
import random
import statistics
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest import mock

import torch
import torch.nn.functional as F
from rows import Row, add_output, write
from torch import Tensor

from headwise.nn.kernels import short_attention
from headwise.nn.kernels.short_attention import (
    TILES,
    AttentionTile,
    Work,
    packed_attention_reference,
    packed_cross_attention,
    packed_self_attention,
)
from headwise.train.step import loss as loss_module
from headwise.train.step.loss import TokenLoss, plain_cross_entropy, projected_cross_entropy

HEADS, WIDTH = 8, 64
TYPICAL = 24
"""Median length of a sentence, and the length of sentences in a batch with the least possible padding."""
TOLERANCE = 0.03
"""Largest difference from float32, relative to the largest number: bfloat16 has eight bits of precision."""
KINDS = ("self", "causal", "cross")

SWEEP: dict[int, list[tuple[str, str]]] = {
    32: [("1", "32x2:32x2"), ("1", "32x1:32x1"), ("1", "32x4:32x4"), ("1", "16x1:16x2"), ("2", "32x2:32x2")],
    64: [("1", "32x4:64x4"), ("2", "32x4:64x4"), ("1", "64x4:32x4"), ("1", "32x2:64x8")],
    128: [("8", "32x4:32x8"), ("1", "32x4:32x8"), ("1", "32x8:128x8"), ("16", "32x4:32x8"), ("8", "32x8:32x4")],
}
"""Alternatives to try for each tile (stripe, and settings), one at a time. The first of each is the current one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=["checks", "attention", "loss"])
    parser.add_argument("--tokens", type=int, default=25088)
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[37120, 37001])
    parser.add_argument("--tiles", type=read_tiles, nargs="+", default=[TILES], help="choices of tiles to measure")
    parser.add_argument("--budget", type=float, default=55.0, help="seconds after which nothing new is begun")
    add_output(parser)
    args = parser.parse_args()
    args.until = time.perf_counter() + args.budget
    for part in args.only:
        attempt(part, partial(PARTS[part], args), args.json)


def attempt(name: str, work: Callable[[], object], path: Path | None) -> None:
    """Run a part; a failure becomes a row too."""
    try:
        work()
    except Exception as error:
        traceback.print_exc()
        write([{"part": name, "error": f"{type(error).__name__}: {error}"[:500]}], path)


# What is measured


def wmt_lengths(tokens: int, seed: int = 0) -> list[int]:
    """Lengths of sentences with `tokens` in all: log-normal, as WMT's are, the last cut to fit."""
    draw = random.Random(seed)
    lengths: list[int] = []
    left = tokens
    while left > 0:
        length = round(draw.lognormvariate(math.log(TYPICAL), 0.55))
        if 4 <= length <= 120:
            lengths.append(min(length, left))
            left -= lengths[-1]
    return lengths


def starts(lengths: Sequence[int], most: int) -> Tensor:
    """int32 [most + 1]; the sentences that are missing are empty."""
    padded = [0, *lengths, *([0] * (most - len(lengths)))]
    return torch.tensor(padded).cumsum(0).to("cuda", torch.int32)


def batch(kind: str, tokens: int) -> tuple[Tensor, Tensor]:
    """Starts of queries and of keys; in cross-attention they differ a little, as two languages do."""
    lengths = wmt_lengths(tokens)
    most = math.ceil(len(lengths) / 64) * 64
    own = starts(lengths, most)
    if kind != "cross":
        return own, own
    draw = random.Random(1)
    other = [min(128, max(1, round(length * draw.uniform(0.8, 1.2)))) for length in lengths]
    return own, starts(other, most)


def values(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(*shape, device="cuda", generator=generator).to(torch.bfloat16).requires_grad_()


Attention = tuple[Callable[[], Tensor], list[Tensor]]
"""A call, and the tensors that it has gradients for."""


def our_kernel(kind: str, queries: Tensor, keys: Tensor, longest: int = 0, dropout: float = 0.0) -> Attention:
    """The kernel, on joint projections."""
    if kind == "cross":
        q, kv = values(int(queries[-1]), HEADS, WIDTH), values(int(keys[-1]), 2, HEADS, WIDTH, seed=1)
        return lambda: packed_cross_attention(q, kv, queries, keys, longest=longest, dropout=dropout), [q, kv]
    qkv, causal = values(int(queries[-1]), 3, HEADS, WIDTH), kind == "causal"
    return lambda: packed_self_attention(qkv, queries, causal=causal, longest=longest, dropout=dropout), [qkv]


def library_packed(kind: str, queries: Tensor, keys: Tensor) -> Attention:
    """PyTorch's own attention for packed sentences."""
    from torch.nn.attention.varlen import varlen_attn

    named = inspect.signature(varlen_attn).parameters
    ahead = {"window_size": (-1, 0)} if "window_size" in named else {"is_causal": True}
    settings = ahead if kind == "causal" else {}
    if kind == "cross":
        q, kv = values(int(queries[-1]), HEADS, WIDTH), values(int(keys[-1]), 2, HEADS, WIDTH, seed=1)
        return lambda: varlen_attn(q, *kv.unbind(1), queries, keys, 128, 128, **settings), [q, kv]
    qkv = values(int(queries[-1]), 3, HEADS, WIDTH)
    return lambda: varlen_attn(*qkv.unbind(1), queries, keys, 128, 128, **settings), [qkv]


def library_padded(kind: str, queries: Tensor, keys: Tensor) -> Attention:
    """PyTorch's fused attention on as many tokens, all sentences of one length, so that nothing is padding."""
    sentences = int(queries[-1]) // TYPICAL
    qkv = values(sentences, TYPICAL, 3, HEADS, WIDTH)

    def attend() -> Tensor:
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, is_causal=kind == "causal").transpose(1, 2)

    return attend, [qkv]


SYSTEMS = {
    "ours": our_kernel,
    "ours, longest known": partial(our_kernel, longest=128),
    "ours, longest known, dropout": partial(our_kernel, longest=128, dropout=0.1),
    "torch varlen_attn": library_packed,
    "torch SDPA, one length, no padding": library_padded,
}


def microseconds(call: Callable[[], object], calls: int = 10, repeats: int = 7) -> float:
    """Microseconds of one call on the GPU: the median over replays of a graph of several calls."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    found = []
    for _ in range(repeats + 2):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) * 1000 / calls)
    return statistics.median(found[2:])


def both_ways(call: Callable[[], Tensor], inputs: list[Tensor]) -> Callable[[], object]:
    above = torch.randn_like(call())
    return lambda: torch.autograd.grad(call(), inputs, above)


def forward_only(call: Callable[[], Tensor]) -> Callable[[], object]:
    def run() -> None:
        with torch.no_grad():
            call()

    return run


# The parts


def check_attention(tiles: tuple[AttentionTile, ...], path: Path | None) -> None:
    """Every tile, its edges, empty and long sentences, against float32."""
    lengths = [1, 4, 15, 16, 17, 24, 31, 32, 33, 0, 40, 63, 64, 65, 100, 127, 128, 129, 300, 0]
    other = [7, 9, 33, 0, 40, 20, 64, 5, 30, 3, 64, 128, 2, 129, 70, 128, 90, 16, 260, 0]
    for kind in KINDS:
        own = starts(lengths, 32)
        keys = starts(other, 32) if kind == "cross" else own
        rows = int(own[-1]) + 100
        for longest in (0,) if kind == "cross" else (0, 300):
            q, kv = values(rows, HEADS, WIDTH), values(int(keys[-1]) + 50, 2, HEADS, WIDTH, seed=1)
            if kind == "cross":
                inputs = [q, kv]
                ours = packed_cross_attention(q, kv, own, keys, longest=longest)
                parts = [tensor.detach().float().requires_grad_() for tensor in inputs]
                oracle = packed_attention_reference(parts[0], *parts[1].unbind(1), own, keys, causal=False)
            else:
                inputs = [values(rows, 3, HEADS, WIDTH)]
                ours = packed_self_attention(inputs[0], own, causal=kind == "causal", longest=longest)
                parts = [inputs[0].detach().float().requires_grad_()]
                oracle = packed_attention_reference(*parts[0].unbind(1), own, own, causal=kind == "causal")
            above = torch.randn_like(oracle)
            found = [ours, *torch.autograd.grad(ours, inputs, above.to(ours.dtype))]
            expected = [oracle, *torch.autograd.grad(oracle, parts, above)]
            worst = max(difference(one, two) for one, two in zip(found, expected, strict=True))
            row = {"part": "check", "what": f"attention, {kind}", "longest": longest, "tiles": written(tiles)}
            write([{**row, "worst": worst, "passed": worst < TOLERANCE}], path)


def difference(found: Tensor, expected: Tensor) -> float:
    return float((found.float() - expected).abs().max() / expected.abs().max())


def checks(args: argparse.Namespace) -> None:
    attempt("check attention", lambda: check_attention(TILES, args.json), args.json)
    attempt("check dropout in a graph", lambda: check_graph(args.json), args.json)
    attempt("check a compiled layer", lambda: check_compiled(args.json), args.json)
    attempt("check loss", lambda: check_loss(args.json), args.json)


def check_graph(path: Path | None) -> None:
    """Each replay of a captured dropout must drop different elements, and about the right share."""
    where = starts([30, 60, 100, 200], 8)
    rows = int(where[-1])
    q, v = torch.zeros(rows, 3, 1, WIDTH, device="cuda"), torch.ones(rows, 1, WIDTH, device="cuda")
    qkv = q.to(torch.bfloat16)
    qkv[:, 2] = v
    packed_self_attention(qkv, where, causal=False, dropout=0.3)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = packed_self_attention(qkv, where, causal=False, dropout=0.3)
    drawn = []
    for _ in range(2):
        graph.replay()
        drawn.append(out.float().clone())
    mean = float(drawn[0].mean())
    passed = not torch.equal(drawn[0], drawn[1]) and abs(mean - 1) < 0.02
    write([{"part": "check", "what": "dropout in a CUDA graph", "mean": mean, "passed": passed}], path)


def check_compiled(path: Path | None) -> None:
    """Compile a layer around the kernel as one graph."""
    where = starts([5, 17, 33, 90], 8)

    def layer(x: Tensor, weight: Tensor) -> Tensor:
        qkv = F.linear(x, weight).view(-1, 3, HEADS, WIDTH)
        return torch.relu(packed_self_attention(qkv, where, causal=True, longest=128).flatten(1))

    x, weight = values(160, 512), values(3 * 512, 512, seed=1)
    weight = (weight.detach() / 512**0.5).requires_grad_()
    above = torch.randn_like(layer(x, weight))
    results = []
    for function in (layer, torch.compile(layer, fullgraph=True, dynamic=False)):
        out = function(x, weight)
        results.append([out, *torch.autograd.grad(out, (x, weight), above)])
    worst = max(difference(one, two.float()) for one, two in zip(results[1], results[0], strict=True))
    write([{"part": "check", "what": "a compiled layer", "worst": worst, "passed": worst < TOLERANCE}], path)


def check_loss(path: Path | None) -> None:
    for vocabulary, ignore, with_bias in ((37120, None, False), (37001, -100, True), (50, 3, True)):
        hidden, weight = values(1500, 512), torch.randn(vocabulary, 512, device="cuda") / 16
        weight.requires_grad_()
        bias = torch.randn(vocabulary, device="cuda").requires_grad_() if with_bias else None
        targets = torch.randint(vocabulary, (1500,), device="cuda")
        if ignore is not None:
            targets[::4] = ignore
        inputs = [tensor for tensor in (hidden, weight, bias) if tensor is not None]
        saved, loss_module.KERNEL_CHUNK_BYTES = loss_module.KERNEL_CHUNK_BYTES, 2 * 640 * vocabulary
        try:
            with torch.autocast("cuda", torch.bfloat16):
                ours = projected_cross_entropy(hidden, weight, targets, 0.1, bias, ignore=ignore)
        finally:
            loss_module.KERNEL_CHUNK_BYTES = saved
        exact = [tensor.detach().float().requires_grad_() for tensor in inputs]
        plain = plain_cross_entropy(exact[0], exact[1], targets, 0.1, exact[2] if with_bias else None, ignore=ignore)
        found = [ours.loss, ours.nll, *torch.autograd.grad(ours.loss, inputs)]
        expected = [plain.loss, plain.nll, *torch.autograd.grad(plain.loss, exact)]
        worst = max(difference(one, two) for one, two in zip(found, expected, strict=True))
        row = {"part": "check", "what": "loss", "vocabulary": vocabulary, "ignore": ignore, "bias": with_bias}
        write([{**row, "worst": worst, "passed": worst < TOLERANCE}], path)


def attention_rows(args: argparse.Namespace) -> None:
    for system in SYSTEMS:
        for tiles in args.tiles if system.startswith("ours") else [None]:
            for kind in KINDS:
                if time.perf_counter() > args.until:
                    return
                work = partial(measure_attention, system, kind, args.tokens, tiles, args.json)
                attempt(f"attention, {system}, {kind}", work, args.json)


def measure_attention(
    system: str, kind: str, tokens: int, tiles: tuple[AttentionTile, ...] | None, path: Path | None
) -> None:
    if tiles is not None:
        short_attention.TILES = tiles
    try:
        call, inputs = SYSTEMS[system](kind, *batch(kind, tokens))
        forward = microseconds(forward_only(call))
        both = microseconds(both_ways(call, inputs))
    finally:
        short_attention.TILES = TILES
    row: Row = {"part": "attention", "system": system, "kind": kind, "tokens": tokens, "forward_us": forward}
    row |= {"forward_backward_us": both, "tiles": None if tiles is None else written(tiles)}
    # Forward reads three inputs and writes one; backward reads four and writes three.
    row["forward_backward_gb_s"] = 11 * tokens * HEADS * WIDTH * 2 / both / 1000
    write([row], path)


def sweep(args: argparse.Namespace) -> None:
    """Times with the settings of one tile changed at a time."""
    for place, (length, choices) in enumerate(SWEEP.items()):
        for stripe, how in choices:
            if time.perf_counter() > args.until:
                return
            changed = read_tiles(f"{length}:{stripe}:{how}")[0]
            tiles = tuple(changed if i == place else tile for i, tile in enumerate(TILES))
            work = partial(measure_attention, "ours, longest known", "self", args.tokens, tiles, args.json)
            attempt(f"sweep {written((changed,))}", work, args.json)


def losses(args: argparse.Namespace) -> None:
    """Time of a forward and backward pass, and its peak memory beyond the inputs."""
    for vocabulary in args.vocabulary:
        hidden, weight = values(args.tokens, 512), torch.randn(vocabulary, 512, device="cuda") / 16
        weight.requires_grad_()
        targets = torch.randint(vocabulary, (args.tokens,), device="cuda")
        for name in LOSSES:
            if time.perf_counter() > args.until:
                return
            attempt(f"loss, {name}", partial(measure_loss, name, args.json, hidden, weight, targets), args.json)


def plain(hidden: Tensor, weight: Tensor, targets: Tensor) -> TokenLoss:
    return plain_cross_entropy(hidden, weight, targets, 0.1)


def chunked(hidden: Tensor, weight: Tensor, targets: Tensor) -> TokenLoss:
    """The loss in chunks without the kernel, by PyTorch's own operations."""
    with mock.patch.object(loss_module, "usable_on", return_value=False):
        return projected_cross_entropy(hidden, weight, targets, 0.1)


def ours(hidden: Tensor, weight: Tensor, targets: Tensor) -> TokenLoss:
    return projected_cross_entropy(hidden, weight, targets, 0.1)


LOSSES: dict[str, tuple[Callable[..., TokenLoss], dict[str, int]]] = {
    "plain": (plain, {}),
    "chunked": (chunked, {}),
    "ours": (ours, {}),
    "ours, 512 MiB": (ours, {"chunk": 2**29}),
    "ours, 2 GiB": (ours, {"chunk": 2**31}),
    "ours, 4 warps of 4096": (ours, {"warps": 4, "block": 4096}),
    "ours, 16 warps of 8192": (ours, {"warps": 16, "block": 8192}),
    "ours, 32 warps of 16384": (ours, {"warps": 32, "block": 16384}),
}


def measure_loss(name: str, path: Path | None, hidden: Tensor, weight: Tensor, targets: Tensor) -> None:
    from headwise.nn.kernels import cross_entropy

    function, settings = LOSSES[name]
    saved = loss_module.KERNEL_CHUNK_BYTES, cross_entropy.WARPS, cross_entropy.BLOCK
    loss_module.KERNEL_CHUNK_BYTES = settings.get("chunk", saved[0])
    cross_entropy.WARPS, cross_entropy.BLOCK = settings.get("warps", saved[1]), settings.get("block", saved[2])

    def once() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = function(hidden, weight, targets).loss
        torch.autograd.grad(loss, (hidden, weight))

    try:
        once()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        once()
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated() - before
        found = []
        for _ in range(7):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            once()
            end.record()
            torch.cuda.synchronize()
            found.append(begin.elapsed_time(end))
    finally:
        loss_module.KERNEL_CHUNK_BYTES, cross_entropy.WARPS, cross_entropy.BLOCK = saved
        torch.cuda.empty_cache()
    size = {"tokens": len(targets), "vocabulary": len(weight)}
    products = 3 * 2 * hidden.size(1) * len(targets) * len(weight)
    time_ms = statistics.median(found)
    row: Row = {"part": "loss", "system": name, **size, "ms": time_ms, "peak_mib": peak / 2**20}
    write([{**row, "products_tflop_s": products / time_ms / 1e9}], path)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "checks": checks,
    "attention": attention_rows,
    "sweep": sweep,
    "loss": losses,
}


def read_tiles(text: str) -> tuple[AttentionTile, ...]:
    tiles = []
    for part in text.split(","):
        length, stripe, *works = part.split(":")
        forward, backward = (Work(*map(int, work.split("x"))) for work in works)
        tiles.append(AttentionTile(int(length), int(stripe), forward, backward))
    return tuple(tiles)


def written(tiles: tuple[AttentionTile, ...]) -> str:
    return ",".join(
        f"{tile.length}:{tile.stripe}:{tile.forward.queries}x{tile.forward.warps}"
        f":{tile.backward.queries}x{tile.backward.warps}"
        for tile in tiles
    )


if __name__ == "__main__":
    main()
