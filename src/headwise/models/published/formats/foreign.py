"""One door to every kind of weights that other programs write."""

import zipfile
from pathlib import Path

from headwise.errors import CheckpointError
from headwise.models.published.formats.gguf import read_gguf
from headwise.models.published.formats.huggingface import CONFIG, INDEX, READERS, read_folder
from headwise.models.published.formats.llama2c import read_header, read_llama2c
from headwise.models.published.formats.value import Foreign

READABLE = (
    "a Hugging Face folder (config.json with model.safetensors or pytorch_model.bin), a .gguf file, or a llama2.c "
    "checkpoint (.bin, its tokenizer.bin beside it), or a folder with one of these"
)
TOKENIZER = "tokenizer.bin"
"""Beside a llama2.c checkpoint."""


def read_foreign(path: str | Path) -> Foreign:
    """The model in whatever this path is."""
    path = Path(path)
    try:
        if path.is_dir():
            return _read_folder(path)
        if not path.is_file():
            raise CheckpointError(f"{path}: no such file or folder")
        with path.open("rb") as file:
            magic = file.read(4)
        if path.suffix == ".gguf" or magic == b"GGUF":
            return read_gguf(path)
        if path.suffix == ".bin" and magic[:2] != b"PK" and (read_header(path) or magic == b"24ka"):
            return _read_llama2c(path)
    except OSError as error:
        raise CheckpointError(f"{error.filename or path}: cannot be read ({error.strerror or error})") from None
    raise CheckpointError(f"{path}: not a model that can be read. What can: {READABLE}")


def _read_llama2c(path: Path) -> Foreign:
    tokenizer = path.with_name(TOKENIZER)
    return read_llama2c(path, tokenizer if tokenizer.is_file() and tokenizer != path else None)


def llama2c_files(folder: Path) -> list[Path]:
    """What could be llama2.c checkpoints in a folder that says nothing about itself."""
    if (folder / CONFIG).is_file():
        return []
    files = [file for file in sorted(folder.glob("*.bin")) if file.is_file() and file.name != TOKENIZER]
    return [file for file in files if not zipfile.is_zipfile(file) and read_header(file)]


def _read_folder(path: Path) -> Foreign:
    weights = any((path / f"{name}{end}").is_file() for name in READERS for end in ("", INDEX))
    files = sorted(path.glob("*.gguf"))
    if files and not weights:  # a config.json beside a GGUF file says less than the file itself
        if len(files) > 1:
            names = ", ".join(file.name for file in files[:5])
            raise CheckpointError(f"{path}: holds {len(files)} .gguf files ({names}): name one of them")
        return read_gguf(files[0])
    checkpoints = llama2c_files(path)
    if checkpoints and not weights:
        if len(checkpoints) > 1:
            names = ", ".join(file.name for file in checkpoints[:5])
            raise CheckpointError(f"{path}: holds {len(checkpoints)} llama2.c checkpoints ({names}): name one of them")
        return _read_llama2c(checkpoints[0])
    if weights or (path / CONFIG).is_file():
        return read_folder(path)
    raise CheckpointError(f"{path}: not a model that can be read. What can: {READABLE}")
