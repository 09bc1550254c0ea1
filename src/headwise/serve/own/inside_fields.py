"""Fields of the requests for the inside of a model, checked and limited."""

from __future__ import annotations

from typing import Any

from headwise.models.folder.description import PRECISIONS
from headwise.serve.http.json_object import JsonObject
from headwise.serve.service_errors import InvalidRequestError
from headwise.serve.translate_request import AUTO

Json = dict[str, Any]

LONGEST_TEXT = 4_000
"""Characters of a sentence that is looked into: about a thousand tokens."""
MOST_PAIRS, MOST_TEXTS = 200, 20
DETAILS = ("", "all", "brief")
KINDS = ("encoder", "decoder", "cross")


def sentence(fields: JsonObject, name: str = "text") -> str:
    """A sentence that is not empty, and not too long."""
    return checked_text(fields.get(name, str, "a string"), name)


def checked_text(text: Any, name: str) -> str:
    """A text of a request, which is a string that is neither empty nor too long."""
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEXT:
        raise InvalidRequestError(f"'{name}' must be a sentence of at most {LONGEST_TEXT} characters")
    return text


def languages(fields: JsonObject) -> tuple[str, str]:
    """The source and target language, neither of which is detected here."""
    source, target = (fields.get(name, str, "the code of a language") for name in ("source", "target"))
    if not source or source.casefold() == AUTO:
        raise InvalidRequestError("'source' must be a language")
    if not target:
        raise InvalidRequestError("'target' is missing")
    return source, target


def question(fields: JsonObject, beam_limit: int) -> Json:
    """What is to be translated and how, as far as it does not depend on the model."""
    found: Json = {"text": sentence(fields)}
    translation = fields.get("translation", str, "a string")
    if translation is not None:
        if len(translation) > LONGEST_TEXT:
            raise InvalidRequestError(f"'translation' must have at most {LONGEST_TEXT} characters")
        found["translation"] = translation
    if prefix := fields.get("prefix", str, "a string"):
        found["prefix"] = checked_text(prefix, "prefix")
    return found | settings(fields, beam_limit)


def settings(fields: JsonObject, beam_limit: int) -> Json:
    """How a model translates: its beam, precision and switches."""
    found: Json = {"beam": fields.whole("beam", 1, beam_limit, min(4, beam_limit))}
    if precision := fields.get("precision", str, "float32 or int8"):
        if precision not in PRECISIONS:
            raise InvalidRequestError("'precision' must be float32 or int8")
        found["precision"] = precision
    if switches := fields.get("switches", dict, "an object"):
        found["switches"] = switches
        patch = switches.get("patch")
        if isinstance(patch, dict):
            checked_text(patch.get("text"), "switches.patch.text")
    return found


def shown(fields: JsonObject) -> Json:
    """How much of a trace is wanted: its detail, and the only attention, if not all is."""
    detail = fields.get("detail", str, "all or brief") or ""
    if detail not in DETAILS:
        raise InvalidRequestError("'detail' must be all or brief")
    found: Json = {"detail": detail}
    if only := fields.get("only", dict, "an object with kind and layer"):
        kind, layer = only.get("kind"), only.get("layer")
        if kind not in KINDS or not isinstance(layer, int) or isinstance(layer, bool):
            raise InvalidRequestError("'only' must be an object with kind and layer")
        found["only"] = {"kind": kind, "layer": layer}
    return found


def test_pairs(fields: JsonObject) -> list[list[str]]:
    """The sentences of a test set with their references."""
    given = fields.get("pairs", list, "a list of pairs") or []
    if not 1 <= len(given) <= MOST_PAIRS:
        raise InvalidRequestError(f"'pairs' must be between 1 and {MOST_PAIRS} pairs")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        raise InvalidRequestError("each of 'pairs' must be a text and its translation")
    return [[checked_text(text, "pairs") for text in pair] for pair in given]


def given_sentences(fields: JsonObject) -> list[str]:
    """One text under `text`, or several under `texts`."""
    texts = fields.get("texts", list, "a list of strings")
    if texts is None:
        return [sentence(fields)]
    if not 1 <= len(texts) <= MOST_TEXTS:
        raise InvalidRequestError(f"'texts' must be between 1 and {MOST_TEXTS} sentences")
    return [checked_text(text, "texts") for text in texts]
