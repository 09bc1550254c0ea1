"""Model folders: loading, saving and converting weights, config, tokenizer and model card."""

import dataclasses
from pathlib import Path
from typing import Any

import torch

from headwise import __version__
from headwise.bundled.find import find_model
from headwise.errors import CheckpointError, ConfigError
from headwise.files.atomic import write_json, write_text
from headwise.files.folder import whole_folder
from headwise.files.tensors import load_tensors, save_tensors
from headwise.models.folder.config_file import (
    SHORTLIST,
    WEIGHTS,
    load_description,
    save_description,
    shortlist_path,
)
from headwise.models.folder.description import INT8, Description, LoadedModel
from headwise.models.folder.run_layout import load_weights
from headwise.models.folder.weights import Weights, check_depth, check_weights, weights_of
from headwise.models.published.exchange import export_published
from headwise.models.published.formats.foreign import read_foreign
from headwise.models.published.formats.huggingface import write_folder
from headwise.models.published.image_processor import PREPROCESSOR, preprocessor_config
from headwise.models.published.read_folder import is_foreign, published_tokenizer, read_published
from headwise.nn.int8 import dequantised, to_int8
from headwise.text.kinds import load_tokenizer
from headwise.text.tokenizer import Tokenizer

CARD = "README.md"


def save_model(folder: Path, loaded: LoadedModel) -> None:
    """Write a folder that `load` reads back exactly."""
    folder.mkdir(parents=True, exist_ok=True)
    save_description(folder, loaded.description)
    save_tensors(folder / WEIGHTS, weights_of(loaded.model))


def load(folder: str | Path, device: str | torch.device = "cpu", *, int8: bool = False) -> LoadedModel:
    """Load a trained model, a checkpoint, a run's best checkpoint so far, a Hugging Face folder or a GGUF file, by its
    path or its name.

    `int8` allows int8 weights too; such a model is for inference only.
    """
    folder = find_model(folder)
    description, weights = read_model(folder, int8=int8)
    return description.build(str(folder), weights, device)


def read_model(model: str | Path, *, int8: bool = False) -> tuple[Description, Weights]:
    """Description and weights of a model, which is given by its path or its name."""
    folder = find_model(model)
    if is_foreign(folder):
        return read_published(folder)
    if not folder.is_dir():
        raise CheckpointError(f"{folder}: is a file, not a model folder")
    description = load_description(folder)
    if description.precision != "float32" and not int8:
        raise CheckpointError(
            f"{folder}: its weights are {description.precision}, which is for translation only: `headwise convert` "
            "makes a float32 folder of it"
        )
    weights = load_weights(folder)
    check_depth(description.config, len(weights), str(folder))
    return description, weights


def read_float_model(model: str | Path) -> tuple[Description, Weights]:
    """Description and weights of a model; int8 weights become the float32 ones that they stand for."""
    description, weights = read_model(model, int8=True)
    if description.precision != INT8:
        return description, weights
    return dataclasses.replace(description, precision="float32"), dequantised(weights)


def read_tokenizer(model: str | Path) -> Tokenizer:
    """The tokenizer of a model, or of a folder that holds nothing else."""
    folder = find_model(model)
    if not is_foreign(folder):
        return load_tokenizer(folder)
    tokenizer = published_tokenizer(folder, read_foreign(folder))
    if tokenizer is None:
        raise CheckpointError(f"{folder}: it has no supported tokenizer")
    return tokenizer


def refuse_existing(target: Path) -> None:
    """Refuse to write a model to a file or to a folder that is not empty."""
    if target.exists() and any(target.iterdir() if target.is_dir() else [target]):
        raise ConfigError(f"{target} exists already and is not empty: choose another folder")


def convert(source: Path, target: Path, to: str, model_type: str = "", precision: str = "float32") -> Description:
    """Convert any model to a folder of ours (`headwise`) or of Hugging Face's library (`huggingface`).

    The `precision` int8, for ours, is for translation on a CPU and needs a quarter of the size.
    """
    source = find_model(source)
    description, weights = read_float_model(source)
    check_weights(description.empty(str(source)), weights, str(source))
    refuse_existing(target)
    if to == "headwise" and precision == INT8:
        if description.task.kind != "translation":
            raise ConfigError(f"{source}: a model for {description.task.kind}, but int8 is for translators")
        model = to_int8(description.build(str(source), weights).model)
        description, weights = dataclasses.replace(description, precision=INT8), weights_of(model)
    with whole_folder(target) as folder:
        if to == "headwise":
            save_tensors(folder / WEIGHTS, weights)
            save_description(folder, description)
            if shortlist_path(source).is_file():  # it belongs to the tokenizer, which does not change
                save_tensors(folder / SHORTLIST, load_tensors(shortlist_path(source)))
            if (source / CARD).is_file():  # it names the licences of the data
                card = (source / CARD).read_text(encoding="utf-8", errors="replace").rstrip()
                made = f"`headwise convert` of Headwise {__version__}, weights in {precision}."
                write_text(folder / CARD, f"{card}\n\n## Converted\n\n{made}\n")
        else:
            _publish(folder, description, weights, model_type)
    return description


def _publish(folder: Path, description: Description, weights: Weights, model_type: str) -> None:
    """Write a model as a Hugging Face folder."""
    config, tensors = export_published(
        description.config,
        weights,
        description.rows,
        description.specials,
        model_type or description.task.published,
        description.task.labels,
        multi_label=description.task.multi_label,
    )
    task = description.task
    if description.tokenizer is not None:  # first: it may be refused
        description.tokenizer.save_published(folder, framed=task.kind != "causal_lm" or bool(task.published))
    write_folder(folder, config, tensors, generation_config=_generation(description))
    if description.task.image_mean:
        write_json(folder / PREPROCESSOR, preprocessor_config(description))


def _generation(description: Description) -> dict[str, Any] | None:
    """The generation config of a translator: the defaults of `transformers` would cut texts short."""
    if description.task.kind != "translation":
        return None
    ids = description.specials
    return {
        "decoder_start_token_id": ids.sos,
        "pad_token_id": ids.pad,
        "eos_token_id": ids.eos,
        "forced_eos_token_id": ids.eos,
        "bad_words_ids": [[ids.pad]],
        "max_length": 512,
        "num_beams": 4,
    }
