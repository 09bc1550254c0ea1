"""Translate with the bundled model in all directions, then train a small English-German translator and try it."""

import argparse
import time
from pathlib import Path

import headwise
from headwise.bundled import find
from headwise.corpora import HELD_OUT, LICENCE, TRAIN, UNSEEN

SENTENCES = {
    "en": "I ate an apple.",
    "de": "Wo ist der Bahnhof?",
    "fr": "Je ne parle pas allemand.",
    "it": "Quanto costa questo libro?",
    "hi": "मुझे पानी चाहिए।",
}
"""A sentence in each language of the bundled model."""

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
    if find.FOLDER.is_dir():  # a checkout may have no bundled model; training does not need it
        show_directions()
    train_small(args)


def show_directions() -> None:
    """Print a sentence of each language in all the others."""
    begun = time.perf_counter()
    found = {target: headwise.translate(SENTENCES.values(), to=target) for target in SENTENCES}
    seconds = time.perf_counter() - begun
    print(f"The bundled model, from every language into every other, in {seconds:.1f} seconds:\n")
    for number, (source, text) in enumerate(SENTENCES.items()):
        print(f"  {source}  {text}")
        for target, translations in found.items():
            if target != source:
                print(f"      {target}  {translations[number]}")
    print('\nYour own text: .venv/bin/headwise translate "..." --to de\n')


def train_small(args: argparse.Namespace) -> None:
    """Train the small model, and show what it can do."""
    # PyTorch, which these load, takes seconds: the translations above do without it.
    from headwise.inspect.attention_capture import capture_attention
    from headwise.inspect.picture import draw_attention
    from headwise.presets import resolve
    from headwise.train.run import train

    print("Now a small model of its own: training on 20,000 English-German pairs, 3 to 5 minutes on 2 cores.")
    begun = time.perf_counter()
    recipe = RECIPE | {"out": str(args.out), "train": RECIPE["train"] | {"steps": args.steps}}
    outcome = train(resolve(recipe))
    if outcome.interrupted:
        print("stopped; everything is saved: run scripts/demo again to continue")
        return

    translator = headwise.Translator(args.out)
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
