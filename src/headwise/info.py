"""Facts about a model folder or an installation, for people and for scripts.

PyTorch is not needed for int8 models, nor for an installation without it.
"""

import platform
from pathlib import Path
from typing import Any

from headwise import __version__
from headwise.bundled.find import find_model, is_published
from headwise.decode.engines.native.native_model import default_threads
from headwise.decode.engines.table import availability
from headwise.decode.shortlist.shortlists import find_shortlists
from headwise.errors import CheckpointError
from headwise.extras import command_for, installed
from headwise.files.tables import read_json
from headwise.metrics import shown
from headwise.models.folder.arrays import StoredArrays
from headwise.models.folder.config_file import CHECKPOINTS, SCORES, WEIGHTS, check_folder, is_int8, load_description
from headwise.models.folder.description import Description
from headwise.presets import PRESETS
from headwise.text.kinds import TOKENIZERS
from headwise.text.tokenizer import Tokenizer


def describe_folder(model: str | Path) -> dict[str, Any]:
    """Shape, languages, training progress and scores of a model, which is given by its path or its name."""
    folder = find_model(model)
    description, parameters = _read(folder)
    config, task = description.config, description.task
    is_pair = config.family == "encoder_decoder"
    facts: dict[str, Any] = {"task": task.kind}
    if description.precision != "float32":
        facts["weights"] = f"{description.precision}, for translating on a CPU"
    if task.directions:
        facts["directions"] = task.known_directions
    if task.labels:
        facts["labels"] = ", ".join(task.labels)
    facts |= {
        "family": config.family,
        "published as": task.published or "(trained here)",
        "preset": config.preset or "(none)",
        "layers": f"{config.encoder_side.layers}+{config.layers}" if is_pair else str(config.layers),
        "width": config.width,
        "heads": config.attention.heads,
        "hidden": config.feed_forward.hidden,
        "positions": config.positions.kind,
        "norm": f"{config.norm.kind}, {config.norm.order}",
        "parameters": parameters,
        "tokenizer": _tokenizer(description.tokenizer),
    }
    lists = find_shortlists(folder, description.tokenizer) if description.tokenizer else None
    if lists is not None:
        facts["shortlist"] = ", ".join(
            f"{s or '?'}-{t or '?'}: from {table.pairs:,} pairs" for (s, t), table in lists.tables.items()
        )
    return facts | _training(folder)


def _read(folder: Path) -> tuple[Description, int]:
    """The description of a model and the number of its parameters; damaged weights are an error."""
    if is_int8(folder):
        weights = StoredArrays(folder / WEIGHTS)
        return load_description(folder), sum(array.size for array in weights.values())
    if not is_published(folder):
        check_folder(folder)
    from headwise.models.folder.load import load
    from headwise.models.folder.weights import parameter_count

    loaded = load(folder)
    return loaded.description, parameter_count(loaded.model)


def _training(folder: Path) -> dict[str, Any]:
    """Steps and scores, if the folder is a training run."""
    facts: dict[str, Any] = {}
    if (folder / CHECKPOINTS).is_dir():
        from headwise.models.folder.run_layout import checkpoints
        from headwise.train.checkpoint.run_state import read_state

        finished = checkpoints(folder)
    else:
        finished = []
    if finished:
        progress = read_state(finished[-1])
        facts = {"steps": progress.step, "best step": progress.best_step}
    if (folder / SCORES).exists():
        try:
            for name, table in read_json(folder / SCORES).items():
                facts[name] = _shown(table)
        except (AttributeError, TypeError, ValueError) as error:
            raise CheckpointError(f"{folder / SCORES}: damaged: {error}") from None
    return facts


def _tokenizer(tokenizer: Tokenizer | None) -> str:
    if tokenizer is None:
        return "(none)"
    kind = tokenizer.kind if tokenizer.kind in TOKENIZERS else f"published ({tokenizer.kind})"
    return f"{kind}, {tokenizer.size} tokens"


_NAMES = {"bleu": "BLEU", "chrf": "chrF"}


def _shown(scores: dict[str, Any]) -> str:
    """Scores in one line: the figures, then the counts they were measured on."""
    figures = [
        shown(_NAMES.get(name, name.replace("_", " ")), value, 2 if abs(value) >= 10 else 4)
        for name, value in scores.items()
        if isinstance(value, float)
    ]
    counts = [f"{value:,} {name}" for name, value in scores.items() if isinstance(value, int)]
    return ", ".join(figures + counts)


def describe_installation() -> dict[str, Any]:
    """Versions, devices and engines of this installation."""
    return {
        "headwise": __version__,
        "python": platform.python_version(),
        **_torch(),
        "presets": ", ".join(PRESETS),
        "engines": availability(),
    }


def _torch() -> dict[str, Any]:
    """PyTorch's version and what it runs on; without it, translation uses the CPU."""
    if not installed("torch"):
        return {
            "torch": f"not installed; int8 translation does without ({command_for('torch')})",
            "device": f"cpu ({platform.machine()})",
            "threads": default_threads(),
        }
    import torch

    from headwise.devices import best_device

    device = best_device()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {"torch": torch.__version__, "device": f"{device.type} ({name})", "threads": torch.get_num_threads()}
