"""Models by name: the bundled one, and those in the user's models folder.

A name works wherever the path of a model does. A path that exists takes precedence over a name.
"""

import difflib
import os
import sys
from pathlib import Path

from headwise.errors import CheckpointError
from headwise.files.tables import read_json

BUNDLED: str = "bundled"
"""The name of the model that comes with the package."""

FOLDER = Path(__file__).parent / "model"
"""The folder of the bundled model, if this installation has it."""

MODELS_VARIABLE = "HEADWISE_MODELS"
"""The environment variable that names the user's models folder."""

CONFIG = "config.json"


def bundled_folder() -> Path:
    """The folder of the bundled model; an error where Headwise was installed without it."""
    if not (FOLDER / CONFIG).is_file():
        raise CheckpointError(
            f"this installation of Headwise has no bundled model (there is none in {FOLDER}): name another "
            "(`headwise models` lists them)"
        )
    return FOLDER


def models_folder() -> Path:
    """The user's models folder, which need not exist: $HEADWISE_MODELS, or else `headwise/models` among user data."""
    if given := os.environ.get(MODELS_VARIABLE):
        return Path(given)
    if sys.platform == "win32":
        data = os.environ.get("LOCALAPPDATA") or _home("AppData/Local")
    elif sys.platform == "darwin":
        data = _home("Library/Application Support")
    else:
        data = os.environ.get("XDG_DATA_HOME") or _home(".local/share")
    return Path(data) / "headwise" / "models"


def _home(place: str) -> str:
    # Not Path.home(), which raises an error where there is no home folder: then there are no models either.
    return os.path.expanduser(f"~/{place}")  # noqa: PTH111


def user_models() -> dict[str, Path]:
    """The models in the user's models folder by name, in alphabetical order."""
    folder = models_folder()
    try:
        return {path.name: path for path in sorted(folder.iterdir()) if path.name != BUNDLED and is_model(path)}
    except OSError:  # missing, or not for this user to read
        return {}


def name_of(folder: Path) -> str:
    """The name to show for a model: that of its folder, or `bundled`."""
    return BUNDLED if folder == FOLDER else folder.name


def is_model(path: Path) -> bool:
    """Whether a path looks like a model: a folder of Headwise or of Hugging Face's library, or a GGUF file."""
    return is_published(path) or {"format", "model"} <= _config_keys(path)


def is_published(path: Path) -> bool:
    """Whether a path looks like a model in a format of others, which `headwise convert` reads."""
    if path.suffix.lower() == ".gguf":
        return path.is_file()
    return bool({"model_type", "architectures"} & _config_keys(path))


def _config_keys(folder: Path) -> set[str]:
    try:
        config = read_json(folder / CONFIG)
    except CheckpointError:
        return set()
    return set(config) if isinstance(config, dict) else set()


def find_model(model: str | Path) -> Path:
    """The path of a model that is given by its path or by its name: `bundled`, or one in the user's models folder."""
    path = Path(model)
    if path.exists():
        return path
    if str(path) == BUNDLED:
        return bundled_folder()
    named = models_folder() / path
    if _can_be_name(path) and named.exists():
        return named
    raise CheckpointError(_unknown(path))


def _can_be_name(path: Path) -> bool:
    """Whether a path stays within the models folder; a folder in a model, such as a checkpoint, may follow its name."""
    return not path.is_absolute() and ".." not in path.parts


def _unknown(path: Path) -> str:
    """The error for a model that is neither a path nor a name."""
    message = f"{path}: no such model folder"
    if not _can_be_name(path):
        return message
    if len(path.parts) == 2 and not path.parent.exists():
        return (
            f"{message}. Nothing is downloaded: if this is a model of the Hugging Face Hub, run "
            f"`hf download {path.as_posix()} --local-dir {path.name}` and give {path.name}"
        )
    near = difflib.get_close_matches(str(path), [BUNDLED, *user_models()], 3, 0.6)
    hint = f": did you mean {' or '.join(near)}?" if near else "."
    return f"{message}, and no model of this name{hint} `headwise models` lists the names"
