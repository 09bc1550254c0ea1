"""The config.json and tokenizer of a model folder, read and written without PyTorch."""

from pathlib import Path
from typing import Any

from headwise.config import ModelConfig
from headwise.errors import CheckpointError, ConfigError
from headwise.files.atomic import write_json
from headwise.files.digest import table_digest
from headwise.files.tables import FORMAT, check_format, read_json
from headwise.models.folder.description import INT8, PRECISIONS, Description, Ids, Task
from headwise.recipe import from_tables, to_tables
from headwise.text.kinds import load_tokenizer

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
SHORTLIST = "shortlist.safetensors"
"""The shortlist of a translator (see `decode.shortlist`)."""
SCORES = "scores.json"
"""The scores of a trained model, a table per test set."""
CHECKPOINTS = "checkpoints"
"""In the folder of a training run: the folder of its checkpoints."""

INT8_VERSION = "int8"
"""The folder, in that of a float32 translator, with the same model in int8. Training from an int8 model writes it."""


def save_description(folder: Path, description: Description) -> None:
    """Write config.json and tokenizer, which are known before training."""
    if description.tokenizer is not None:
        description.tokenizer.save(folder)
    described = {
        "format": FORMAT,
        "model": to_tables(description.config),
        "vocabulary": description.rows,
        "ids": to_tables(description.specials),
        "tokenizer": description.tokenizer is not None,
        "task": to_tables(description.task),
    }
    if description.precision != "float32":
        described["precision"] = description.precision
    write_json(folder / CONFIG, {**described, "digest": table_digest(described)})


def is_int8(folder: str | Path) -> bool:
    """Whether a folder's weights are int8."""
    path = Path(folder) / CONFIG
    described = read_json(path) if path.is_file() else None
    return isinstance(described, dict) and "format" in described and described.get("precision") == INT8


def stored_task(folder: Path) -> tuple[Task, str]:
    """The task of the model in a folder of ours, and the precision of its weights; nothing but config.json is read."""
    path = folder / CONFIG
    described = read_json(path)
    check_format(path, described)
    return _describe(path, described)[1], str(described.get("precision", PRECISIONS[0]))


def int8_version(folder: Path) -> Path:
    """The folder of a model's int8 version, if it has one, else its own."""
    return folder / INT8_VERSION if is_int8(folder / INT8_VERSION) else folder


def check_folder(folder: Path) -> None:
    """Raise an error if a path is no model folder or checkpoint, without reading one."""
    if not (_home(folder) / CONFIG).is_file():
        raise CheckpointError(f"{folder}: not a model folder (it has no {CONFIG})")


def load_description(folder: Path) -> Description:
    """Read config.json and tokenizer of a model folder or checkpoint."""
    check_folder(folder)
    home = _home(folder)
    path = home / CONFIG
    described = read_json(path)
    check_format(path, described)
    config, task = _describe(path, described)
    has_tokenizer = described.get("tokenizer", True)
    tokenizer = load_tokenizer(home) if has_tokenizer else None
    vocabulary = described.get("vocabulary")
    spare = vocabulary - tokenizer.size if isinstance(vocabulary, int) and tokenizer is not None else 0
    if not isinstance(vocabulary, int) or spare < 0 or (spare and not task.published):  # published ones have spare rows
        raise CheckpointError(
            f"{home}: the tokenizer has {tokenizer.size if tokenizer else 0} tokens, the model {vocabulary}: "
            "they do not belong together"
        )
    digest = described.pop("digest", None)
    if digest is not None and digest != table_digest(described):
        raise CheckpointError(f"{path}: altered: its content does not match its digest")
    try:
        ids = from_tables(Ids, described.get("ids", {}), "ids.")
    except (ConfigError, AttributeError) as error:
        raise CheckpointError(f"{path}: damaged: {error}") from None
    precision = described.get("precision", "float32")
    if precision not in PRECISIONS:
        raise CheckpointError(f"{path}: unknown precision {precision!r}")
    return Description(config, tokenizer, task, vocabulary, ids, precision)


def _home(folder: Path) -> Path:
    """The folder with config and tokenizer: the run of a checkpoint, or else the folder itself."""
    run = folder.resolve().parent.parent
    return run if not (folder / CONFIG).is_file() and (run / CONFIG).is_file() else folder


def shortlist_path(folder: Path) -> Path:
    """The path of a model's shortlist, if it has one: beside its config."""
    return _home(folder) / SHORTLIST


def _describe(path: Path, described: dict[str, Any]) -> tuple[ModelConfig, Task]:
    for part in ("model", "task"):
        if not isinstance(described.get(part), dict):
            raise CheckpointError(f"{path}: damaged: it has no table {part}")
    try:
        config = from_tables(ModelConfig, described["model"], "model.")
        task = from_tables(Task, described["task"], "task.")
    except (TypeError, ConfigError) as error:  # TypeError: a field without a default is missing
        raise CheckpointError(f"{path}: damaged: {error}") from None
    if (task.kind == "translation" and not task.directions) or any(
        len(direction) != 2 for direction in task.directions
    ):
        raise CheckpointError(f"{path}: damaged: task.directions must be pairs of languages")
    head, sizes = task.alignment_head, (config.layers, config.attention.heads)
    if head and not (len(head) == 2 and all(0 <= part < size for part, size in zip(head, sizes, strict=True))):
        raise CheckpointError(f"{path}: damaged: the model has no layer and head {list(head)} (task.alignment_head)")
    return config, task
