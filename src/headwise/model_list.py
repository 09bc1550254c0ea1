"""The list of models that have a name: the bundled one and the user's own, with languages, size and scores.

Neither weights nor tokenizers are read, and PyTorch is not loaded.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headwise.bundled.find import BUNDLED, bundled_folder, user_models
from headwise.errors import CheckpointError
from headwise.files.tables import read_json
from headwise.models.folder.config_file import CONFIG, SCORES, stored_task


@dataclass(frozen=True)
class ListedModel:
    """A model that has a name."""

    name: str
    path: str
    """Its folder or file; empty if it is not part of this installation."""
    kind: str = ""
    """What it was trained for, such as `translation`; for a published model, its family."""
    directions: str = ""
    """The directions of a translator, in words."""
    languages: tuple[str, ...] = ()
    """The languages of a translator, each once."""
    precision: str = ""
    """The type of the stored matrices: float32 or int8; empty: not known without reading them."""
    bytes: int = 0
    """Size on disk, without the checkpoints and data of a training run."""
    bleu: dict[str, float] = field(default_factory=dict)
    """BLEU by test set."""
    problem: str = ""
    """Why the model cannot be used."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def scores(self) -> str:
        """BLEU in a few words: of several test sets, the lowest and the highest."""
        if not self.bleu:
            return ""
        low, high = min(self.bleu.values()), max(self.bleu.values())
        return f"{low:.1f}" if len(self.bleu) == 1 else f"{low:.1f} to {high:.1f} on {len(self.bleu)} test sets"


def list_models() -> list[ListedModel]:
    """The bundled model and those in the user's models folder; one that is damaged or missing says so."""
    try:
        bundled = _listed(BUNDLED, bundled_folder())
    except CheckpointError as error:
        bundled = ListedModel(BUNDLED, "", problem=str(error))
    return [bundled, *(_listed(name, path) for name, path in user_models().items())]


def _listed(name: str, path: Path) -> ListedModel:
    files = path.iterdir() if path.is_dir() else [path]
    size = sum(file.stat().st_size for file in files if file.is_file())
    try:
        published = _published_family(path)
        if published:
            return ListedModel(name, str(path), kind=published, bytes=size)
        task, precision = stored_task(path)
        languages = tuple(dict.fromkeys(code for direction in task.directions for code in direction if code))
        directions = task.known_directions if task.directions else ""
        bleu = _bleu(path / SCORES)
    except CheckpointError as error:
        return ListedModel(name, str(path), bytes=size, problem=str(error))
    return ListedModel(name, str(path), task.kind, directions, languages, precision, size, bleu)


def _published_family(path: Path) -> str:
    """The family of a model that another program wrote; empty for one of ours."""
    if path.is_file():
        return "GGUF file"
    config = read_json(path / CONFIG)
    if "format" in config:
        return ""
    return str(config.get("model_type") or next(iter(config.get("architectures") or []), "published"))


def _bleu(path: Path) -> dict[str, float]:
    if not path.is_file():
        return {}
    try:
        return {str(name): float(table["bleu"]) for name, table in read_json(path).items() if "bleu" in table}
    except (AttributeError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: damaged: {error}") from None
