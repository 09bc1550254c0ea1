"""A folder that is written once: a list of what its files hold tells damage from what was written.

Without it, a byte that a failing disk has changed in prepared data would only show as a slightly different model.
"""

import hashlib
import json
from pathlib import Path

from headwise.errors import DataError
from headwise.files.atomic import write_json

SEAL = "digests.json"


def seal(folder: Path) -> None:
    """List the digests of all files under the folder, in it."""
    write_json(folder / SEAL, {name: _digest(folder / name) for name in _files(folder)})


def check_seal(folder: Path) -> None:
    """Refuse a folder with a file that is not as it was sealed. One from before there were seals is taken as it is.

    All of it is read, about a gigabyte a second: training is going to read it anyway.
    """
    path = folder / SEAL
    if not path.exists():
        return
    try:
        digests = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: damaged: {error}") from None
    if not isinstance(digests, dict) or not digests:
        raise DataError(f"{path}: damaged: it lists no files")
    for name in digests:
        if _digest(folder / name) != digests[name]:
            raise DataError(f"{folder / name}: damaged or altered: its content does not match its digest")


def _files(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path != folder / SEAL)
    return sorted(path.relative_to(folder).as_posix() for path in files)


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
