"""Training speed of a translator on one GPU: Headwise and others on the same work, one after the other in one run.

    python benchmarks/train_gpu.py                                  # ours: base, packed
    python benchmarks/train_gpu.py --rows packed plain transformers torch --shape big
    python benchmarks/train_gpu.py --rows packed --profile          # where a step's time goes
    python benchmarks/train_gpu.py --growth                         # 1, 2, 4, 8 x width and depth
    python benchmarks/train_gpu.py --curve recipes/multi30k_en_de.toml --set data.folder=DATA

Target tokens per second in whole steps - batch to the device, forward, backward, clipping, optimiser - in bfloat16 with
dropout 0.1 and label smoothing 0.1, over random sentences with lengths as in WMT (log-normal, median 24 tokens). Others
get padded batches sorted by length, as in other toolkits. `--curve` trains twice on the same batches, packed and
padded, and shows how much the losses differ.
"""

import argparse
import contextlib
import dataclasses
import gc
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from rows import Row, add_output, show, write
from torch import Tensor, nn

from headwise.config import ModelConfig, Recipe
from headwise.data.batch.packed_pairs import PackedBatch, pack
from headwise.data.batch.padded_pairs import PaddedBatch
from headwise.data.batch.stream import batches_from
from headwise.models.build import build
from headwise.presets import preset_config, resolve
from headwise.recipe import replaced
from headwise.train.step.backward import Graphed, Plain, compile_layers
from headwise.train.step.optimiser import clip_gradients, make_optimiser, update
from headwise.train.tasks.translation_task import teacher_forcing

VOCABULARY = 37_120
DEVICE = torch.device("cuda")
PEAK = 989e12
"""Dense bfloat16 operations per second of an H100 or H200, as published."""

Step = Callable[[Any], None]


def sentence_lengths(count: int, rng: np.random.Generator) -> np.ndarray:
    """Lengths as in WMT: log-normal, between 4 and 120 tokens."""
    lengths = np.zeros(0, np.int64)
    while len(lengths) < count:
        drawn = rng.lognormal(math.log(24), 0.55, count).astype(np.int64)
        lengths = np.concatenate((lengths, drawn[(drawn >= 4) & (drawn <= 120)]))
    return lengths[:count]


def padded(lengths: np.ndarray, rng: np.random.Generator, multiple: int = 1) -> PaddedBatch:
    """Random sentences of these lengths, equal on both sides."""
    width = -(-(int(lengths.max()) + 1) // multiple) * multiple
    inside = np.arange(width) < lengths[:, None]
    source = np.where(inside, rng.integers(4, VOCABULARY, inside.shape), 0)
    target = np.where(
        np.arange(width + 1) <= lengths[:, None], rng.integers(4, VOCABULARY, (len(lengths), width + 1)), 0
    )
    examples = [(0, i) for i in range(len(lengths))]
    tokens = int(lengths.sum())
    return PaddedBatch(torch.from_numpy(source), torch.from_numpy(target), examples, tokens, tokens)


def packed_batches(count: int, budget: int) -> list[PackedBatch]:
    rng = np.random.default_rng(0)
    batches = []
    for _ in range(count):
        lengths = sentence_lengths(budget // 8, rng)
        lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), budget, side="right"))]
        batches.append(pack(padded(lengths, rng), 0, budget, budget // 22, 128))
    return batches


def padded_batches(count: int, budget: int) -> list[PaddedBatch]:
    """Batches sorted by length and padded to multiples of 8 positions: an even sample of all of them."""
    rng = np.random.default_rng(0)
    lengths = np.sort(sentence_lengths(budget // 2, rng))
    batches, start = [], 0
    for end in range(1, len(lengths)):
        if (end + 1 - start) * (-(-(lengths[end] + 1) // 8) * 8) > budget:
            batches.append(padded(lengths[start:end], rng, 8))
            start = end
    batches.append(padded(lengths[start:], rng, 8))
    count = min(count, len(batches))
    return [batches[(2 * i + 1) * len(batches) // (2 * count)] for i in range(count)]


def flops(config: ModelConfig) -> float:
    """FLOPs of a step per source and target token: 6 per weight of a matrix product. Attention scores do not count."""
    width, hidden = config.width, config.feed_forward.hidden
    encoder = config.encoder_side.layers * (4 * width**2 + 2 * width * hidden)
    decoder = config.layers * (8 * width**2 + 2 * width * hidden)
    return 6.0 * (encoder + decoder + VOCABULARY * width)


def recipe_for(config: ModelConfig) -> Recipe:
    recipe = resolve({"train": {"learning_rate": 1e-4, "weight_decay": 0.01}})
    return dataclasses.replace(recipe, model=config)


def ours(config: ModelConfig, *, compiled: bool = True, recorded: bool = True) -> Step:
    torch.manual_seed(0)
    model = build(config, VOCABULARY, 0).to(DEVICE).train()
    if compiled:
        compile_layers(model)
    optimiser = make_optimiser(model, recipe_for(config))
    for group in optimiser.param_groups:
        group["lr"] = 1e-4
    backward = (Graphed if recorded else Plain)(model, teacher_forcing(0.1), torch.bfloat16)

    def step(batch: Any) -> None:
        loss, _ = backward(batch.to(DEVICE), batch.count)
        norm = clip_gradients(model, 1.0)
        update(optimiser, torch.isfinite(loss + norm))
        backward.clear_gradients()

    return step


def smoothed(logits: Tensor, wanted: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=0, label_smoothing=0.1)


def other(model: nn.Module, logits: Callable[[Tensor, Tensor], Tensor]) -> Step:
    """The compiled step of another model, with the same fused Adam."""
    model = model.to(DEVICE).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    loss_of = torch.compile(
        lambda source, target: smoothed(logits(source, target[:, :-1]), target[:, 1:]), dynamic=False
    )

    def step(batch: PaddedBatch) -> None:
        batch = batch.to(DEVICE)
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(batch.source, batch.target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def transformers_marian(config: ModelConfig) -> Step:
    from transformers import MarianConfig, MarianMTModel

    sizes = {
        f"{side}_{key}": value
        for side, layers in (("encoder", config.encoder_side.layers), ("decoder", config.layers))
        for key, value in (
            ("layers", layers),
            ("attention_heads", config.attention.heads),
            ("ffn_dim", config.feed_forward.hidden),
        )
    }
    model = MarianMTModel(
        MarianConfig(
            vocab_size=VOCABULARY, d_model=config.width, activation_function="relu", dropout=0.1, attention_dropout=0.0,
            activation_dropout=0.0, pad_token_id=0, eos_token_id=2, decoder_start_token_id=1, scale_embedding=True,
            max_position_embeddings=512, **sizes,
        )
    )  # fmt: skip

    def logits(source: Tensor, shown: Tensor) -> Tensor:
        mask = (source != 0).long()
        result: Tensor = model(input_ids=source, attention_mask=mask, decoder_input_ids=shown, use_cache=False).logits
        return result

    return other(model, logits)


class TorchTransformer(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, config.width)
        nn.init.normal_(self.embedding.weight, std=config.width**-0.5)
        layers = config.encoder_side.layers, config.layers
        self.inner = nn.Transformer(
            config.width, config.attention.heads, *layers, config.feed_forward.hidden, 0.1, batch_first=True
        )
        self.register_buffer("positions", torch.randn(512, config.width) * 0.1)

    def forward(self, source: Tensor, shown: Tensor) -> Tensor:
        def embedded(ids: Tensor) -> Tensor:
            vectors: Tensor = self.embedding(ids) * self.embedding.weight.size(1) ** 0.5 + self.positions[: ids.size(1)]
            return vectors

        future = torch.ones(shown.size(1), shown.size(1), device=shown.device, dtype=torch.bool).triu(1)
        padding = source == 0
        hidden = self.inner(
            embedded(source), embedded(shown), tgt_mask=future, src_key_padding_mask=padding,
            memory_key_padding_mask=padding, tgt_is_causal=False,  # or it looks at the mask
        )  # fmt: skip
        return F.linear(hidden, self.embedding.weight)


def torch_transformer(config: ModelConfig) -> Step:
    model = TorchTransformer(config)
    return other(model, model)


ROWS: dict[str, tuple[Callable[[ModelConfig], Step], bool]] = {
    "packed": (ours, True),
    "packed, no CUDA graph": (lambda config: ours(config, recorded=False), True),
    "packed, not compiled": (lambda config: ours(config, compiled=False), True),
    "plain": (lambda config: ours(config, recorded=False), False),
    "transformers": (transformers_marian, False),
    "torch": (torch_transformer, False),
}
"""A function that makes a step, and whether its batches are packed."""


def measure(name: str, config: ModelConfig, steps: int, budget: int, shapes: int = 12, profile: bool = False) -> Row:
    make, is_packed = ROWS[name]
    batches: Sequence[Any] = packed_batches(8, budget) if is_packed else padded_batches(shapes, budget)
    free()
    begun = time.perf_counter()
    step = make(config)
    for batch in batches:
        step(batch)
    torch.cuda.synchronize()
    start = time.perf_counter() - begun
    best = math.inf
    for _ in range(3):
        tokens, begun = 0, time.perf_counter()
        for batch in itertools.islice(itertools.cycle(batches), steps):
            step(batch)
            tokens += batch.count
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - begun) / tokens)
    rate = 1 / best
    row = {
        "row": name,
        "k tokens/s": round(rate / 1e3, 1),
        "FLOP use %": round(rate * flops(config) / PEAK * 100, 1),
        "ms per step": round(best * tokens / steps * 1e3, 2),
        "tokens per step": tokens // steps,
        "start s": round(start, 1),
        "GiB": round(torch.cuda.max_memory_allocated() / 2**30, 1),
        "width": config.width,
        "layers": f"{config.encoder_side.layers}+{config.layers}",
    }
    if profile:
        show_profile(step, batches)
    return row


def show_profile(step: Step, batches: Sequence[Any]) -> None:
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profiler:
        for batch in batches[:3]:
            step(batch)
        torch.cuda.synchronize()
    kernels: dict[str, tuple[float, int]] = {}
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            time_, count = kernels.get(event.name, (0.0, 0))
            kernels[event.name] = (time_ + event.device_time / 3e3, count + 1)
    total = sum(each[0] for each in kernels.values())
    print(f"kernels of a step: {total:.2f} ms", file=sys.stderr)
    for kernel, (time_, count) in sorted(kernels.items(), key=lambda each: -each[1][0])[:40]:
        print(f"{time_:8.3f} ms {count // 3:5d} x  {kernel[:130]}", file=sys.stderr)


def free() -> None:
    gc.collect()
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def growth(budget: int, steps: int) -> Iterator[Row]:
    """Speed of models with width and depth times 1, 2, 4, 8."""
    small = replaced(
        preset_config("base"), {"width": 256, "feed_forward.hidden": 1024, "attention.heads": 4, "layers": 2}
    )
    for factor in (1, 2, 4, 8):
        wide = replaced(
            small, {"width": 256 * factor, "feed_forward.hidden": 1024 * factor, "attention.heads": 4 * factor}
        )
        yield {"grown": f"width x {factor}", **measure("packed", wide, steps, budget)}
    for factor in (2, 4, 8):
        deep = replaced(small, {"layers": 2 * factor})
        yield {"grown": f"depth x {factor}", **measure("packed", deep, steps, budget)}


def curve(recipe_file: Path, settings: Sequence[str], steps: int) -> Iterator[Row]:
    """Losses on equal batches: packed, compiled, as a CUDA graph against padded and plain; no dropout, one seed."""
    import tempfile

    from headwise.data.batch.packed_pairs import PackedPairStream
    from headwise.recipe import override, parse_setting, read_recipe
    from headwise.train.step.schedules import learning_rate
    from headwise.train.tasks.translation_task import open_job

    given = dict(parse_setting(setting) for setting in settings)
    with tempfile.TemporaryDirectory() as folder:
        fixed = {"out": folder, "model.dropout": 0.0, "model.attention.dropout": 0.0, "train.packed": "always"}
        recipe = resolve(override(read_recipe(recipe_file), {**fixed, "text.sampling": 0.0, **given}))
        curves: list[list[float]] = []
        for fast in (True, False):
            torch.manual_seed(recipe.seed)
            job = open_job(recipe, Path(folder), DEVICE, lambda text: print(text, file=sys.stderr))
            stream = job.stream
            assert isinstance(stream, PackedPairStream)
            model = job.loaded.model.train()
            if fast:
                compile_layers(model)
            backward = (Graphed if fast else Plain)(model, job.objective, torch.bfloat16)
            optimiser = make_optimiser(model, recipe)
            losses = []
            for number, (batch, _) in enumerate(itertools.islice(batches_from(stream), steps), 1):
                members = np.array([index for _, index in batch.examples])  # of one corpus
                made: Any = batch if fast else stream._rows.batch(members, 0)
                _, nll = backward(made.to(DEVICE), batch.count)
                clip_gradients(model, 1.0)
                for group in optimiser.param_groups:
                    group["lr"] = learning_rate(number, recipe.train, recipe.model)
                update(optimiser, torch.tensor(True, device=DEVICE))
                backward.clear_gradients()
                losses.append(nll / batch.count)
            curves.append(torch.stack(losses).tolist())
    for start in range(0, steps, max(1, steps // 10)):
        part = slice(start, start + max(1, steps // 10))
        fast_mean, plain_mean = (float(np.mean(each[part])) for each in curves)
        largest = float(np.abs(np.subtract(curves[0][part], curves[1][part])).max())
        yield {
            "steps": f"{start + 1}-{min(part.stop, steps)}",
            "packed": f"{fast_mean:.4f}",
            "plain": f"{plain_mean:.4f}",
            "mean difference": f"{fast_mean - plain_mean:.5f}",
            "largest": f"{largest:.5f}",
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=["packed"])
    parser.add_argument("--shape", nargs="+", default=["base"], help="presets of translators")
    parser.add_argument("--tokens", type=int, default=25_088, help="of a batch, each side")
    parser.add_argument("--steps", type=int, default=40, help="of each of three timings; the best counts")
    parser.add_argument("--shapes", type=int, default=12, help="of padded batches: others compile for each of them")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--curve", type=Path, metavar="RECIPE")
    parser.add_argument("--set", dest="settings", nargs="+", default=[], metavar="KEY=VALUE", help="for --curve")
    add_output(parser)
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    columns = ["row", "width", "layers", "k tokens/s", "FLOP use %", "ms per step", "start s", "GiB"]
    rows: list[Row] = []
    if args.curve:
        rows += curve(args.curve, args.settings, args.steps)
        columns = ["steps", "packed", "plain", "mean difference", "largest"]
    elif args.growth:
        for row in growth(args.tokens, args.steps):
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
        columns = ["grown", *columns]
    else:
        for shape, name in itertools.product(args.shape, args.rows):
            config = dataclasses.replace(preset_config(shape), dropout=0.1)
            with contextlib.ExitStack() as stack:
                stack.callback(free)
                try:
                    rows.append(
                        {"shape": shape, **measure(name, config, args.steps, args.tokens, args.shapes, args.profile)}
                    )
                except Exception as error:  # the other rows are worth having
                    rows.append({"shape": shape, "row": name, "error": f"{type(error).__name__}: {error}"[:300]})
            print(rows[-1], file=sys.stderr, flush=True)
        columns = ["shape", *columns]
    show(rows, columns)
    write(rows, args.json)


if __name__ == "__main__":
    main()
