"""Translation in one call: `headwise.translate("I ate an apple.", to="de")`."""

import threading
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Unpack, overload

from headwise.bundled.find import bundled_folder, find_model
from headwise.decode.translation import TranslateKeywords, Translation
from headwise.decode.translator import Translator
from headwise.models.folder.config_file import CHECKPOINTS, CONFIG, SHORTLIST, WEIGHTS
from headwise.models.folder.description import LoadedModel

KEPT = 2
"""Translators that are kept open between calls: enough for two models that are used in turn."""

_opening = threading.Lock()

State = tuple[tuple[int, int] | None, ...]
"""When each of a model's files was changed last, in nanoseconds, and its size; None for one that does not exist."""


@overload
def translate(  # type: ignore[overload-overlap]
    texts: str,
    *,
    model: str | Path | LoadedModel | None = None,
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
    model: str | Path | LoadedModel | None = None,
    source: str | None = None,
    to: str | None = None,
    device: str = "auto",
    engine: str = "auto",
    **search: Unpack[TranslateKeywords],
) -> list[Translation]: ...


def translate(
    texts: str | Iterable[str],
    *,
    model: str | Path | LoadedModel | None = None,
    source: str | None = None,
    to: str | None = None,
    device: str = "auto",
    engine: str = "auto",
    **search: Unpack[TranslateKeywords],
) -> Translation | list[Translation]:
    """Translate one text, or several: a `str` gives one `Translation`, which prints as its text; an iterable a list.

    Without a `model`, which may be a name or a folder, the bundled model translates. `to` and `source` are language
    codes; where several source languages are possible and none is named, that of each text is detected, and a text in
    the target language stays as it is. Search options are those of `Translator.translate`.

    The model stays open for the next call, until two others have been used; a `Translator` is closed when you choose.
    """
    if isinstance(model, LoadedModel):
        translator = Translator(model, device=device, engine=engine)
    else:
        folder = (bundled_folder() if model is None else find_model(model)).resolve()
        with _opening:  # threads that ask for the same model at once must not each open it
            translator = _opened(folder, _state(folder), device, engine)
    return translator.translate(texts, source=source, target=to, **search)


@lru_cache(maxsize=KEPT)
def _opened(folder: Path, state: State, device: str, engine: str) -> Translator:
    """The translator of a folder in this state: after further training, the folder is opened again."""
    return Translator(folder, device=device, engine=engine)


def _state(folder: Path) -> State:
    # The folder itself, too: files that are replaced as a whole, in any format, change its time.
    paths = [folder, *(folder / name for name in (CONFIG, WEIGHTS, SHORTLIST, CHECKPOINTS))]
    found = [path.stat() if path.exists() else None for path in paths]
    return tuple(each and (each.st_mtime_ns, each.st_size) for each in found)
