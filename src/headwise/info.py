"""Facts about a model folder or an installation, for people and for scripts."""

import platform
from pathlib import Path
from typing import Any

import torch

from headwise import __version__
from headwise.devices import best_device
from headwise.errors import CheckpointError
from headwise.evaluate import Scores
from headwise.models.folder import checkpoints, load
from headwise.models.weights import parameter_count
from headwise.presets import PRESETS
from headwise.storage import read_json
from headwise.train.checkpoint import read_progress
from headwise.train.run import SCORES


def describe_folder(folder: Path) -> dict[str, Any]:
    """Shape, languages, and how far its training came, where the folder tells."""
    loaded = load(folder)
    model = loaded.config
    facts: dict[str, Any] = {
        "directions": ", ".join(f"{s or '?'}-{t or '?'}" for s, t in loaded.task.directions),
        "family": model.family,
        "preset": model.preset,
        "layers": f"{model.encoder_layers}+{model.decoder_layers}",
        "width": model.width,
        "heads": model.heads,
        "hidden": model.hidden,
        "positions": model.positions,
        "norm": f"{model.norm}, {model.norm_order}",
        "parameters": parameter_count(loaded.model),
        "tokenizer": f"{loaded.tokenizer.kind}, {loaded.tokenizer.size} tokens",
    }
    finished = checkpoints(folder)
    if finished:
        progress = read_progress(finished[-1])
        facts |= {"steps": progress.step, "best step": progress.best_step}
    if (folder / SCORES).exists():
        try:
            for name, table in read_json(folder / SCORES).items():
                scores = Scores(**table)
                facts[name] = f"BLEU {scores.bleu:.2f}, chrF {scores.chrf:.2f}, {scores.pairs} pairs"
        except (AttributeError, TypeError, ValueError) as error:
            raise CheckpointError(f"{folder / SCORES}: damaged: {error}") from None
    return facts


def describe_installation() -> dict[str, Any]:
    device = best_device()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "headwise": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": f"{device.type} ({name})",
        "threads": torch.get_num_threads(),
        "presets": ", ".join(PRESETS),
    }
