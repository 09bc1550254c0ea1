"""JSON files: read with one-line errors, and tables that carry their digest and a format number."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwise.errors import CheckpointError
from headwise.files.atomic import write_json
from headwise.files.digest import table_digest

FORMAT = 1
"""Number of the format of model folders and checkpoints; a folder with a higher one is refused as newer."""


class NewerFormatError(CheckpointError):
    """The file or folder is intact, but a newer Headwise wrote it."""


class MissingFileError(CheckpointError):
    """A file that was to be read does not exist, or no longer."""


def read_json(path: Path) -> Any:
    """The JSON value in a file; whatever is wrong with the file is a `CheckpointError` that names it."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise MissingFileError(f"{path}: missing") from None
    except RecursionError:
        raise CheckpointError(f"{path}: damaged: nested too deeply to be read") from None
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        raise CheckpointError(f"{path}: damaged, not valid JSON: {error}") from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; see `read_json`."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: damaged: it must be a JSON object")
    return value


def write_table(path: Path, table: Mapping[str, Any]) -> None:
    """Write a JSON table with its digest, atomically."""
    write_json(path, {**table, "digest": table_digest(table)})


def read_table(path: Path) -> dict[str, Any]:
    """The table that `write_table` wrote; one with another content is refused."""
    table = read_object(path)
    if table.pop("digest", None) != table_digest(table):
        raise digest_mismatch(path)
    return table


def digest_mismatch(path: Path) -> CheckpointError:
    return CheckpointError(f"{path}: damaged or altered: its content does not match its digest")


def check_format(path: Path, table: Any) -> None:
    """Refuse a table that a newer version wrote, and one without a format number."""
    if not isinstance(table, dict) or not isinstance(table.get("format"), int):
        raise CheckpointError(f"{path}: not a Headwise folder (it names no format)")
    if table["format"] > FORMAT:
        raise NewerFormatError(
            f"{path}: written by a newer Headwise (format {table['format']}, this one reads up to {FORMAT}):"
            " upgrade to load it"
        )
