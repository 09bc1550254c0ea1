"""Export of a model to a folder for CTranslate2."""

from pathlib import Path

from headwise.errors import ConfigError
from headwise.extras import require
from headwise.files.folder import whole_folder
from headwise.models.export import ctranslate2
from headwise.models.export.sidecar import write_sidecar
from headwise.models.folder.description import Description
from headwise.models.folder.load import read_float_model, refuse_existing

TASKS = ("translation", "causal_lm")
"""Kinds of models that CTranslate2 runs."""


def export(source: Path, target: Path, precision: str = "float32") -> Description:
    """Write the model in the folder `source` as the folder `target`, for CTranslate2."""
    refuse_existing(target)
    require("ctranslate2", "--to ctranslate2")
    description, weights = read_float_model(source)
    loaded = description.build(str(source), weights)
    kind = loaded.task.kind
    if kind not in TASKS:
        raise ConfigError(f"{source}: a model for {kind}, but --to ctranslate2 is for {' and '.join(TASKS)}")
    if loaded.tokenizer is None:
        raise ConfigError(f"{source}: --to ctranslate2 needs a model with a tokenizer")
    with whole_folder(target) as folder:
        if kind == "translation":
            ctranslate2.write_translator(loaded, folder, precision)
        else:
            ctranslate2.write_generator(loaded, folder, precision)
        write_sidecar(loaded, folder, precision, target.name)
    return loaded.description
