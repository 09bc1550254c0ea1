"""Settings of fine-tuning a translator that follow from the amount of data: steps, learning rate, blend and the rest.

The figures come from measurements on program messages (docs/tuning.md).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from headwise.config import DataConfig, TrainConfig
from headwise.data.read.corpus import read_corpus
from headwise.devices import has_fast_bfloat16

SMALL = 500_000
"""Pairs from which on a new model is trained unless `init` names one: enough to learn a language pair from."""

BATCH_TOKENS = 1024
"""Tokens per batch: few, since the first steps teach most, and a CPU needs no large batches to be busy."""
LEARNING_RATE = 1e-4
BLEND = 0.5
EPOCHS = 8.0
"""Passes over a corpus of `USUAL` tokens; one that is four times as large has half as many."""
USUAL = 100_000
MOST_EPOCHS = 20.0
VALIDATIONS = 6
PATIENCE = 2

CHOSEN = (
    "train.steps",
    "train.batch_tokens",
    "train.learning_rate",
    "train.schedule",
    "train.validate_every",
    "train.checkpoint_every",
    "train.log_every",
    "train.keep",
    "train.patience",
    "train.precision",
    "tune.blend",
)
"""The keys that `tuning_settings` chooses."""

LETTERS = 4.0
"""Characters per token, about."""
PADDING = 1.15
"""Tokens in batches per token of text: end marks, tags, and padding."""


@dataclass(frozen=True)
class Amount:
    """The amount of training data, before cleaning."""

    pairs: int
    characters: int
    """Those of the longer side of each pair."""

    @property
    def tokens(self) -> float:
        """An estimate of the tokens in batches."""
        return PADDING * (self.characters / LETTERS + 2 * self.pairs)


def amount_of(data: DataConfig, most: int = SMALL) -> Amount:
    """Read the training pairs and count them; no further than `most` and one more."""
    pairs = characters = 0
    for corpus in data.train:
        for pair in islice(read_corpus(corpus, data), most + 1 - pairs):
            pairs += 1
            characters += max(len(pair.source), len(pair.target))
    directions = 2 if data.both_directions else 1
    return Amount(pairs * directions, characters * directions)


def tuning_settings(amount: Amount, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, by their dotted keys, that fit this amount of data; `given` are those that the user has chosen.

    Small corpora are read more often, since there is less to learn from each time, but not in proportion: after many
    passes a model knows its pairs by heart. The precision alone depends on the machine: some CPUs are twice as fast in
    bfloat16.
    """
    batch = int(given.get("train.batch_tokens") or BATCH_TOKENS)
    step_tokens = batch * int(given.get("train.accumulate") or TrainConfig.accumulate)
    epochs = min(MOST_EPOCHS, max(1.0, EPOCHS * math.sqrt(USUAL / max(1.0, amount.tokens))))
    steps = int(given.get("train.steps") or max(1, math.ceil(epochs * amount.tokens / step_tokens)))
    every = max(1, -(-steps // VALIDATIONS))
    chosen = {
        "train.steps": steps,
        "train.batch_tokens": batch,
        "train.learning_rate": LEARNING_RATE,
        "train.schedule": "cosine",
        "train.validate_every": every,
        "train.checkpoint_every": every,
        "train.log_every": max(1, every // 5),
        "train.keep": 1,
        "train.precision": "bfloat16" if has_fast_bfloat16(str(given.get("train.device", "auto"))) else "auto",
        **({} if "train.steps" in given else {"train.patience": PATIENCE}),
        **({} if given.get("tune.lora_rank") else {"tune.blend": BLEND}),
    }
    return {key: value for key, value in chosen.items() if key not in given}
