"""`read_foreign` reads every supported kind of model that other programs write."""

from pathlib import Path

from headwise.errors import CheckpointError
from headwise.models.published.formats.gguf import read_gguf
from headwise.models.published.formats.huggingface import CONFIG, INDEX, READERS, read_folder
from headwise.models.published.formats.value import Foreign

READABLE = (
    "a Hugging Face folder (config.json with model.safetensors or pytorch_model.bin), a .gguf file, "
    "or a folder with one of these"
)


def read_foreign(path: str | Path) -> Foreign:
    """The model in a folder or file of any supported kind."""
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
    except OSError as error:
        raise CheckpointError(f"{error.filename or path}: cannot be read ({error.strerror or error})") from None
    raise CheckpointError(f"{path}: not a model that can be read. Supported: {READABLE}")


def _read_folder(path: Path) -> Foreign:
    weights = any((path / f"{name}{end}").is_file() for name in READERS for end in ("", INDEX))
    files = sorted(path.glob("*.gguf"))
    if files and not weights:  # the GGUF file has its own config
        if len(files) > 1:
            names = ", ".join(file.name for file in files[:5])
            raise CheckpointError(f"{path}: holds {len(files)} .gguf files ({names}): name one of them")
        return read_gguf(files[0])
    if weights or (path / CONFIG).is_file():
        return read_folder(path)
    raise CheckpointError(f"{path}: not a model that can be read. Supported: {READABLE}")
