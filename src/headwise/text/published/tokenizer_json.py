"""Tokenizers from tokenizer.json, the file of the tokenizers library.

Some tokenizer classes of transformers take only the vocabulary from it and set up the rest from
tokenizer_config.json, with their own defaults for what is not set: where the two files disagree,
tokenizer_config.json wins. It does here too, for the settings of those classes that change ids.
"""

import json
from dataclasses import replace
from typing import Any

from tokenizers import normalizers

from headwise.text.published.assemble import assemble
from headwise.text.published.facts import Facts
from headwise.text.published.hf_tokenizer import HfTokenizer, check_growth, parse
from headwise.text.published.merges import MERGES, MODEL_TYPES, WORDPIECE, set_roberta_frame, wordpiece

_CLASSES = (
    MODEL_TYPES
    | dict.fromkeys(("bert", "distilbert", "ernie"), "BertTokenizer")
    | {"albert": "AlbertTokenizer", "camembert": "CamembertTokenizer", "xlm-roberta": "XLMRobertaTokenizer"}
)
"""The tokenizer class of a model type, for folders that name none."""

_PREFIXED = ("AlbertTokenizer", "CamembertTokenizer", "LlamaTokenizer", "XLMRobertaTokenizer")
"""Classes that put a space before a text unless add_prefix_space is false."""


def has_tokenizer_json(facts: Facts) -> bool:
    """Whether the folder has a tokenizer.json of the library; Headwise's own file has the same name."""
    if not facts.has("tokenizer.json"):
        return False
    description = facts.read_json("tokenizer.json")
    return isinstance(description, dict) and "model" in description


def from_tokenizer_json(facts: Facts) -> HfTokenizer:
    """The tokenizer of a tokenizer.json, overridden by the settings of tokenizer_config.json."""
    description = facts.read_json("tokenizer.json")
    where = str(facts.folder / "tokenizer.json")
    check_growth(description, where)
    kind = facts.class_name or _CLASSES.get(str(facts.config.get("model_type")), "")
    if kind in WORDPIECE and description["model"].get("type") == "WordPiece":
        return wordpiece(_with_added(facts, description), description["model"]["vocab"])
    if kind in _PREFIXED:
        _set_prefix(description, facts)
    if kind == "AlbertTokenizer":
        _set_albert_normaliser(description, facts)
    byte_level = kind in MERGES and (description.get("pre_tokenizer") or {}).get("type") == "ByteLevel"
    if byte_level:
        description["pre_tokenizer"]["add_prefix_space"] = bool(facts.settings.get("add_prefix_space", False))
    unk = facts.names({"unk": "<unk>"}).get("unk", "")
    if kind == "OpenAIGPTTokenizer":
        description["model"]["unk_token"] = unk
    backend = parse(json.dumps(description, ensure_ascii=False).encode(), where)
    if byte_level and kind == "GPTNeoXTokenizer":
        backend.normalizer = normalizers.NFC()
    if byte_level and kind in ("BartTokenizer", "RobertaTokenizer"):
        set_roberta_frame(backend, facts)
    return assemble(backend, facts, {"unk": unk, "eos": unk} if kind == "OpenAIGPTTokenizer" else {})


def _with_added(facts: Facts, description: dict[str, Any]) -> Facts:
    """The facts with the added tokens of tokenizer.json, if tokenizer_config.json lists none."""
    if facts.added:
        return facts
    rows = {str(row["id"]): row for row in description.get("added_tokens") or []}
    return replace(facts, settings={**facts.settings, "added_tokens_decoder": rows})


def _set_prefix(description: dict[str, Any], facts: Facts) -> None:
    if facts.settings.get("add_prefix_space") is not False:
        return
    for name in ("pre_tokenizer", "decoder"):
        part = description.get(name) or {}
        for each in [part, *part.get("pretokenizers", []), *part.get("decoders", [])]:
            if each.get("type") == "Metaspace":
                each["prepend_scheme"] = "never"
    decoder = description.get("decoder") or {}
    if "decoders" in decoder:  # Llama's takes the space away again
        decoder["decoders"] = [each for each in decoder["decoders"] if each.get("type") != "Strip"]


def _set_albert_normaliser(description: dict[str, Any], facts: Facts) -> None:
    """Case and accents are dropped unless the settings keep them."""
    whole = description.get("normalizer") or {}
    if whole.get("type") != "Sequence":
        return
    rest = [part for part in whole["normalizers"] if part["type"] not in ("NFKD", "StripAccents", "Lowercase")]
    dropped = [] if facts.settings.get("keep_accents", False) else [{"type": "NFKD"}, {"type": "StripAccents"}]
    dropped += [{"type": "Lowercase"}] if facts.settings.get("do_lower_case", True) else []
    place = next((i for i, part in enumerate(rest) if part["type"] == "Precompiled"), len(rest))
    whole["normalizers"] = [*rest[:place], *dropped, *rest[place:]]
