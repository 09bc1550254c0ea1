"""Folders of sentence-transformers: how the vectors of a text's tokens are pooled into one."""

from pathlib import Path
from typing import Any

from headwise.errors import CheckpointError
from headwise.files.tables import read_json, read_object

MODULES = "modules.json"
SETTINGS = "sentence_bert_config.json"
KNOWN = ("Transformer", "Pooling", "Normalize")
POOLINGS = {"cls_token": "first", "mean_tokens": "mean", "lasttoken": "last"}
"""Names of poolings in sentence-transformers -> ours."""


def sentence_settings(folder: Path) -> dict[str, Any]:
    """The fields of a Task that a folder of sentence-transformers sets; none for other folders."""
    path = folder / MODULES
    modules = read_json(path) if path.is_file() else []
    if not modules:
        return {}
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise CheckpointError(f"{path}: damaged: it must be a list of modules")
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    for kind in kinds:
        if kind not in KNOWN:
            raise CheckpointError(
                f"{path}: the module {kind} is not supported, so the vectors would be wrong; "
                f"without {MODULES} the folder is read as a plain encoder"
            )
    settings: dict[str, Any] = {}
    if "Pooling" in kinds:
        settings["pooling"] = _pooling(folder / str(modules[kinds.index("Pooling")].get("path", "")) / "config.json")
    described = read_object(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}
    if described.get("do_lower_case"):
        raise CheckpointError(f"{folder / SETTINGS}: do_lower_case = true is not supported")
    longest = described.get("max_seq_length")
    return {**settings, "max_tokens": longest} if type(longest) is int and longest > 0 else settings


def _pooling(path: Path) -> str:
    described = read_object(path)
    wanted = [
        key.removeprefix("pooling_mode_") for key, value in described.items() if value is True and "_mode_" in key
    ]
    if len(wanted) != 1 or wanted[0] not in POOLINGS:
        names = " and ".join(wanted) or "none"
        raise CheckpointError(f"{path}: pooling by {names} is not supported, only by one of {', '.join(POOLINGS)}")
    return POOLINGS[wanted[0]]
