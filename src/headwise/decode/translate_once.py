"""Translation in one call: `headwise.translate("Good morning.", model="my-model", to="de")`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Unpack, overload

from headwise.decode.translation import TranslateKeywords, Translation
from headwise.decode.translator import Translator
from headwise.models.folder.description import LoadedModel


@overload
def translate(  # type: ignore[overload-overlap]
    texts: str,
    *,
    model: str | Path | LoadedModel,
    source: str | None = None,
    to: str | None = None,
    device: str = "auto",
    engine: str = "auto",
    **search: Unpack[TranslateKeywords],
) -> Translation: ...


@overload
def translate(
    texts: Iterable[str],
    *,
    model: str | Path | LoadedModel,
    source: str | None = None,
    to: str | None = None,
    device: str = "auto",
    engine: str = "auto",
    **search: Unpack[TranslateKeywords],
) -> list[Translation]: ...


def translate(
    texts: str | Iterable[str],
    *,
    model: str | Path | LoadedModel,
    source: str | None = None,
    to: str | None = None,
    device: str = "auto",
    engine: str = "auto",
    **search: Unpack[TranslateKeywords],
) -> Translation | list[Translation]:
    """Translate one text, or several, with the model in a folder.

    The model is opened for this call: for more calls, keep a `Translator`. `source` and `to` are language codes, needed
    only by models of several directions; with the source `auto` each text's language is detected. Search options are
    those of `Translator.translate`.
    """
    with Translator(model, device=device, engine=engine) as translator:
        return translator.translate(texts, source=source, target=to, **search)
