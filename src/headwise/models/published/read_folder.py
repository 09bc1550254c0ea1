"""Reading of models that other programs wrote: Hugging Face folders and GGUF files."""

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwise.files.tables import read_json, read_object
from headwise.models.folder.description import Description, Task
from headwise.models.folder.weights import Weights
from headwise.models.published.exchange import import_published
from headwise.models.published.formats.foreign import read_foreign
from headwise.models.published.formats.huggingface import GENERATION
from headwise.models.published.formats.value import Foreign
from headwise.models.published.image_processor import Processor
from headwise.models.published.sentence_transformers import sentence_settings
from headwise.text.published.gguf_tokenizer import from_gguf
from headwise.text.published.tokenizer_folder import load_published
from headwise.text.tokenizer import Tokenizer

NAMED = {"architectures", "model_type"}
"""A config.json written by Hugging Face's library has at least one of these keys."""

KINDS = {"encoder_decoder": "translation", "causal_lm": "causal_lm", "masked_lm": "masked_lm", "vision": "images"}
"""The task of the published models of each of our families."""


def is_foreign(path: Path) -> bool:
    """Whether this model was written by another program."""
    if path.is_file():
        return path.suffix in (".gguf", ".bin")  # a .bin alone is refused with advice
    if not (path / "config.json").is_file():
        return any(path.glob("*.gguf"))
    described = read_json(path / "config.json")
    return isinstance(described, dict) and "format" not in described and bool(described.keys() & NAMED)


def read_published(path: Path) -> tuple[Description, Weights]:
    """Description and weights of a published model."""
    foreign = read_foreign(path)
    imported = import_published(foreign)
    tokenizer = published_tokenizer(path, foreign)
    kind = KINDS[imported.config.family]
    if imported.config.classes and kind != "images":
        kind = "classify"
    elif kind == "masked_lm" and not imported.config.output.language_head:
        kind = "embed"
    longest = imported.config.positions.max_positions
    directions = _directions(tokenizer, foreign) if kind == "translation" else ()
    task = Task(
        directions=directions,
        sources=_sources(tokenizer, directions),
        kind=kind,
        tags=bool(tokenizer and tokenizer.languages) and kind == "translation",
        max_tokens=(min(longest, 512) if kind == "translation" else longest) or Task.max_tokens,
        labels=imported.labels,
        regression=imported.regression,
        multi_label=imported.multi_label,
        published=imported.family.model_type,
    )
    if imported.family.aligns_words:
        task = replace(task, alignment_head=(imported.config.layers - 1, 0), aligns_given=False)
    if kind == "images":
        processor = Processor(path, imported.config.image_patches.channels, imported.config.image_patches.image_size)
        mean, std = processor.normalisation()
        task = replace(task, image_mean=mean, image_std=std, image_fit=processor.fit())
    elif kind in ("masked_lm", "embed") and path.is_dir():
        task = replace(task, **sentence_settings(path))
    _report_ignored(path, foreign)
    ids = replace(imported.ids, ends=_ends(path, foreign))
    return Description(imported.config, tokenizer, task, imported.vocabulary, ids), imported.weights


IGNORED: dict[str, Any] = {
    **{"no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0, "repetition_penalty": 1.0, "min_length": 0},
    **{"min_new_tokens": 0, "suppress_tokens": [], "begin_suppress_tokens": [], "sequence_bias": {}},
    **{"bad_words_ids": []},
}
"""Generation settings that are not supported, each with the value that has no effect."""


def _report_ignored(path: Path, foreign: Foreign) -> None:
    """Warn of unsupported settings that change what the reference library generates."""
    settings = {**foreign.config, **_generation(path)}
    found = {key: settings[key] for key, nothing in IGNORED.items() if settings.get(key) not in (None, nothing)}
    words = found.pop("bad_words_ids", None)
    if isinstance(words, list) and any(isinstance(word, list) and len(word) > 1 for word in words):
        found["bad_words_ids"] = "..."  # single tokens are forbidden here too
    if found:
        named = ", ".join(f"{key} = {value}" for key, value in found.items())
        warnings.warn(f"{path}: these generation settings are not supported and are ignored: {named}", stacklevel=2)


def _generation(path: Path) -> dict[str, Any]:
    """The content of generation_config.json; empty where there is none."""
    file = path / GENERATION
    return read_object(file) if path.is_dir() and file.is_file() else {}


def _ends(path: Path, foreign: Foreign) -> tuple[int, ...]:
    """The EOS tokens, where config.json and generation_config.json name more than one."""
    named = [foreign.config.get("eos_token_id"), _generation(path).get("eos_token_id")]
    ends = dict.fromkeys(end for value in named for end in (value if isinstance(value, list) else [value]))
    found = tuple(end for end in ends if isinstance(end, int) and end >= 0)
    return found if len(found) > 1 else ()


def published_tokenizer(path: Path, foreign: Foreign) -> Tokenizer | None:
    if foreign.tokenizer is None:
        return load_published(path, foreign.config) if path.is_dir() else None
    return from_gguf(foreign.tokenizer)


def _directions(tokenizer: Tokenizer | None, foreign: Foreign) -> tuple[tuple[str, str], ...]:
    """The directions that a tokenizer has language codes or prefixes for, else the one in the folder's name."""
    if tokenizer is not None and (prefixes := tokenizer.parts.settings.get("prefixes")):  # T5
        return tuple((source, target) for source, target in (pair.split() for pair in prefixes))
    names = [Path(str(name)).name for name in (foreign.config.get("_name_or_path") or "", foreign.where)]
    if tokenizer is not None and tokenizer.languages:
        found = None if tokenizer.tags_source else _first(OPUS, names)
        return tuple((found[1] if found else "", language) for language in tokenizer.languages)
    found = _first(PAIR, names)
    return ((found[1], found[2]) if found else ("", ""),)


OPUS = r"^opus-mt-.*?\b([a-z]{2})-[A-Za-z]+$"
"""opus-mt-en-ROMANCE: a source language and a group of target languages."""
PAIR = r"(?:^|[-_])([a-z]{2,3})[-_]([a-z]{2,3})$"


def _first(pattern: str, names: list[str]) -> re.Match[str] | None:
    return next((found for name in names if (found := re.search(pattern, name))), None)


def _sources(tokenizer: Tokenizer | None, directions: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The source languages of a translator that is given them, as a code or, in T5, in words."""
    if tokenizer is None or not directions:
        return ()
    if tokenizer.tags_source:
        return tokenizer.languages
    return tuple(dict.fromkeys(source for source, _ in directions)) if tokenizer.parts.settings.get("prefixes") else ()
