"""Files that are either whole or not there."""

import json
import os
from pathlib import Path
from typing import Any


def write_json(path: Path, table: dict[str, Any]) -> None:
    """Write a JSON file so that even a power cut leaves the old one, the new one or none - never a part."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as stream:
        json.dump(table, stream, ensure_ascii=False, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder as durable as their content, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open folders, and does not need to
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
