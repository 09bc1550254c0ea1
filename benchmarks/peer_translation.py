"""Quality of `transformers`' Marian model after training on the data, tokens, shape and time of a Headwise run.

    python benchmarks/peer_translation.py recipes/europarl_en_de.toml --set data.folder=DATA --seconds 600 --out peer

Prepares the recipe's data as `headwise train` does, then trains `transformers`' MarianMTModel of the recipe's shape on
the same padded batches, in an ordinary loop: bfloat16 autocast, fused Adam, the recipe's schedule, smoothing and
clipping, for the given time (preparing the data does not count, compiling does). Then it translates the recipe's test
sets with `generate`, beam 4. One JSON line.
"""

import argparse
import contextlib
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from rows import Row, add_output, show, write
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.data.batch.prefetch import prefetch
from headwise.data.batch.stream import batches_from
from headwise.data.read.corpus import corpus_languages, read_corpus
from headwise.decode.batching import by_length, padded
from headwise.devices import best_device
from headwise.evaluate import compare
from headwise.presets import resolve
from headwise.recipe import override, parse_setting, read_recipe
from headwise.train.step.schedules import learning_rate
from headwise.train.tasks.translation_task import TranslationJob, open_job

BEAM = 4
BATCH_TOKENS = 8192
"""Tokens per batch when translating."""
LONGEST = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--set", dest="settings", nargs="+", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seconds", type=float, required=True, help="of training")
    parser.add_argument("--out", type=Path, required=True, help="folder for the prepared data")
    parser.add_argument("--compile", action="store_true", help="torch.compile for shapes that change")
    add_output(parser)
    args = parser.parse_args()
    fixed = {"out": str(args.out), "train.packed": "never"}
    settings = dict(parse_setting(setting) for setting in args.settings)
    recipe = resolve(override(read_recipe(args.recipe), {**fixed, **settings}))
    device = best_device(recipe.train.device)
    args.out.mkdir(parents=True, exist_ok=True)
    job = open_job(recipe, args.out, device, lambda text: print(text, file=sys.stderr, flush=True))
    model = marian(recipe, job.prepared.tokenizer).to(device)
    row = train(model, job, recipe, device, args.seconds, args.compile)
    row |= {f"BLEU {name}": score for name, score in test(model, job, recipe, device).items()}
    show([row], list(row))
    write([row], args.json)


def marian(recipe: Recipe, tokenizer: Any) -> Any:
    from transformers import MarianConfig, MarianMTModel

    shape = recipe.model
    torch.manual_seed(recipe.seed)
    return MarianMTModel(
        MarianConfig(
            vocab_size=tokenizer.size,
            d_model=shape.width,
            encoder_layers=shape.encoder_side.layers,
            decoder_layers=shape.layers,
            encoder_attention_heads=shape.attention.heads,
            decoder_attention_heads=shape.attention.heads,
            encoder_ffn_dim=shape.feed_forward.hidden,
            decoder_ffn_dim=shape.feed_forward.hidden,
            activation_function=shape.feed_forward.activation,
            dropout=shape.dropout,
            attention_dropout=shape.attention.dropout,
            activation_dropout=shape.feed_forward.dropout,
            scale_embedding=True,
            max_position_embeddings=512,
            pad_token_id=tokenizer.pad,
            bos_token_id=tokenizer.sos,
            eos_token_id=tokenizer.eos,
            decoder_start_token_id=tokenizer.sos,
            forced_eos_token_id=None,
        )
    )


def train(model: Any, job: TranslationJob, recipe: Recipe, device: torch.device, seconds: float, compiled: bool) -> Row:
    config, pad = recipe.train, job.prepared.tokenizer.pad
    betas = config.beta1, config.beta2
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=0.0, betas=betas, eps=config.epsilon, weight_decay=config.weight_decay, fused=True
    )

    def loss_of(source: Tensor, target: Tensor) -> Tensor:
        logits = model(
            input_ids=source,
            attention_mask=(source != pad).long(),
            decoder_input_ids=target[:, :-1],
            use_cache=False,
        ).logits
        wanted = target[:, 1:].flatten()
        return F.cross_entropy(
            logits.flatten(0, 1).float(), wanted, ignore_index=pad, label_smoothing=config.label_smoothing
        )

    objective = torch.compile(loss_of, dynamic=True) if compiled else loss_of
    model.train()
    begun = time.perf_counter()
    step = tokens = 0
    losses: list[Tensor] = []
    with contextlib.closing(prefetch(batches_from(job.stream))) as batches:
        for batch, _ in batches:
            batch = batch.to(device)
            step += 1
            with torch.autocast(device.type, torch.bfloat16):
                loss = objective(batch.source, batch.target)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), config.clip or float("inf"))
            for group in optimiser.param_groups:
                group["lr"] = learning_rate(step, config, recipe.model)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            tokens += batch.count
            losses.append(loss.detach())
            if step % config.log_every == 0:
                mean, spent = torch.stack(losses).mean().item(), time.perf_counter() - begun
                losses.clear()
                print(f"step {step:,}  loss {mean:.3f}  {tokens / spent:,.0f} tokens/s", file=sys.stderr, flush=True)
            if time.perf_counter() - begun > seconds:
                break
    spent = time.perf_counter() - begun
    return {"system": "transformers", "steps": step, "seconds": round(spent), "tokens/s": round(tokens / spent)}


@torch.inference_mode()
def test(model: Any, job: TranslationJob, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """BLEU of each test set, in the order of the recipe."""
    model.eval()
    tokenizer = job.prepared.tokenizer
    scores: dict[str, float] = {}
    for corpus in recipe.data.test:
        pairs = list(read_corpus(corpus, recipe.data))
        before, after = tokenizer.source_frame(*corpus_languages(corpus, recipe.data))
        sources = [[*before, *ids, *after] for ids in tokenizer.encode_batch([pair.source for pair in pairs])]
        found = [""] * len(pairs)
        for members in by_length([len(ids) for ids in sources], BATCH_TOKENS):
            ids = padded([sources[i] for i in members], tokenizer.pad, device)
            with torch.autocast(device.type, torch.bfloat16):
                made = model.generate(
                    input_ids=ids,
                    attention_mask=(ids != tokenizer.pad).long(),
                    num_beams=BEAM,
                    max_length=min(LONGEST, 3 * ids.size(1) + 10),
                )
            for i, row in zip(members, made.tolist(), strict=True):
                end = row.index(tokenizer.eos, 1) if tokenizer.eos in row[1:] else len(row)
                found[i] = tokenizer.decode(row[1:end])
        name = Path((corpus.pairs or corpus.source)[0]).name
        scores[name] = round(compare(found, [pair.target for pair in pairs]).bleu, 2)
        print(f"{name}: {scores[name]}", file=sys.stderr, flush=True)
    return scores


if __name__ == "__main__":
    main()
