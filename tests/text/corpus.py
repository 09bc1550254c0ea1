"""A small corpus in three scripts, and a tokenizer trained on it."""

from collections.abc import Sequence

import numpy as np

from headwise.config import TextConfig
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer

_SUBJECTS = ["The old sailor", "Ihr Lehrer", "my sister Zoë", "Der Müller", "שכן", "the engineer"]
_VERBS = ["repairs", "übersetzt", "watches", "verkauft", "אוהב", "translated"]
_OBJECTS = [
    "a wooden boat.",
    "den langen Brief.",
    "the rusty machine!",
    "alte Bücher?",
    "ספרים",
    "窓を開ける",
]

CORPUS = [f"{subject} {verb} {thing}" for subject in _SUBJECTS for verb in _VERBS for thing in _OBJECTS]
LANGUAGES = ("en", "de", "he")


def trained(kind: str, sentences: list[str] = CORPUS, vocabulary: int = 500) -> Tokenizer:
    return train_tokenizer(TextConfig(kind=kind, vocabulary=vocabulary), sentences, LANGUAGES)


def sample(
    tokenizer: Tokenizer, ids: Sequence[int], alpha: float, candidates: int, rng: np.random.Generator
) -> list[int]:
    """Draw another segmentation of one text."""
    keys = rng.integers(2**64, size=1, dtype=np.uint64)
    drawn = tokenizer.sample_batch(np.array(ids), np.array([len(ids)]), alpha, candidates, keys)[0] if ids else ids
    return [int(i) for i in drawn]
