"""Every task and every kind of model in two processes, by copies and in parts: the losses of one process alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwise.config import Recipe
from headwise.models.folder.load import load
from headwise.presets import resolve
from headwise.recipe import override
from headwise.train.run import train
from headwise.train.start import recipe_from
from tests.train.processes.launch import run
from tests.train.small_runs import run_recipe, silent, write_corpus
from tests.train.texts import text_recipe

PLAIN = {"model.dropout": 0.0, "train.epsilon": 1e-3, "train.steps": 6}


def translator(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    corpus = folder / "pairs.tsv"
    return run_recipe(corpus if corpus.exists() else write_corpus(folder), out, settings)


def tuned(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    """Low-rank changes to a model, of which a layer stays as it is."""
    return further(folder, out, settings, {"tune.lora_rank": 2, "tune.freeze": ["source_embedding"]})


def blended(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    """A blend with its start, in a run that is long enough for an estimate of its time."""
    return further(folder, out, {**settings, "train.steps": 40, "train.ema": 0.9}, {"tune.blend": 0.5})


def further(folder: Path, out: Path, settings: dict[str, Any], tune: dict[str, Any]) -> Recipe:
    """A model that is trained further."""
    first = translator(folder, folder / "first", {"train.steps": 1})
    if not (folder / "first" / "model.safetensors").exists():
        train(first, say=silent)
    tables = override(
        {"out": str(out), "init": str(folder / "first"), "seed": 5},
        {
            "data.source_language": "xx",
            "data.target_language": "yy",
            "data.train": [{"pairs": [str(folder / "pairs.tsv")]}],
            "data.held_out": 6,
            "data.cache": str(folder / "cache"),
            **tune,
            "train.validate_bleu": False,
            "train.batch_tokens": 160,
            "train.learning_rate": 0.01,
            "train.log_every": 1,
            "train.checkpoint_every": 3,
            "train.device": "cpu",
            **{key: value for key, value in settings.items() if key != "model.dropout"},
            "model.dropout": 0.0,
        },
    )
    return recipe_from(tables)


def text(folder: Path) -> Path:
    path = folder / "text.txt"
    if not path.exists():
        path.write_text("\n".join(f"the {n} cats see {n * 7 % 13} birds near the sea." for n in range(200)) + "\n")
    return path


def causal(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    return text_recipe("causal_lm", text(folder), out, settings)


def albert(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    """Layers that are used several times, and the next-sentence task."""
    more = {
        "model.shared_layers": 1,
        "model.embedding.segments": 2,
        "model.output.next_sentence": True,
        "model.pooling.pooler": "tanh",
    }
    return text_recipe("masked_lm", text(folder), out, {**more, "language.next_sentence": True, **settings})


def classifier(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    path = folder / "labelled.tsv"
    if not path.exists():
        rows = [f"cat {n} sees {'sweet' if n % 3 else 'bitter'} fish\t{int(n % 3 > 0)}" for n in range(200)]
        path.write_text("sentence\tlabel\n" + "\n".join(rows) + "\n")
    tables = {
        "task": "classify",
        "seed": 3,
        "out": str(out),
        "model": {
            "preset": "tiny",
            "family": "masked_lm",
            "width": 32,
            "layers": 1,
            "attention.heads": 2,
            "feed_forward.hidden": 64,
        },
        "text": {"kind": "words"},
        "data": {"train": [{"labelled": str(path)}], "held_out": 20},
        "train": {"batch_tokens": 64, "learning_rate": 0.003, "device": "cpu", "log_every": 1, "checkpoint_every": 3},
    }
    return resolve(override(tables, settings))


def images(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    if not (folder / "train.npz").exists():
        rng = np.random.default_rng(1)
        labels = rng.integers(2, size=120)
        pictures = rng.integers(100, size=(120, 12, 12)) + 100 * labels[:, None, None]
        np.savez(folder / "train.npz", images=pictures.astype(np.uint8), labels=labels, classes=np.array(["a", "b"]))
    shape = {
        "width": 16,
        "layers": 1,
        "attention.heads": 2,
        "feed_forward.hidden": 32,
        "patches.image_size": 12,
        "patches.patch_size": 4,
        "patches.channels": 1,
    }
    tables = {
        "task": "images",
        "out": str(out),
        "model": {"preset": "tiny", "family": "vision", **shape},
        "data": {"folder": str(folder), "train": [{"images": ["train.npz"]}], "held_out": 20},
        "images": {"crop": 1, "mixup": 0.2},
        "train": {"batch_tokens": 15, "learning_rate": 0.003, "device": "cpu", "log_every": 1, "checkpoint_every": 3},
    }
    return resolve(override(tables, settings))


def lstm(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    shape = {"preset": "lstm", "width": 16, "layers": 1}
    recipe = translator(folder, out, settings)
    return resolve({**_tables(recipe), "model": {**shape, "dropout": 0.0}})


def noisy(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    return translator(folder, out, {**settings, "data.noise.preset": "usual"})


def guided(folder: Path, out: Path, settings: dict[str, Any]) -> Recipe:
    return translator(folder, out, {**settings, "train.guided_alignment": 0.2})


def _tables(recipe: Recipe) -> dict[str, Any]:
    from headwise.recipe import to_tables

    return {key: value for key, value in to_tables(recipe).items() if key != "model"}


TASKS = {
    "lora": tuned,
    "blend": blended,
    "causal": causal,
    "albert": albert,
    "classify": classifier,
    "images": images,
    "lstm": lstm,
    "noise": noisy,
    "guided": guided,
}


def train_there(task: str, folder: Path, out: Path, settings: dict[str, Any]) -> None:
    train(TASKS[task](folder, out, settings), say=print)


@pytest.mark.slow
@pytest.mark.parametrize("task", list(TASKS))
def test_two_processes_have_the_losses_of_one(tmp_path: Path, task: str) -> None:
    def losses(out: Path) -> list[float]:
        return [json.loads(line)["loss"] for line in (out / "log.jsonl").read_text().splitlines()]

    train(TASKS[task](tmp_path, tmp_path / "alone", PLAIN), say=silent)
    for kind in ("replicate", "shard"):
        out = tmp_path / kind
        run(2, tmp_path / f"{kind}-told", train_there, task, tmp_path, out, {**PLAIN, "train.parallel": kind})
        assert losses(out) == pytest.approx(losses(tmp_path / "alone"), abs=2e-5)
        load(out)
