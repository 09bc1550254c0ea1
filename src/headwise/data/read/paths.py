"""Paths in recipes."""

from pathlib import Path


def recipe_path(folder: str, name: str) -> Path:
    """The file that a recipe names: relative to `data.folder`, with `~` as the home folder."""
    return Path(folder) / Path(name).expanduser()
