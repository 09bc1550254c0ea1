"""Whole runs on tasks whose answers are known: what is learned in a minute is learned nearly without error."""

import time
from pathlib import Path
from typing import Any

import pytest

import headwise
from headwise.presets import resolve
from headwise.train.run import train
from tests.system.runs import Sequence, recipe_tables, sequences, write_tsv

LSTM = {"preset": "lstm", "width": 64, "layers": 1, "dropout": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize(("model", "steps", "share"), [({}, 500, 0.99), (LSTM, 600, 0.95)], ids=["Transformer", "LSTM"])
def test_reversing_is_learned(model: dict[str, Any], steps: int, share: float, tmp_path: Path) -> None:
    found = sequences(3000, seed=1, longest=5)
    unseen, seen = found[:300], found[300:]

    def answer(symbols: Sequence) -> Sequence:
        return symbols[::-1]

    write_tsv(tmp_path / "train.tsv", [(each, answer(each)) for each in seen])
    write_tsv(tmp_path / "valid.tsv", [(each, answer(each)) for each in unseen[:50]])
    began = time.process_time()
    settings = {"learning_rate": 0.006 if model else 0.004, "warmup": 50, "schedule": "cosine", "batch_tokens": 512}
    tables = recipe_tables(
        tmp_path, steps=steps, validate_every=steps, checkpoint_every=steps, log_every=100, **settings
    )
    outcome = train(resolve({**tables, "model": model or tables["model"]}), say=lambda text: None)
    results = headwise.Translator(outcome.folder, device="cpu").translate([" ".join(each) for each in unseen], beam=1)
    right = sum(r.text == " ".join(answer(each)) for r, each in zip(results, unseen, strict=True))
    assert right / len(unseen) >= share
    assert time.process_time() - began < 60
