"""Models that other programs wrote, read as ours: a Hugging Face folder, a GGUF or a llama2.c file."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwise.errors import CheckpointError
from headwise.files.tables import read_json
from headwise.models.folder.description import Description, Task
from headwise.models.folder.weights import Weights
from headwise.models.published.exchange import import_published
from headwise.models.published.formats import GENERATION, Foreign, llama2c_files, read_foreign
from headwise.text.published.llama_files import from_gguf, from_llama2c
from headwise.text.published.tokenizer_folder import load_published
from headwise.text.tokenizer import Tokenizer

PREPROCESSOR = "preprocessor_config.json"
"""Beside the config of a model of pictures: what they are normalised with."""

NAMED = {"architectures", "model_type"}
"""What a config.json that Hugging Face's library wrote has of these."""

KINDS = {"encoder_decoder": "translation", "causal_lm": "causal_lm", "masked_lm": "masked_lm", "vision": "images"}
"""What a published model of a family is for."""


def is_foreign(path: Path) -> bool:
    """Whether another program wrote this model."""
    if path.is_file():
        return path.suffix in (".gguf", ".bin")
    if not (path / "config.json").is_file():
        return any(path.glob("*.gguf")) or bool(llama2c_files(path))
    described = read_json(path / "config.json")
    return isinstance(described, dict) and "format" not in described and bool(described.keys() & NAMED)


def read_published(path: Path) -> tuple[Description, Weights]:
    """A published model in our words."""
    foreign = read_foreign(path)
    imported = import_published(foreign)
    tokenizer = published_tokenizer(path, foreign)
    kind = KINDS[imported.config.family]
    if imported.config.classes and kind != "images":
        kind = "classify"
    elif kind == "masked_lm" and not imported.config.language_head:
        kind = "embed"
    longest = imported.config.max_positions if kind == "translation" else 0
    task = Task(
        directions=_directions(tokenizer, foreign) if kind == "translation" else (),
        kind=kind,
        tags=bool(tokenizer and tokenizer.languages) and kind == "translation",
        **({"max_tokens": min(longest, 512)} if longest else {}),
        labels=imported.labels,
        regression=imported.regression,
        image_mean=_normalisation(path, "image_mean", imported.config.channels) if kind == "images" else (),
        image_std=_normalisation(path, "image_std", imported.config.channels) if kind == "images" else (),
        published=imported.family.model_type,
    )
    ids = replace(imported.ids, ends=_ends(path, foreign))
    return Description(imported.config, tokenizer, task, imported.vocabulary, ids), imported.weights


def _ends(path: Path, foreign: Foreign) -> tuple[int, ...]:
    """The tokens that end a text, where config.json or generation_config.json names more than one."""
    file = path / GENERATION
    described = read_json(file) if path.is_dir() and file.is_file() else {}
    named = [foreign.config.get("eos_token_id"), described.get("eos_token_id") if isinstance(described, dict) else None]
    ends = dict.fromkeys(end for value in named for end in (value if isinstance(value, list) else [value]))
    found = tuple(end for end in ends if isinstance(end, int) and end >= 0)
    return found if len(found) > 1 else ()


def _normalisation(path: Path, key: str, channels: int) -> tuple[float, ...]:
    """Of pictures: what the folder says, or else what nearly all published models have."""
    file = path / PREPROCESSOR
    described = read_json(file) if file.is_file() else {}
    values = described.get(key, [0.5] * channels) if isinstance(described, dict) else None
    if not isinstance(values, list) or len(values) != channels or {*map(type, values)} - {int, float}:
        raise CheckpointError(f"{file}: {key} must be {channels} numbers, one a channel")
    return tuple(map(float, values))


def preprocessor_config(description: Description) -> dict[str, Any]:
    """How pictures become the model's input, for `transformers`."""
    size = description.config.image_size
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": size, "width": size},
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(description.task.image_mean),
        "image_std": list(description.task.image_std),
    }


def published_tokenizer(path: Path, foreign: Foreign) -> Tokenizer | None:
    if foreign.tokenizer is None:
        return load_published(path, foreign.config) if path.is_dir() else None
    if foreign.tokenizer["kind"] == "gguf":
        return from_gguf(foreign.tokenizer)
    return from_llama2c(foreign.tokenizer["data"])


def _directions(tokenizer: Tokenizer | None, foreign: Foreign) -> tuple[tuple[str, str], ...]:
    """From the folder's name (opus-mt-en-fr), or any to any of a tokenizer's languages."""
    if tokenizer is not None and tokenizer.languages:
        return tuple(("", language) for language in tokenizer.languages)
    named = re.search(r"\b([a-z]{2,3})[-_]([a-z]{2,3})$", str(foreign.config.get("_name_or_path") or ""))
    named = named or re.search(r"(?:^|[-_])([a-z]{2,3})[-_]([a-z]{2,3})$", Path(foreign.where).name)
    return ((named[1], named[2]) if named else ("", ""),)
