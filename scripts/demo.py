"""Train a small English-German translator on the shipped corpus, and try it on sentences that it has not seen."""

import argparse
import time
from pathlib import Path

from headwise import Translator
from headwise.corpora import HELD_OUT, LICENCE, TRAIN, UNSEEN
from headwise.inspect.attention_capture import capture_attention
from headwise.inspect.picture import draw_attention
from headwise.presets import resolve
from headwise.train.run import train

RECIPE = {
    "model": {"preset": "tiny", "encoder.layers": 3, "layers": 2, "dropout": 0.1},
    "text": {"vocabulary": 3000},
    "data": {
        "source_language": "en",
        "target_language": "de",
        "train": [{"pairs": [str(TRAIN)], "licence": LICENCE}],
        "test": [{"pairs": [str(HELD_OUT)], "licence": LICENCE}],
        "held_out": 300,
    },
    "train": {
        "steps": 1200,
        "batch_tokens": 2048,
        "learning_rate": 4e-3,
        "schedule": "cosine",
        "warmup": 150,
        "validate_every": 400,
        "checkpoint_every": 400,
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="output folder (default: demo)")
    parser.add_argument("--steps", type=int, default=RECIPE["train"]["steps"])
    args = parser.parse_args()
    begun = time.perf_counter()
    recipe = RECIPE | {"out": str(args.out), "train": RECIPE["train"] | {"steps": args.steps}}
    outcome = train(resolve(recipe))
    if outcome.interrupted:
        print("stopped; everything is saved: run scripts/demo again to continue")
        return

    translator = Translator(args.out)
    print("\nSentences it has not seen:")
    for text, result in zip(UNSEEN, translator.translate(UNSEEN), strict=True):
        print(f"  {text:28} {result.text}")

    picture = args.out / "attention.png"
    draw_attention(capture_attention(translator, UNSEEN[0]), picture)
    scores = outcome.scores["test set"]
    print(f"\nOn {scores.pairs} held-out pairs: BLEU {scores.bleu:.1f}, chrF {scores.chrf:.1f}")
    print(f"cross-attention: {picture}   curves: {args.out / 'curves.png'}   model card: {args.out / 'README.md'}")
    print(f'{time.perf_counter() - begun:.0f} seconds. Try it: .venv/bin/headwise translate --model {args.out} "..."')


if __name__ == "__main__":
    main()
