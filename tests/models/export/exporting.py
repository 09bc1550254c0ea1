"""Exported folders, and their own program at work."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from headwise.models.export.export import export
from headwise.models.folder.description import LoadedModel
from headwise.models.folder.load import save_model
from tests.taught import SOURCES

DOCS = Path(__file__).parents[3] / "docs" / "export.md"
UNSEEN = ["My dog sees the small cat.", "A fish eats the apple.", "The house finds  my sister.", "über ▁ 100 % 日本"]
"""No text of training: what comes out is nonsense, and must be the same nonsense."""
TEXTS = [*SOURCES, "", *UNSEEN]


def exported(loaded: LoadedModel, folder: Path, precision: str = "float32") -> Path:
    """The model as a folder of its own, and that as one for CTranslate2."""
    save_model(folder / "ours", loaded)
    target = folder / f"ctranslate2-{precision}"
    export(folder / "ours", target, precision)
    return target


def translated(folder: Path, texts: Sequence[str], *options: str) -> list[str]:
    """What the program in the folder prints."""
    command = [sys.executable, str(folder / "translate.py"), "--threads", "1", *options]
    given = "".join(f"{text}\n" for text in texts)
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=False, timeout=120, env=dict(os.environ), cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def example(number: int) -> str:
    """A program of the page on exporting."""
    return re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)[number]
