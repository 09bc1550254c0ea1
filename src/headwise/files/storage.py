"""Tensors and folders on disk that are refused, with a reason, if they are not exactly what was written.

Tensors are kept as safetensors with a digest of their content in the header; a folder appears under its name only
when it is complete. Nothing here is ever pickled or executed. PyTorch is loaded where there are tensors.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from safetensors import SafetensorError, safe_open

from headwise.errors import CheckpointError, StoppedError
from headwise.files.atomic import FULL, DiskFullError, disk_errors, replacing, sync, write_json

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 1
"""Raised when older versions can no longer read what is written; newer folders are refused by name."""

MANIFEST = "manifest.json"

PATIENCE = 300.0
"""Seconds that a run waits for room on a full disk."""
LOOK_EVERY = 5.0
"""Seconds between two attempts."""

T = TypeVar("T")


class NewerFormatError(CheckpointError):
    """Nothing is damaged: a newer Headwise wrote it."""


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path}: damaged, not valid JSON: {error}") from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None


def write_table(path: Path, table: Mapping[str, Any]) -> None:
    """A JSON table with its digest, atomically."""
    write_json(path, {**table, "digest": table_digest(table)})


def read_table(path: Path) -> dict[str, Any]:
    """What `write_table` wrote; one that has no digest, from before there were any, is taken as it is."""
    table = read_json(path)
    if not isinstance(table, dict):
        raise CheckpointError(f"{path}: damaged: not a table")
    digest = table.pop("digest", None)
    if digest is not None and digest != table_digest(table):
        raise CheckpointError(f"{path}: damaged or altered: its content does not match its digest")
    return table


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write named tensors, with their digest, atomically."""
    content = {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())}
    write_safetensors(path, content, {"format": str(FORMAT), "digest": tensors_digest(content)})


def write_safetensors(path: Path, content: dict[str, Tensor], header: dict[str, str]) -> None:
    """A safetensors file of these tensors, atomically; none may share memory with another."""
    from safetensors.torch import save_file

    with replacing(path) as temporary:
        # safetensors writes under a name of its own first, which a kill would leave there: so in a folder that tells.
        aside = temporary.with_name(temporary.name.removesuffix(".writing") + ".tensors.writing")
        try:
            aside.mkdir(exist_ok=True)
            save_file(content, aside / path.name, metadata=header)
            (aside / path.name).replace(temporary)
        except SafetensorError as error:  # safetensors hides the OSError in its message
            numbers = [number for number in FULL if f"(os error {number})" in str(error)]
            raise OSError(numbers[0] if numbers else errno.EIO, str(error)) from None
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        temporary.chmod(0o644)  # safetensors lets only the owner read, but a model is there to be passed on
        sync(temporary)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read what `save_tensors` wrote; a file that is not exactly that is an error."""
    with opened(path, "pt") as (file, digest):
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if digest != tensors_digest(tensors):
        raise altered(path)
    return tensors


@contextlib.contextmanager
def opened(path: Path, framework: str) -> Iterator[tuple[Any, str | None]]:
    """A file that `save_tensors` wrote, and the digest that its content has to have."""
    try:
        with safe_open(path, framework=framework) as file:
            metadata = file.metadata() or {}
            if int(metadata.get("format", 0)) > FORMAT:
                raise NewerFormatError(
                    f"{path}: written by a newer Headwise (format {metadata['format']}, this one reads up to "
                    f"{FORMAT}): upgrade to load it"
                )
            yield file, metadata.get("digest")
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path}: truncated or damaged ({error})") from None


def altered(path: Path) -> CheckpointError:
    return CheckpointError(f"{path}: damaged or altered: its content does not match its digest")


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
            manifest = {"format": FORMAT, "files": names, "digests": digests}
            write_table(temporary / MANIFEST, manifest)
            replaced = path.with_name(f".{path.name}.replaced.writing")
            if path.exists():  # moved at once: half of the old folder is never seen
                shutil.rmtree(replaced, ignore_errors=True)
                path.rename(replaced)
            temporary.rename(path)
            sync(path.parent)
            shutil.rmtree(replaced, ignore_errors=True)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def check_folder(path: Path) -> None:
    """Refuse a folder that `new_folder` did not finish, or that lost a file since."""
    manifest = read_table(path / MANIFEST)
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


def write_when_there_is_room(
    write: Callable[[], T], say: Callable[[str], None], stop: Callable[[], bool] = lambda: False
) -> T:
    """What `write` returns; while the disk is full it is called again and again, for `PATIENCE` seconds at most.

    A run that cannot save has three ways to go. Ending at once would throw away the time until somebody looks, for
    a disk that may be full for a moment only. Going on unsaved would put ever more work at risk, and would end with
    other weights than an undisturbed run: the best checkpoint, or one of those that are averaged, would be missing.
    So it waits, says so, and goes on as if nothing had happened once there is room; and if there is none for long, or
    it is asked to stop, it ends with what was saved before, from which the same command goes on.
    """
    until = 0.0
    while True:
        try:
            written = write()
        except DiskFullError as error:
            now = time.monotonic()
            first, until = not until, until or now + PATIENCE
            if stop():
                raise StoppedError(
                    "stopped while the disk was full; what was saved before is kept, and the same command goes on "
                    "from there"
                ) from error
            if now >= until:
                raise
            if first:
                say(f"{error}. Waiting for room, {PATIENCE:,.0f} seconds at most")
            again = min(now + LOOK_EVERY, until)
            while time.monotonic() < again and not stop():
                time.sleep(min(0.1, LOOK_EVERY))
        else:
            if until:
                say("there is room on the disk again: going on")
            return written


def text_digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def table_digest(table: Mapping[str, Any]) -> str:
    """Of a JSON table, however it is written."""
    return text_digest(json.dumps(table, sort_keys=True).encode())


def _file_digest(path: Path) -> str:
    try:
        return text_digest(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None


def tensors_digest(tensors: Mapping[str, Tensor]) -> str:
    """Of names, types, shapes and bytes."""
    import torch

    def bytes_of(tensor: Tensor) -> Any:
        return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()

    described = ((name, str(tensor.dtype), tuple(tensor.shape)) for name, tensor in sorted(tensors.items()))
    return content_digest((*each, [bytes_of(tensors[each[0]])]) for each in described)


def content_digest(tensors: Iterable[tuple[str, str, tuple[int, ...], Iterable[Any]]]) -> str:
    """Of names in their order, types as PyTorch calls them, shapes, and bytes in pieces."""
    digest = hashlib.blake2b(digest_size=16)
    for name, dtype, shape, content in tensors:
        digest.update(f"{name} {dtype} {shape};".encode())
        for piece in content:
            digest.update(piece)
    return digest.hexdigest()
