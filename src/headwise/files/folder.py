"""Folders that appear under their name only when they are complete, and manifests that detect damage.

A manifest lists the digest of every file in a folder. Without it, a byte that a failing disk has changed in prepared
data would only show as a slightly different model.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from headwise.errors import CheckpointError
from headwise.files import tables
from headwise.files.atomic import disk_errors, move, sync
from headwise.files.digest import file_digest
from headwise.files.tables import check_format, digest_mismatch, read_table, write_table

MANIFEST = "manifest.json"


@contextlib.contextmanager
def whole_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A new folder to write into, which is renamed to `path` at the end; if the writing fails it is removed.

    An empty folder may already be at `path`. With `replace`, also one with files may: it is replaced as a whole.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.writing")
    replaced = path.with_name(f".{path.name}.replaced.writing")
    with disk_errors(path):
        shutil.rmtree(temporary, ignore_errors=True)  # in a container, a killed process may have had the same number
        temporary.mkdir(parents=True)
        try:
            yield temporary
            for file in temporary.rglob("*"):
                sync(file)
            sync(temporary)
            if replace and path.exists():
                shutil.rmtree(replaced, ignore_errors=True)
                move(path, replaced)
            elif path.is_dir():
                path.rmdir()
            move(temporary, path)
            sync(path.parent)
            shutil.rmtree(replaced, ignore_errors=True)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def write_manifest(folder: Path) -> None:
    """List all files of a folder, in it, with their digests; tensors carry their own."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    digests = {path.relative_to(folder).as_posix(): _digest(path) for path in files}
    write_table(folder / MANIFEST, {"format": tables.FORMAT, "files": digests})


def check_manifest(folder: Path) -> None:
    """Refuse a folder without a manifest, or one in which a listed file is missing or has changed.

    All files but tensors are read to their end.
    """
    manifest = read_table(folder / MANIFEST)
    check_format(folder, manifest)
    digests = manifest.get("files")
    if not isinstance(digests, dict) or not digests:
        raise CheckpointError(f"{folder / MANIFEST}: damaged: it lists no files")
    for name, digest in digests.items():
        if not (folder / name).is_file():
            raise CheckpointError(f"{folder}: {name} is missing")
        try:
            found = _digest(folder / name)
        except OSError as error:
            raise CheckpointError(f"{folder / name}: cannot be read: {error.strerror or error}") from None
        if found != digest:
            raise digest_mismatch(folder / name)


def _digest(path: Path) -> str:
    return "" if path.suffix == ".safetensors" else file_digest(path)
