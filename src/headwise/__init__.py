"""Headwise: take sentence pairs, train a Transformer, translate - and look inside, head by head."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "Embedder",
    "Filler",
    "GenerateOptions",
    "Generator",
    "HeadwiseError",
    "Labeller",
    "LoadedModel",
    "Recipe",
    "TranslateOptions",
    "Translation",
    "Translator",
    "__version__",
    "load",
]

if TYPE_CHECKING:
    from headwise.config import Recipe
    from headwise.decode.embedder import Embedder
    from headwise.decode.filler import Filler
    from headwise.decode.generator import GenerateOptions, Generator
    from headwise.decode.labeller import Labeller
    from headwise.decode.translator import TranslateOptions, Translation, Translator
    from headwise.errors import HeadwiseError
    from headwise.models.folder.description import LoadedModel
    from headwise.models.folder.load import load

_HOMES = {
    "Embedder": "headwise.decode.embedder",
    "Filler": "headwise.decode.filler",
    "GenerateOptions": "headwise.decode.generator",
    "Generator": "headwise.decode.generator",
    "HeadwiseError": "headwise.errors",
    "Labeller": "headwise.decode.labeller",
    "LoadedModel": "headwise.models.folder.load",
    "Recipe": "headwise.config",
    "TranslateOptions": "headwise.decode.translator",
    "Translation": "headwise.decode.translator",
    "Translator": "headwise.decode.translator",
    "load": "headwise.models.folder.load",
}


def __getattr__(name: str) -> Any:
    """Import on first use: PyTorch takes seconds, which `headwise --help` should not cost."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'headwise' has no attribute {name!r}")
