"""Facts about a model folder or an installation, for people and for scripts."""

import platform
from pathlib import Path
from typing import Any

import torch

from headwise import __version__
from headwise.devices import best_device
from headwise.models.folder import load
from headwise.models.weights import weights_of
from headwise.presets import PRESETS
from headwise.storage import read_json


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
        "parameters": sum(tensor.numel() for tensor in weights_of(loaded.model).values()),
        "tokenizer": f"{loaded.tokenizer.kind}, {loaded.tokenizer.size} tokens",
    }
    newest = sorted((folder / "checkpoints").glob("step-*"))
    if newest:
        state = read_json(newest[-1] / "state.json")
        facts |= {"steps": state["step"], "best step": state["best_step"]}
    if (folder / "scores.json").exists():
        for name, scores in read_json(folder / "scores.json").items():
            facts[name] = f"BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}, {scores['pairs']} pairs"
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
