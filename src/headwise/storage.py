"""Tensors and folders on disk that are refused, with a reason, if they are not exactly what was written.

Tensors are kept as safetensors with a digest of their content in the header; a folder appears under its name only
when it is complete. Nothing here is ever pickled or executed.
"""

import contextlib
import errno
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from headwise.atomic import disk_errors, replacing, sync, write_json
from headwise.errors import CheckpointError

FORMAT = 1
"""Raised when older versions can no longer read what is written; newer folders are refused by name."""

MANIFEST = "manifest.json"


class NewerFormatError(CheckpointError):
    """Nothing is damaged: a newer Headwise wrote it."""


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path}: damaged, not valid JSON: {error}") from None


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write named tensors, with their digest, atomically."""
    content = {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())}
    write_safetensors(path, content, {"format": str(FORMAT), "digest": _digest(content)})


def write_safetensors(path: Path, content: dict[str, Tensor], header: dict[str, str]) -> None:
    """A safetensors file of these tensors, atomically; none may share memory with another."""
    with replacing(path) as temporary:
        try:
            save_file(content, temporary, metadata=header)
        except SafetensorError as error:  # safetensors hides the OSError in its message
            raise OSError(errno.ENOSPC if "os error 28" in str(error) else errno.EIO, str(error)) from None
        temporary.chmod(0o644)  # safetensors lets only the owner read, but a model is there to be passed on
        sync(temporary)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read what `save_tensors` wrote; a file that is not exactly that is an error."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if int(metadata.get("format", 0)) > FORMAT:
                raise NewerFormatError(
                    f"{path}: written by a newer Headwise (format {metadata['format']}, this one reads up to "
                    f"{FORMAT}): upgrade to load it"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path}: truncated or damaged ({error})") from None
    if metadata.get("digest") != _digest(tensors):
        raise CheckpointError(f"{path}: damaged or altered: its content does not match its digest")
    return tensors


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder that appears under its name only when everything in it is written.

    The manifest lists the files, so that a folder with something missing is told from a whole one, and has a
    digest of those that do not hold their own.
    """
    temporary = path.with_name(f".{path.name}.writing")
    with disk_errors(path):
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            yield temporary
            files = sorted(temporary.iterdir())
            digests = {file.name: _file_digest(file) for file in files if file.suffix != ".safetensors"}
            names = [file.name for file in files]
            write_json(temporary / MANIFEST, {"format": FORMAT, "files": names, "digests": digests})
            if path.exists():
                shutil.rmtree(path)
            temporary.rename(path)
            sync(path.parent)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def check_folder(path: Path) -> None:
    """Refuse a folder that `new_folder` did not finish, or that lost a file since."""
    manifest = read_json(path / MANIFEST)
    check_format(path, manifest)
    files, digests = manifest.get("files"), manifest.get("digests", {})
    if not isinstance(files, list) or not isinstance(digests, dict):
        raise CheckpointError(f"{path / MANIFEST}: damaged: it lists no files")
    for name in files:
        if not (path / str(name)).is_file():
            raise CheckpointError(f"{path}: {name} is missing")
        if name in digests and _file_digest(path / name) != digests[name]:
            raise CheckpointError(f"{path / name}: damaged or altered: its content does not match its digest")


def check_format(path: Path, described: Any) -> None:
    """Refuse what a newer version wrote, and what no version did."""
    if not isinstance(described, dict) or not isinstance(described.get("format"), int):
        raise CheckpointError(f"{path}: not a Headwise folder (it names no format)")
    if described["format"] > FORMAT:
        raise NewerFormatError(
            f"{path}: written by a newer Headwise (format {described['format']}, this one reads up to {FORMAT}):"
            " upgrade to load it"
        )


def text_digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _file_digest(path: Path) -> str:
    return text_digest(path.read_bytes())


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Of names, types, shapes and bytes."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        content: Any = tensor.reshape(-1).view(torch.uint8).numpy()
        digest.update(content)
    return digest.hexdigest()
