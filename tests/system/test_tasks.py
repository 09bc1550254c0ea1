"""Whole runs on tasks whose answers are known: what is learned in a minute is learned nearly without error."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import headwise
from headwise.train.run import train

from .runs import Sequence, recipe, sequences, write_tsv

TASKS: dict[str, Callable[[Sequence], Sequence]] = {
    "copy": lambda symbols: symbols,
    "reverse": lambda symbols: symbols[::-1],
}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_is_learned(task: Callable[[Sequence], Sequence], tmp_path: Path) -> None:
    found = sequences(6000, seed=1)
    unseen, seen = found[:500], found[500:]
    write_tsv(tmp_path / "train.tsv", [(each, task(each)) for each in seen])
    write_tsv(tmp_path / "valid.tsv", [(each, task(each)) for each in unseen[:50]])
    began = time.process_time()
    settings = {"learning_rate": 0.003, "warmup": 50, "schedule": "cosine", "batch_tokens": 1024}
    outcome = train(
        recipe(tmp_path, steps=700, validate_every=700, checkpoint_every=700, log_every=100, **settings),
        say=lambda text: None,
    )
    results = headwise.Translator(outcome.folder, "cpu").translate([" ".join(each) for each in unseen], beam=1)
    right = sum(r.text == " ".join(task(each)) for r, each in zip(results, unseen, strict=True))
    assert right / len(unseen) >= 0.99
    assert time.process_time() - began < 60
