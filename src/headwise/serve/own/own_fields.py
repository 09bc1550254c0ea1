"""Fields of Headwise's own API in the terms of the service."""

from __future__ import annotations

from headwise.serve.http.json_object import JsonObject
from headwise.serve.requested_terms import Terms, checked_terms
from headwise.serve.service_errors import InvalidRequestError
from headwise.serve.translate_request import RequestOptions

FORMATS = ("text", "html", "xml")
LARGEST_PENALTY = 10.0
LONGEST_REPEAT = 100
MOST = 1_000
"""A number that the service refuses by its own limits."""


def given_texts(fields: JsonObject) -> list[str]:
    """The texts to translate, under `texts`."""
    texts = fields.get("texts", list, "a list of strings")
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidRequestError("'texts' must be a list of strings")
    return list(texts)


def request_options(fields: JsonObject, glossary_limit: int) -> RequestOptions:
    """The options of a translation; the service checks them against its limits."""
    form = fields.get("format", str, "text, html or xml") or "text"
    if form not in FORMATS:
        raise InvalidRequestError("'format' must be text, html or xml")
    has_beam = fields.values.get("beam") is not None
    has_penalty = fields.values.get("length_penalty") is not None
    return RequestOptions(
        format=form,  # type: ignore[arg-type]  # checked above
        alternatives=fields.whole("alternatives", 0, MOST, 0),
        beam=fields.whole("beam", 1, MOST, 1) if has_beam else None,
        alignments=fields.flag("alignments"),
        pivot=fields.get("pivot", bool, "true or false"),
        model=fields.get("model", str, "the name of a model"),
        length_penalty=fields.number("length_penalty", LARGEST_PENALTY, 1.0) if has_penalty else None,
        no_repeat=fields.whole("no_repeat", 0, LONGEST_REPEAT, 0),
        glossary=_terms(fields, glossary_limit),
    )


def _terms(fields: JsonObject, limit: int) -> Terms:
    given = fields.get("glossary", dict, "an object of terms and their translations")
    if not given:
        return ()
    if not all(isinstance(target, str) for target in given.values()):
        raise InvalidRequestError("'glossary' must be an object of terms and their translations")
    return checked_terms(given.items(), limit)
