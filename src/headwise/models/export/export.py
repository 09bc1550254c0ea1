"""From any model to a folder for another program, which appears whole or not at all."""

import importlib.util
from pathlib import Path

from headwise.errors import ConfigError
from headwise.files.folder import whole_folder
from headwise.models.export import ctranslate2
from headwise.models.folder.description import Description
from headwise.models.folder.load import load

PACKAGES = {"ctranslate2": "ctranslate2", "onnx": "onnx"}
"""What each target is written with."""
TASKS = {"ctranslate2": ("translation", "causal_lm"), "onnx": ("translation",)}


def export(source: Path, target: Path, to: str, precision: str = "float32") -> Description:
    """Write the model in `source` as `target`, for the program `to`: a row of the table above."""
    if target.exists() and any(target.iterdir() if target.is_dir() else [target]):
        raise ConfigError(f"{target}: is there already: choose another folder")
    if importlib.util.find_spec(PACKAGES[to]) is None:
        raise ConfigError(f"--to {to} needs the package {PACKAGES[to]}: pip install 'headwise[export]'")
    loaded = load(source)
    kind = loaded.task.kind
    if kind not in TASKS[to]:
        raise ConfigError(f"{source}: is for {kind}: --to {to} takes models for {' or '.join(TASKS[to])}")
    if loaded.tokenizer is None:
        raise ConfigError(f"{source}: has no tokenizer, and --to {to} writes one that belongs to the model")
    from headwise.models.export.beside import write_beside

    with whole_folder(target) as folder:
        if to == "onnx":
            from headwise.models.export import onnx  # the package is there, the other target's may not be

            onnx.write_translator(loaded, folder, precision)
        elif kind == "translation":
            ctranslate2.write_translator(loaded, folder, precision)
        else:
            ctranslate2.write_generator(loaded, folder, precision)
        write_beside(loaded, folder, to, precision, target.name)
    return loaded.description
