"""Headwise: translate out of the box, train Transformers on your sentence pairs, and look inside, head by head."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from headwise.config import Recipe
    from headwise.decode.embedder import Embedder
    from headwise.decode.filler import Filler
    from headwise.decode.generator import GenerateOptions, Generator
    from headwise.decode.glossary.glossary import Glossary
    from headwise.decode.labeller import Labeller
    from headwise.decode.search.options import SamplingOptions
    from headwise.decode.translate_once import translate
    from headwise.decode.translation import TranslateOptions, Translation
    from headwise.decode.translator import Translator
    from headwise.documents.translate_document import DocumentOptions, translate_document
    from headwise.errors import HeadwiseError
    from headwise.models.folder.description import LoadedModel
    from headwise.models.folder.load import load
    from headwise.synthesis.back_translate import back_translate
    from headwise.synthesis.distill import distill
    from headwise.text.language.detect import Detection, detect
    from headwise.train.one_call import train

__all__ = [
    "Detection",
    "DocumentOptions",
    "Embedder",
    "Filler",
    "GenerateOptions",
    "Generator",
    "Glossary",
    "HeadwiseError",
    "Labeller",
    "LoadedModel",
    "Recipe",
    "SamplingOptions",
    "TranslateOptions",
    "Translation",
    "Translator",
    "__version__",
    "back_translate",
    "detect",
    "distill",
    "load",
    "train",
    "translate",
    "translate_document",
]

_HOMES = {
    "Detection": "headwise.text.language.detect",
    "DocumentOptions": "headwise.documents.translate_document",
    "Embedder": "headwise.decode.embedder",
    "Filler": "headwise.decode.filler",
    "GenerateOptions": "headwise.decode.generator",
    "Generator": "headwise.decode.generator",
    "Glossary": "headwise.decode.glossary.glossary",
    "HeadwiseError": "headwise.errors",
    "Labeller": "headwise.decode.labeller",
    "LoadedModel": "headwise.models.folder.description",
    "Recipe": "headwise.config",
    "SamplingOptions": "headwise.decode.search.options",
    "TranslateOptions": "headwise.decode.translation",
    "Translation": "headwise.decode.translation",
    "Translator": "headwise.decode.translator",
    "back_translate": "headwise.synthesis.back_translate",
    "detect": "headwise.text.language.detect",
    "distill": "headwise.synthesis.distill",
    "load": "headwise.models.folder.load",
    "translate": "headwise.decode.translate_once",
    "translate_document": "headwise.documents.translate_document",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: PyTorch takes seconds, which `headwise --help` should not cost."""
    if name == "train":  # the package itself, which is callable
        return import_module("headwise.train")
    if name in _HOMES:
        from headwise.extras import packages_for

        with packages_for(f"headwise.{name}"):
            return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'headwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
