"""One whole training step on the CPU: Headwise against transformers' Marian and torch.nn.Transformer.

    python benchmarks/train_cpu.py                          # tiny, small, base x 8,000 and 32,000 tokens
    python benchmarks/train_cpu.py --preset small --vocabulary 8000 --batches 8
    python benchmarks/train_cpu.py --pairs corpus.tsv       # lengths of a real corpus

A step is forward, label-smoothed loss, backward, clipping and Adam, in float32 (with --precision bfloat16
under autocast, for all systems). All have the same shape, tied embeddings, dropout 0.1 in the paper's
places, the same batches (from Headwise's PaddedPairStream, with the same padding) and fused Adam. Ours calls
what `headwise train` calls. The systems take turns on each batch; the fastest repeat counts, which is the least
disturbed one.
"""

import argparse
import importlib.util
import itertools
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from rows import Row, add_output, show, write
from torch import Tensor, nn

from headwise.config import ModelConfig, Recipe, TextConfig, TrainConfig
from headwise.data.batch.padded_pairs import PaddedBatch, PaddedPairStream
from headwise.data.batch.stream import batches_from
from headwise.data.prepare.encoded_corpus import EncodedCorpus, EncodedWriter, Flat
from headwise.data.prepare.result import TrainCorpus
from headwise.models.build import build
from headwise.nn.positions import Sinusoidal
from headwise.presets import PRESETS, preset_config
from headwise.text.kinds import train_tokenizer
from headwise.text.specials import EOS, PAD, SOS
from headwise.train.step.optimiser import clip_gradients, make_optimiser
from headwise.train.tasks.translation_task import teacher_forcing

BAR = 1.3
SMOOTHING, CLIP, DROPOUT, RATE = 0.1, 1.0, 0.1, 1e-4
FIRST = 4
"""Smaller ids are special tokens."""

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}

Step = Callable[[PaddedBatch, torch.autocast], float]
"""Trains on a batch, with or without autocast in the forward pass, and returns its loss per token."""


class Specials:
    """The part of a tokenizer that batches need."""

    pad, sos, eos = PAD, SOS, EOS

    def source_frame(self, source: str, target: str) -> tuple[list[int], list[int]]:
        return [], [EOS]

    def decoder_start(self, target: str) -> int:
        return SOS

    def target_start(self, target: str) -> list[int]:
        return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", nargs="+", choices=PRESETS, default=["tiny", "small", "base"], metavar="NAME")
    parser.add_argument("--vocabulary", nargs="+", type=int, default=[8000, 32000], metavar="V")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="TSV to take sentences from (default: log-normal)")
    parser.add_argument("--batch-tokens", type=int, default=4096, metavar="N", help="default: 4096, as in a recipe")
    parser.add_argument("--batches", type=int, default=4, metavar="N", help="different batches (default: 4)")
    parser.add_argument("--repeats", type=int, default=4, metavar="N", help="steps on each batch (default: 4)")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32", help="default: float32")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="cpu: processor time, for a busy machine; give it --threads 1 (default: wall)",
    )
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="default: 2")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), metavar="NAME")
    add_output(parser)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    without = () if has_transformers() else ("marian", "marian-eager")
    systems = [name for name in args.systems if name not in without]

    rows: list[Row] = []
    for preset, vocabulary in itertools.product(args.preset, args.vocabulary):
        with tempfile.TemporaryDirectory() as folder:
            batches = make_batches(Path(folder), vocabulary, args)
        config = replace(preset_config(preset), dropout=DROPOUT)
        steps = {name: SYSTEMS[name](config, vocabulary) for name in systems}
        raced = race(steps, batches, args)
        rows += [{"preset": preset, "vocabulary": vocabulary, **row} for row in raced]
    show(rows, ["preset", "vocabulary", "system", "ms per step", "target tokens/s", "loss", "ours / this"])
    verdict(rows)
    setting = {name: getattr(args, name) for name in ("batch_tokens", "batches", "repeats", "precision", "clock")}
    write([{"benchmark": "train_cpu", **setting, **row} for row in rows], args.json)


def has_transformers() -> bool:
    if importlib.util.find_spec("transformers") is not None:
        return True
    print("transformers is not installed, so Marian is left out: pip install transformers")
    return False


def race(steps: dict[str, Step], batches: list[PaddedBatch], args: argparse.Namespace) -> list[Row]:
    """Time every system on every batch in turns, repeatedly after a warm-up; the best time of each counts."""
    clock = CLOCKS[args.clock]
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bfloat16")
    best = {name: [math.inf] * len(batches) for name in steps}
    losses = dict.fromkeys(steps, 0.0)
    for repeat in range(args.repeats + 1):
        for number, batch in enumerate(batches[: None if repeat else 1]):
            for name, step in steps.items():
                began = clock()
                losses[name] = step(batch, autocast)
                if repeat:
                    best[name][number] = min(best[name][number], clock() - began)
    tokens = sum(batch.target_tokens for batch in batches)
    ours = sum(best["headwise"]) if "headwise" in best else math.nan
    return [
        {
            "system": name,
            "ms per step": 1000 * sum(times) / len(times),
            "target tokens/s": tokens / sum(times),
            "loss": losses[name],
            "ours / this": sum(times) / ours,
        }
        for name, times in best.items()
    ]


def verdict(rows: list[Row]) -> None:
    """Our speed over the better peer's, shape by shape."""
    shapes = dict.fromkeys((row["preset"], row["vocabulary"]) for row in rows)
    for preset, vocabulary in shapes:
        ratios = [
            row["ours / this"]
            for row in rows
            if (row["preset"], row["vocabulary"]) == (preset, vocabulary) and row["system"] != "headwise"
        ]
        if ratios:
            met = "met" if min(ratios) >= BAR else "MISSED"
            print(f"{preset}, {vocabulary:,} tokens: {min(ratios):.2f}x the better peer (bar {BAR}x: {met})")


def make_batches(folder: Path, vocabulary: int, args: argparse.Namespace) -> list[PaddedBatch]:
    """The first batches of an epoch over sentences of real or realistic lengths."""
    writer = EncodedWriter(folder, vocabulary)
    pairs = read_pairs(args.pairs, vocabulary) if args.pairs else made_up_pairs(vocabulary)
    source, target = (Flat.of(side, writer.ids) for side in pairs)
    writer.append(source, target, [0] * len(pairs[0]), list(range(1, len(pairs[0]) + 1)))
    corpus: EncodedCorpus = writer.finish(["benchmark"])
    stream = PaddedPairStream([TrainCorpus(corpus, 1.0, "", "")], Specials(), args.batch_tokens, seed=1)
    return [batch for batch, _ in itertools.islice(batches_from(stream), args.batches)]


Ids = list[list[int]]


def made_up_pairs(vocabulary: int, count: int = 20_000) -> tuple[Ids, Ids]:
    """Log-normal lengths around 24 subwords, as in WMT; ids follow Zipf's law."""
    rng = np.random.default_rng(1)
    source = np.clip(rng.lognormal(math.log(24), 0.55, count), 4, 120).astype(int)
    target = np.clip(source * rng.lognormal(0.0, 0.2, count), 4, 120).astype(int)

    def sentence(length: int) -> list[int]:
        ids: list[int] = np.exp(rng.uniform(math.log(FIRST), math.log(vocabulary), length)).astype(int).tolist()
        return ids

    return [sentence(n) for n in source], [sentence(n) for n in target]


def read_pairs(path: Path, vocabulary: int, count: int = 20_000) -> tuple[Ids, Ids]:
    """The first pairs of a TSV file, through a tokenizer that is trained on them."""
    with path.open(encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t")[:2] for line in itertools.islice(stream, count)]
    source, target = [row[0] for row in rows], [row[1] for row in rows]
    tokenizer = train_tokenizer(TextConfig(vocabulary=vocabulary), [*source, *target], [])
    return tokenizer.encode_batch(source), tokenizer.encode_batch(target)


def headwise(config: ModelConfig, vocabulary: int) -> Step:
    """The body of `headwise.train.loop.fit`."""
    torch.manual_seed(1)
    model = build(config, vocabulary, PAD).train()
    optimiser = make_optimiser(model, Recipe(model=config, train=TrainConfig(clip=CLIP)))
    objective = teacher_forcing(SMOOTHING)

    def step(batch: PaddedBatch, autocast: torch.autocast) -> float:
        with autocast:
            part = objective(model, batch)
        torch.autograd.backward(part.loss / batch.target_tokens)
        loss = part.loss.item()
        part.nll.item()
        clip_gradients(model, CLIP)
        for group in optimiser.param_groups:
            group["lr"] = RATE
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return loss / batch.target_tokens

    return step


def peer(model: nn.Module, loss_of: Callable[[PaddedBatch], Tensor]) -> Step:
    """A peer's step, as its users write it."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, weight_decay=0, fused=True)

    def step(batch: PaddedBatch, autocast: torch.autocast) -> float:
        with autocast:
            loss = loss_of(batch)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return loss.item()

    return step


def marian(config: ModelConfig, vocabulary: int, attention: str) -> Step:
    """transformers' MarianMTModel. It is always post-norm, which does not change its speed."""
    from transformers import MarianConfig, MarianMTModel  # type: ignore[import-not-found]

    torch.manual_seed(1)
    shape = MarianConfig(
        vocab_size=vocabulary,
        decoder_vocab_size=vocabulary,
        d_model=config.width,
        encoder_layers=config.encoder_side.layers,
        decoder_layers=config.layers,
        encoder_attention_heads=config.attention.heads,
        decoder_attention_heads=config.attention.heads,
        encoder_ffn_dim=config.feed_forward.hidden,
        decoder_ffn_dim=config.feed_forward.hidden,
        activation_function="relu",
        dropout=DROPOUT,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=SOS,
        use_cache=False,
        attn_implementation=attention,
    )
    model = MarianMTModel(shape).train()

    def loss_of(batch: PaddedBatch) -> Tensor:
        logits = model(
            input_ids=batch.source, attention_mask=batch.source != PAD, decoder_input_ids=batch.target[:, :-1]
        ).logits
        return F.cross_entropy(
            logits.flatten(0, 1), batch.target[:, 1:].flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
        )

    return peer(model, loss_of)


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with the parts that it leaves to its users, and dropout only where the paper has it."""

    def __init__(self, config: ModelConfig, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, config.width)
        nn.init.normal_(self.embedding.weight, std=config.width**-0.5)
        self.positions = Sinusoidal(config.width).table(torch.arange(512))
        self.dropout = nn.Dropout(config.dropout)
        self.scale = math.sqrt(config.width)
        pre = config.norm.order == "pre"
        self.transformer = nn.Transformer(
            config.width,
            config.attention.heads,
            config.encoder_side.layers,
            config.layers,
            config.feed_forward.hidden,
            config.dropout,
            batch_first=True,
            norm_first=pre,
        )
        if not pre:  # the paper's stacks end with their last layer
            self.transformer.encoder.norm = self.transformer.decoder.norm = None
        for module in self.transformer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.register_module("dropout", nn.Identity())  # the one within the feed-forward

    def embed(self, tokens: Tensor) -> Tensor:
        x: Tensor = self.dropout(self.embedding(tokens) * self.scale + self.positions[: tokens.size(1)])
        return x

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        hidden_keys = torch.zeros(source.shape).masked_fill(source == PAD, -math.inf)
        hidden: Tensor = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.size(1)),
            tgt_is_causal=True,
            src_key_padding_mask=hidden_keys,
            memory_key_padding_mask=hidden_keys,
        )
        return hidden


def torch_transformer(config: ModelConfig, vocabulary: int) -> Step:
    torch.manual_seed(1)
    model = TorchTransformer(config, vocabulary).train()

    def loss_of(batch: PaddedBatch) -> Tensor:
        wanted = batch.target[:, 1:]
        real = wanted != PAD
        logits = F.linear(model(batch.source, batch.target[:, :-1])[real], model.embedding.weight)
        return F.cross_entropy(logits, wanted[real], label_smoothing=SMOOTHING)

    return peer(model, loss_of)


SYSTEMS: dict[str, Callable[[ModelConfig, int], Step]] = {
    "headwise": headwise,
    "marian": lambda config, vocabulary: marian(config, vocabulary, "sdpa"),
    "marian-eager": lambda config, vocabulary: marian(config, vocabulary, "eager"),
    "nn.Transformer": torch_transformer,
}

if __name__ == "__main__":
    main()
