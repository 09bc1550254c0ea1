"""A very small model of every kind, with a tokenizer where it has one. Made once: do not change them."""

import dataclasses
from functools import cache
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from headwise.config import ModelConfig, TextConfig
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.recipe import replaced
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer
from tests.shapes import PAD, random_model, small
from tests.taught import SOURCES

LABELS = ("bad", "good", "neither")


@cache
def tokenizer(kind: str = "byte_bpe", mask: bool = False) -> Tokenizer:
    return train_tokenizer(TextConfig(kind=kind, vocabulary=350), SOURCES, [], mask=mask)


def loaded(config: ModelConfig, task: Task, words: Tokenizer | None) -> LoadedModel:
    """With drawn weights, the same each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = random_model(config, words.size if words else 0, words.pad if words else PAD)
    return LoadedModel(model, Description(config, words, task))


GPT = small(
    family="causal_lm",
    norm__order="pre",
    positions__kind="learned",
    positions__max_positions=48,
    embedding__scale=False,
)
LLAMA = small(
    family="causal_lm",
    norm__order="pre",
    norm__kind="rms",
    positions__kind="rotary",
    feed_forward__kind="gated",
    feed_forward__activation="silu",
    attention__key_value_heads=2,
    bias=False,
    embedding__scale=False,
)
BERT = small(
    family="masked_lm",
    positions__kind="learned",
    positions__max_positions=24,
    feed_forward__activation="gelu",
    norm__epsilon=1e-12,
    embedding__scale=False,
    embedding__norm=True,
    embedding__segments=2,
    output__bias=True,
    pooling__pooler="tanh",
)
VIT = small(
    family="vision",
    patches__image_size=8,
    patches__patch_size=4,
    norm__order="pre",
    positions__kind="learned",
    feed_forward__activation="gelu",
    classes=3,
)
LSTM_LM = small(family="causal_lm", stack="lstm", positions__kind="none", attention__heads=1, layers=2)


@cache
def language_model(config: ModelConfig = GPT) -> LoadedModel:
    return loaded(config, Task(kind="causal_lm"), tokenizer())


@cache
def remembering() -> LoadedModel:
    """A language model that has learned a handful of sentences by heart: what it writes ends."""
    found = language_model(
        replaced(LLAMA, {"width": 32, "feed_forward.hidden": 64, "attention.key_value_heads": None, "layers": 2})
    )
    words = tokenizer()
    ends = [[words.eos, *words.encode(text), words.eos] for text in SOURCES]
    rows = [row[start:] for row in ends for start in (0, 1)]  # after another text, and at the start of a row
    tokens = torch.tensor([row + [words.pad] * (max(map(len, rows)) - len(row)) for row in rows])
    optimiser = torch.optim.Adam(found.model.parameters(), lr=0.01)
    for _ in range(60):
        logits = found.model(tokens[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=words.pad)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return found


@cache
def encoder(head: bool = True) -> LoadedModel:
    config = replaced(BERT, {"output.language_head": head})
    return loaded(config, Task(kind="masked_lm" if head else "embed"), tokenizer("wordpiece", mask=True))


@cache
def classifier(body: ModelConfig = BERT, regression: bool = False) -> LoadedModel:
    config = dataclasses.replace(body, classes=1 if regression else len(LABELS))
    task = Task(kind="classify", labels=() if regression else LABELS, regression=regression)
    return loaded(config, task, tokenizer("wordpiece", mask=True))


@cache
def seer() -> LoadedModel:
    """It classifies pictures."""
    task = Task(kind="images", labels=LABELS, image_mean=(0.2, 0.4, 0.6), image_std=(0.5, 0.25, 0.3))
    return loaded(VIT, task, None)


def picture(path: Path, colour: tuple[int, int, int]) -> str:
    from PIL import Image

    Image.new("RGB", (8, 8), colour).save(path)
    return str(path)
